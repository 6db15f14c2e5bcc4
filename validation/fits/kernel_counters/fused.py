#!/usr/bin/env python3
"""Instructions of the kernels that torch.compile generates, into configs/kernels/costs.json.

  fused.py --features PROGRAM --out costs.json TABLE.csv.gz...

A generated kernel's name lists what it fuses: its instructions are those of a plain one of its kind, for each warp,
element and warp-wide access, and, for each listed operation that costs more than a few, so many an element that it
walks. Replaces per_warp, per_element and per_load of Triton's kinds and the rows "fused NAME" (classify_fused.cpp).
Run it after fit.py. Needs numpy.
"""
import argparse

import numpy as np

import fit
import ops

KINDS = ("triton_pointwise", "triton_reduction", "triton_persistent")
PARTS = {"per_warp": "warps", "per_element": "walked", "per_load": "loads"}  # prices and their features
# Warps of persistent kernels walk 32 elements a lane in nearly every row of the tables, so their two prices cannot be
# told apart there. A sum of rows executes 68 instructions a warp, of which 32 add and 8 load: the rest is the warp's.
ROW_WARP = 28.0
# What no table holds in generated code is taken from eager kernels of the same arithmetic.
AS_FUNCTOR = {"gelu_backward": ("gelu_backward", "fp16")}


def fused_names(f):
    return set(f["fused"].split("+")) - {""}


def stated(f, row):
    """The size of a second kernel that adds up what a first one left is not stated; a dropout's first one only
    makes its seed."""
    return f["kind"] in KINDS and (row["kernel_index"] == "0" or "random" in fused_names(f))


def columns_of(pairs):
    present = sorted({name for f, _ in pairs for name in fused_names(f)} - {"mask"})
    kinds = [k for k in KINDS if any(f["kind"] == k for f, _ in pairs)]
    columns = [(kind, part) for kind in kinds for part in PARTS]
    return columns + [("fused", name) for name in present]


def value(f, column):
    kind, part = column
    if kind == "fused":
        return f["walked"] if part in fused_names(f) else 0.0
    return f[PARTS[part]] if f["kind"] == kind else 0.0


def solve(pairs):
    columns = [c for c in columns_of(pairs) if c != ("triton_persistent", "per_warp")]
    a = np.array([[value(f, c) for c in columns] for f, _ in pairs])
    known = np.array([ROW_WARP * value(f, ("triton_persistent", "per_warp")) for f, _ in pairs])
    y = np.array([d[fit.COUNTER["inst"]] for _, d in pairs])
    x, error = fit.least_relative(a, y, known)
    return dict(zip(columns, x)) | {("triton_persistent", "per_warp"): ROW_WARP}, error


def mean_error(pairs, error, wanted):
    """Number and mean error of the pairs whose features are `wanted`."""
    own = [e for (f, _), e in zip(pairs, error) if wanted(f)]
    return len(own), float(np.mean(own))


def reprice(row, pairs, prices, error):
    """A row of Triton's kinds with the prices of its plain kernels."""
    for part in PARTS:
        price = prices[row["kind"], part]
        row |= fit.rounded({part: price})
        if price <= 0:
            del row[part]
    count, mean = mean_error(pairs, error, lambda f: f["kind"] == row["kind"])
    row |= fit.rounded({"error": mean})
    row["source"] = f"single operators under Nsight Compute, H200; {count} kernels, mean error {100 * mean:.0f} %"


def fused_row(name, price, source):
    return {"kind": f"fused {name}", "origin": "measured", "source": source} | fit.rounded({"per_element": price})


def fused_rows(table, pairs, prices, error):
    for (kind, name), price in sorted(prices.items()):
        if kind == "fused":
            count, mean = mean_error(pairs, error, lambda f: name in fused_names(f))
            yield fused_row(name, price, f"single operators under Nsight Compute, H200; {count} generated kernels, "
                                         f"mean error {100 * mean:.0f} %")
    for name, (functor, kind_type) in AS_FUNCTOR.items():
        if ("fused", name) not in prices:
            eager = next(r for r in table if r["kind"] == f"functor {functor}" and r["type"] == kind_type)
            yield fused_row(name, eager["per_element"], f"as functor {functor} in eager kernels")


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
    fit.replace_kinds(args.out, table + list(fused_rows(table, pairs, prices, error)))


if __name__ == "__main__":
    main()
