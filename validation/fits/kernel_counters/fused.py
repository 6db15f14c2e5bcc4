#!/usr/bin/env python3
"""Instructions of the kernels that torch.compile generates, into configs/kernels/costs.json.

  fused.py --features PROGRAM --out costs.json TABLE.csv.gz...

A generated kernel's name lists what it fuses: its instructions are those of a plain one of its kind and, for each
listed operation that costs more than a few, so many an element that it walks. Replaces per_warp and per_element of
Triton's kinds and the rows "fused NAME" (classify_fused.cpp). Run it after fit.py. Needs numpy.
"""
import argparse
import json

import numpy as np

import fit
import ops

KINDS = ("triton_pointwise", "triton_reduction", "triton_persistent")
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
    columns = [(kind, part) for kind in kinds for part in ("per_warp", "per_element")]
    return columns + [("fused", name) for name in present]


def value(f, column):
    kind, part = column
    if kind == "fused":
        return f["walked"] if part in fused_names(f) else 0.0
    return (f["warps"] if part == "per_warp" else f["walked"]) if f["kind"] == kind else 0.0


def solve(pairs):
    columns = [c for c in columns_of(pairs) if c != ("triton_persistent", "per_warp")]
    a = np.array([[value(f, c) for c in columns] for f, _ in pairs])
    known = np.array([ROW_WARP * value(f, ("triton_persistent", "per_warp")) for f, _ in pairs])
    y = np.array([d[fit.COUNTER["inst"]] for _, d in pairs])
    weight = np.ones(len(y))
    for _ in range(25):
        x = fit.non_negative(a * (weight / y)[:, None], weight * (1 - known / y))
        error = np.abs((a @ x + known) / y - 1)
        weight = 1 / np.sqrt(np.maximum(error, 0.01))
    return dict(zip(columns, x)) | {("triton_persistent", "per_warp"): ROW_WARP}, error


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
    with open(args.out) as file:
        text = file.read()
    table = [row for row in json.loads(text)["kinds"] if not row["kind"].startswith("fused ")]
    for row in table:
        if row["kind"] not in KINDS:
            continue
        own = [e for (f, _), e in zip(pairs, error) if f["kind"] == row["kind"]]
        for part in ("per_warp", "per_element"):
            row.pop(part, None)
            if prices[row["kind"], part] > 0:
                row |= fit.rounded({part: prices[row["kind"], part]})
        row |= fit.rounded({"error": float(np.mean(own))})
        row["source"] = (f"single operators under Nsight Compute, H200; {len(own)} kernels, mean error "
                         f"{100 * np.mean(own):.0f} %")
    for (kind, name), price in sorted(prices.items()):
        if kind == "fused":
            some = [e for (f, _), e in zip(pairs, error) if name in fused_names(f)]
            table.append({"kind": f"fused {name}", "origin": "measured",
                          "source": f"single operators under Nsight Compute, H200; {len(some)} generated kernels, "
                                    f"mean error {100 * np.mean(some):.0f} %"} | fit.rounded({"per_element": price}))
    for name, (functor, kind_type) in AS_FUNCTOR.items():
        if ("fused", name) not in prices:
            eager = next(r for r in table if r["kind"] == f"functor {functor}" and r["type"] == kind_type)
            table.append({"kind": f"fused {name}", "origin": "measured",
                          "source": f"as functor {functor} in eager kernels"} |
                         fit.rounded({"per_element": eager["per_element"]}))
    for row in table:
        row.update({key: row.pop(key) for key in list(row) if key.startswith("rate_")})
    write(args.out, text, table)


def write(path, text, table):
    """The rows anew, a line each; what stands before them stays as it is."""
    head = text[:text.index('"kinds": [') + len('"kinds": [')]
    lines = ",\n".join("    " + json.dumps(row) for row in table)
    with open(path, "w") as file:
        file.write(head + "\n" + lines + "\n  ]\n}\n")


if __name__ == "__main__":
    main()
