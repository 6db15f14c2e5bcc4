#!/usr/bin/env python3
"""Fits the law of 16-bit products on Hopper and prints the constants half_* of configs/kernels/precision.json.

  fit_products.py times-warm-switch.csv.gz CAPTURES...

The table: single products with warm caches (bench/capture/ops_switch.py). CAPTURES: folders of H200 traces, whose products find
their operands where the step left them. Prints the error of each folder; those whose name has a part of --aside are only scored.
Needs scipy and the program zstd. The law: models/kernel/time/laws/library_products.h.
"""
import argparse
import collections
import csv
import glob
import gzip
import io
import math
import os
import statistics
import sys

from scipy.optimize import least_squares

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import traces

SMS, CLOCK_MHZ, FMA, DRAM_MB_PER_US = 132, 1980, 2048, 4.8  # H200
TILES = ((256, 128), (128, 256), (192, 192), (128, 192), (128, 128), (64, 256), (256, 64), (128, 64), (64, 128), (64, 64))
SPLITS, SHORTEST_PART, SPLIT_US = (1, 2, 4, 8), 256, 1
START = {"half_floor_us": 2, "half_start_k": 64, "half_dram_share": 1}

# a_k, b_k: whether rows of the operand are contiguous along k
Product = collections.namedtuple("Product", "batch m n k a_k b_k us source")


def operators(path):
    kernels = collections.defaultdict(list)
    with gzip.open(path, "rb") as file:
        for row in csv.DictReader(io.TextIOWrapper(file)):
            if row["op"] in ("mm", "bmm") and row["dtype"] == "fp16":
                kernels[row["id"]].append(row)
    for rows in kernels.values():
        a, b = ([int(n) for n in shape.split("x")] for shape in rows[0]["shapes"].split(";"))
        layout = rows[0]["attrs"].split("=")[1]
        batch = a.pop(0) if len(a) == 3 else 1
        b = b[-2:]
        m, k = reversed(a) if layout == "nt" else a
        n = b[0] if layout == "tn" else b[1]
        yield Product(batch, m, n, k, layout != "nt", layout == "tn", sum(float(r["trace_us"]) for r in rows), "operators")


def of_trace(path, source):
    for op, kernels in traces.launched(path, ("aten::mm", "aten::addmm", "aten::bmm").__contains__):
        at = 1 if op["name"] == "aten::addmm" else 0
        dims, types, strides = (op["args"].get(key) or [] for key in ("Input Dims", "Input type", "Input Strides"))
        if types[at] == "float" or not dims[at] or not dims[at + 1] or not strides:
            continue
        a, b = dims[at], dims[at + 1]
        us = sum(kernel["dur"] for kernel in kernels)
        if us:
            yield Product(a[0] if len(a) == 3 else 1, a[-2], b[-1], a[-1], strides[at][-1] == 1, strides[at + 1][-1] != 1, us, source)


def alignment(p):
    """Of the rows of both operands and the result, in elements; 8 is 16 bytes."""
    rows = (p.k if p.a_k else p.m, p.k if p.b_k else p.n, p.n)
    return next(n for n in (8, 2, 1) if all(row % n == 0 for row in rows))


def parts(p, c):
    """(us of tiles, us of all the rest) of the fastest choice"""
    best = None
    for rows, columns in TILES:
        for split in SPLITS:
            if split > 1 and p.k < SHORTEST_PART * split:
                break
            waves = math.ceil(math.ceil(p.m / rows) * math.ceil(p.n / columns) * p.batch * split / SMS)
            tiles = waves * rows * columns * (p.k / split + c["half_start_k"]) / FMA / CLOCK_MHZ
            added = 4 * p.batch * p.m * p.n * (split + 1) if split > 1 else 0
            moved = 2 * p.batch * (p.m * p.k + p.n * p.k + p.m * p.n) + added
            share = c["warm_share"] if p.source == "operators" else c["half_dram_share"]
            rest = c["half_floor_us"] + (SPLIT_US if split > 1 else 0) + moved / (share * DRAM_MB_PER_US * 1e6)
            if best is None or tiles + rest < sum(best):
                best = (tiles, rest)
    return best


def report(text, products, c):
    off = [math.log(sum(parts(p, c)) / p.us) for p in products]
    if off:
        print(f"{text:45s} {len(off):4d}  mean {statistics.mean(map(abs, off)):.3f}  bias {statistics.mean(off):+.3f}  worst {max(off, key=abs):+.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--aside", default="next|blind|later")
    args = parser.parse_args()
    traced = traces.medians(p for folder in args.captures for path in sorted(glob.glob(folder + "/traces/*eager*.zst"))
                    if "-amp-" in path or "-bf16-" in path for p in of_trace(path, os.path.basename(folder)))
    known = [p for p in traced if not any(part in p.source for part in args.aside.split("|"))]
    every = traces.medians(operators(args.table)) + known
    aligned = [p for p in every if alignment(p) == 8]
    names = list(START) + ["warm_share"]

    def residuals(x):
        c = dict(zip(names, x))
        return [math.log(sum(parts(p, c)) / p.us) for p in aligned]
    found = least_squares(residuals, list(START.values()) + [2], loss="soft_l1", f_scale=0.1, bounds=([0] * 4, [10, 600, 9, 99]))
    c = dict(zip(names, found.x))
    print({name: round(float(value), 3) for name, value in c.items()})
    scored = every + [p for p in traced if p not in known]
    for source in sorted({p.source for p in scored}):
        report(source, [p for p in scored if p.source == source and alignment(p) == 8], c)


if __name__ == "__main__":
    main()
