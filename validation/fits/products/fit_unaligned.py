#!/usr/bin/env python3
"""Fits the law of 16-bit products on Hopper whose rows are no multiples of 16 bytes, and prints its constants of
configs/kernels/precision.json.

  fit_unaligned.py unaligned_products.csv CAPTURES...

The table: bench/capture/unaligned_products.py, warm caches; three fifths of the weight. CAPTURES: folders of H200 traces, whose
products have the rest; those whose name does not end in _fit are only scored. Needs scipy and the program zstd. The law:
models/kernel/time/laws/library_products.h.
"""
import argparse
import csv
import glob
import math
import os
import statistics
import sys

from scipy.optimize import minimize

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import traces
from fit_products import CLOCK_MHZ, DRAM_MB_PER_US, FMA, SMS, TILES, Product, alignment, of_trace

KNOWN = {"floor_us": 2.48, "dram_share": 1.29, "split_us": 1}  # of all products: fit_products.py
SPLITS, SHORTEST_PART, LONG_PART, FEW_PARTS = (1, 2, 4, 8, 16, 32, 64, 128), 256, 4096, 8
NAMES = ("half_even_ratio", "half_odd_ratio", "half_even_load", "half_odd_load", "half_unaligned_start_k")
START = (2.5, 5, 140, 200, 70)
SHORTEST_US, TABLE_SHARE = 3, 0.6


def products(path, type=None):
    """Of the table, or of one type alone."""
    with open(path) as file:
        for row in csv.DictReader(file):
            if type not in (None, row["type"]):
                continue
            m, k, n = (int(row[name]) for name in ("rows", "inner", "columns"))
            yield Product(int(row["items"]), m, n, k, row["left_k_major"] == "1", row["right_k_major"] == "1", float(row["us"]), row["what"])


def predicted_us(p, c):
    even = alignment(p) == 2
    ratio, load = (c["half_even_ratio"], c["half_even_load"]) if even else (c["half_odd_ratio"], c["half_odd_load"])
    best = math.inf
    for rows, columns in (*TILES, (32, 32)):
        for split in SPLITS:
            if split > 1 and p.k < (LONG_PART if split > FEW_PARTS else SHORTEST_PART) * split:
                break
            waves = math.ceil(math.ceil(p.m / rows) * math.ceil(p.n / columns) * p.batch * split / SMS)
            fma = waves * (ratio * rows * columns + load * (rows + columns)) * (p.k / split + c["half_unaligned_start_k"])
            added = 4 * p.batch * p.m * p.n * (split + 1) if split > 1 else 0
            moved = 2 * p.batch * (p.m * p.k + p.n * p.k + p.m * p.n) + added
            rest = KNOWN["floor_us"] + (KNOWN["split_us"] if split > 1 else 0)
            best = min(best, fma / FMA / CLOCK_MHZ + rest + moved / (KNOWN["dram_share"] * DRAM_MB_PER_US * 1e6))
    return best


def of_folder(folder):
    """Such products of the eager steps in 16 bits of a folder of captures."""
    for path in sorted(glob.glob(folder + "/traces/*eager*.zst")):
        if any(part in path for part in ("-amp-", "-bf16-", "-fp16w-", "-bf16w-")):
            yield from of_trace(path, os.path.basename(os.path.normpath(folder)))


def errors(some, c):
    return [math.log(predicted_us(p, c) / p.us) for p in some]


def mean_error(some, c):
    return statistics.mean(map(abs, errors(some, c))) if some else 0


def fitted(table, traced):
    def error(x):
        c = dict(zip(NAMES, map(abs, x)))
        return TABLE_SHARE * mean_error(table, c) + (1 - TABLE_SHARE) * mean_error(traced, c)
    found = minimize(error, START, method="Nelder-Mead", options={"maxiter": 500, "xatol": 0.01, "fatol": 1e-4})
    return dict(zip(NAMES, map(abs, found.x)))


def report(text, some, c):
    off = errors(some, c)
    print(f"{text:20s} {len(off):4d}  mean {statistics.mean(map(abs, off)):.3f}  bias {statistics.mean(off):+.3f}  worst {max(off, key=abs):+.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("captures", nargs="*")
    args = parser.parse_args()
    slow = [p for p in products(args.table) if alignment(p) < 8]
    every = traces.medians(p for folder in args.captures for p in of_folder(folder) if alignment(p) < 8)
    traced = [p for p in every if p.us > SHORTEST_US]
    known = [p for p in traced if p.source.endswith("_fit")]
    c = fitted(slow, known)
    print({name: round(float(value), 2) for name, value in c.items()})
    for text, some in (("table", slow), ("traces", known), ("other traces", [p for p in traced if p not in known])):
        if some:
            report(text, some, c)
    for what in dict.fromkeys(p.source for p in slow):
        for width, name in ((2, "even"), (1, "odd")):
            report(f"{what}, {name}", [p for p in slow if p.source == what and alignment(p) == width], c)


if __name__ == "__main__":
    main()
