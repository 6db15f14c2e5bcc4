#!/usr/bin/env python3
"""Instructions and shared memory of the kernels that torch.compile generates, into configs/kernels/costs.json.

  fused.py --features PROGRAM --out costs.json TABLE.csv.gz...

A generated kernel's name lists what it fuses: its instructions are those of a plain one of its kind, for each warp,
element, warp-wide access, step from lane to lane, element of another type than FP32 and element that changes its place, and, for each listed
operation that costs more than a few, so many an element that it walks. Replaces these prices of Triton's kinds and the rows
"fused NAME" (classify_fused.cpp). Run it after fit.py. Needs numpy.
"""
import argparse

import numpy as np

import fit
import ops

KINDS = ("triton_pointwise", "triton_reduction", "triton_persistent")
PARTS = {"per_warp": "warps", "per_element": "walked", "per_load": "loads"}  # prices and their features
PASSED = {"per_passed": "passed"}   # the same of kernels that hold rows
ALIKE = {"per_converted": "converted", "per_indexed": "indexed"}  # the same in all kinds
LARGE = 2 ** 19                # elements of the kernels that are looked at: smaller ones issue little of a step


def fused_names(f):
    return set(f["fused"].split("+")) - {""}


def stated(f, row):
    """Whether the operands of the kernel are known: where a table states those of the operator alone, a second kernel,
    which adds up what a first one left, has others; a dropout's first one only makes its seed. Some walk over a part of
    what they are given (a loss that picks one value of each row)."""
    known = row.get("operands") or row["kernel_index"] == "0" or "random" in fused_names(f)
    moved = fit.SECTOR * (row[fit.COUNTER["l1"]] + row[fit.COUNTER["l1_st"]])
    whole = moved >= 0.5 * (f["read_bytes"] + f["write_bytes"])
    return f["kind"] in KINDS and known and whole and 32 * f["walked"] >= LARGE


def parts_of(kind):
    return PARTS | PASSED if kind == "triton_persistent" else PARTS


def columns_of(pairs):
    present = sorted({name for f, _ in pairs for name in fused_names(f)} - {"fill"})
    kinds = [k for k in KINDS if any(f["kind"] == k for f, _ in pairs)]
    columns = [(kind, part) for kind in kinds for part in parts_of(kind)] + [("", part) for part in ALIKE]
    return columns + [("fused", name) for name in present]


def value(f, column):
    kind, part = column
    if kind == "":
        return f[ALIKE[part]]
    if kind == "fused":
        return f["walked"] if part in fused_names(f) else 0.0
    return f[parts_of(kind)[part]] if f["kind"] == kind else 0.0


def solve(pairs):
    columns = columns_of(pairs)
    a = np.array([[value(f, c) for c in columns] for f, _ in pairs])
    y = np.array([d[fit.COUNTER["inst"]] for _, d in pairs])
    x, error = fit.least_factor(a, y)
    return dict(zip(columns, x)), error


SHARED = {"shared_per_warp": "warps", "shared_per_element": "elements", "shared_per_load": "loads"}


def shared_prices(pairs, kind):
    """Wavefronts of shared memory of one kind: those an element with the least absolute error, for many kernels have
    hardly any and some change the layout of all they hold."""
    walked = np.array([f["walked"] for f, _ in pairs])
    features = SHARED | ({"shared_per_passed": "passed"} if kind == "triton_persistent" else {})
    a = np.array([[f[feature] for feature in features.values()] for f, _ in pairs]) / walked[:, None]
    y = np.array([d[fit.COUNTER["shared"]] for _, d in pairs]) / walked
    return dict(zip(features, fit.least_absolute(a, y, square=0.1, rounds=40)))


LEAST_TENSOR = 0.5  # instructions an element of what is said to use the tensor pipe


def tensor_prices(pairs, table):
    """Instructions of the tensor pipe, which also serves arithmetic that is no product (error functions), for an element of
    what is fused; beside those a warp of the kind."""
    names = sorted({name for f, _ in pairs for name in fused_names(f)} - {"fill"})
    of_warp = {row["kind"]: row.get("tensor_per_warp", 0.0) for row in table}
    walked = np.array([f["walked"] for f, _ in pairs])
    a = np.array([[float(name in fused_names(f)) for name in names] for f, _ in pairs])
    counted = np.array([d[fit.COUNTER["tensor"]] - of_warp[f["kind"]] * f["warps"] for f, d in pairs]) / walked
    prices = zip(names, fit.least_absolute(a, counted, square=0.1, rounds=40))
    return {name: price for name, price in prices if price >= LEAST_TENSOR}


def mean_error(pairs, error, wanted):
    """Number and mean error of the pairs whose features are `wanted`."""
    own = [e for (f, _), e in zip(pairs, error) if wanted(f)]
    return len(own), float(np.mean(own))


def reprice(row, pairs, prices, error):
    """A row of Triton's kinds with the prices of its plain kernels."""
    own = {part: prices[row["kind"], part] for part in parts_of(row["kind"])} | {part: prices["", part] for part in ALIKE}
    own |= shared_prices([p for p in pairs if p[0]["kind"] == row["kind"]], row["kind"])
    for part, price in own.items():
        row |= fit.rounded({part: price})
        if price <= 0:
            del row[part]
    count, mean = mean_error(pairs, error, lambda f: f["kind"] == row["kind"])
    row |= fit.rounded({"error": mean})
    row["source"] = f"single operators under Nsight Compute, H200; {count} kernels, mean error {100 * mean:.0f} %"


def fused_rows(pairs, prices, error, tensor):
    for (kind, name), price in sorted(prices.items()):
        if kind == "fused":
            count, mean = mean_error(pairs, error, lambda f: name in fused_names(f))
            source = f"single operators under Nsight Compute, H200; {count} generated kernels, mean error {100 * mean:.0f} %"
            own = {"per_element": price} | ({"tensor_per_element": tensor[name]} if name in tensor else {})
            yield {"kind": f"fused {name}", "origin": "measured", "source": source} | fit.rounded(own)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--features", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("tables", nargs="+")
    args = parser.parse_args()
    pairs = []
    for path in args.tables:
        rows = [row for row in ops.read_table(path) if row["kernel"].startswith("triton_")]
        pairs += [p for p in zip(ops.features_of(rows, args.features), rows) if stated(*p)]
    prices, error = solve(pairs)
    table = [row for row in fit.kinds_of(args.out) if not row["kind"].startswith("fused ")]
    for row in table:
        if row["kind"] in KINDS:
            reprice(row, pairs, prices, error)
    fit.replace_kinds(args.out, table + list(fused_rows(pairs, prices, error, tensor_prices(pairs, table))))


if __name__ == "__main__":
    main()
