#!/usr/bin/env python3
"""Fits the law of batched products in FP32 and TF32 on Hopper and prints its constants (list "batched" of configs/kernels/time.json).

  fit_batched.py full_products.csv CAPTURES...

The table: bench/capture/full_products.py, warm caches; three fifths of the weight. CAPTURES: folders of H200 traces, whose products
have the rest; those whose name does not end in _fit are only scored. Needs scipy and the program zstd. The law: models/kernel/time/batched.h.
"""
import argparse
import glob
import math
import os
import statistics
import sys

from scipy.optimize import minimize

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import traces
from fit_products import CLOCK_MHZ, DRAM_MB_PER_US, SMS, Product
from fit_unaligned import products

FMA = {"fp32": 128, "tf32": 1024}
TILES = ((128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64), (128, 32), (32, 128), (64, 32), (32, 64), (32, 32))
DRAM_SHARE = 0.9  # of streams; the table's caches are warm and say little of it
START = {"fp32": (2.4, 0.9, 15, 16), "tf32": (2.4, 0.7, 20, 50, 2)}
NAMES = {"fp32": ("floor_us", "share", "start_k", "load"),
         "tf32": ("floor_us", "share", "start_k", "load", "unaligned_ratio")}
SHORTEST_US, FEWEST, TABLE_SHARE = 6, 32, 0.6


def of_folder(folder, type):
    """Batched products of a folder of captures whose operands are in FP32, by the kernel that computed them."""
    for path in sorted(glob.glob(folder + "/traces/*.zst")):
        for op, kernels in traces.launched(path, "aten::bmm".__eq__):
            dims, types, strides = (op["args"].get(key) or [] for key in ("Input Dims", "Input type", "Input Strides"))
            if len(kernels) != 1 or types[0] != "float" or not strides or len(dims[0]) != 3 or len(dims[1]) != 3:
                continue
            name = kernels[0]["name"]
            tensor = "s1688" in name or "tf32" in name
            (batch, m, k), n = dims[0], dims[1][2]
            if tensor == (type == "tf32") and "gemmk1" not in name and "gemv" not in name and batch >= FEWEST and min(m, n) >= 16:
                yield Product(batch, m, n, k, strides[0][-1] == 1, strides[1][-1] != 1, kernels[0]["dur"],
                              os.path.basename(os.path.normpath(folder)))


def of_type(p, type, share, start_k, load, unaligned=1):
    """us of the fastest tiles: operands come while a tile computes, results leave behind it."""
    lengths = (p.k if p.a_k else p.m, p.k if p.b_k else p.n, p.n)
    ratio = unaligned if any(length % 4 for length in lengths) else 1
    steps = min(math.ceil(math.ceil(p.m / rows) * math.ceil(p.n / columns) * p.batch / SMS) * (rows * columns + load * (rows + columns))
                for rows, columns in TILES)
    us = steps * ratio * (p.k + start_k) / (FMA[type] * min(share, 1)) / CLOCK_MHZ
    per_us = DRAM_SHARE * DRAM_MB_PER_US * 1e6
    return max(us, 4 * p.batch * p.k * (p.m + p.n) / per_us) + 4 * p.batch * p.m * p.n / per_us


def predicted_us(p, type, x, full):
    us = of_type(p, type, *x[1:])
    return x[0] + (us if full is None else min(us, of_type(p, "fp32", *full[1:])))


def errors(some, *law):
    return [math.log(predicted_us(p, *law) / p.us) for p in some]


def robust(off):
    return statistics.mean(math.sqrt(1 + (e / 0.1) ** 2) for e in off)


def fitted(measured, known, type, full):
    def error(x):
        x = [abs(v) for v in x]
        alone = robust(errors(measured, type, x, full))
        return alone if not known else TABLE_SHARE * alone + (1 - TABLE_SHARE) * robust(errors(known, type, x, full))
    x = START[type]
    for _ in range(3):
        x = minimize(error, x, method="Nelder-Mead", options={"maxiter": 600, "xatol": 1e-3, "fatol": 1e-5}).x
    return [abs(v) for v in x]


def report(text, some, *law):
    off = errors(some, *law)
    if off:
        print(f"{text:44s} {len(off):4d}  mean {statistics.mean(map(abs, off)):.3f}  bias {statistics.mean(off):+.3f}  worst {max(off, key=abs):+.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("captures", nargs="*")
    args = parser.parse_args()
    full = None
    for type in FMA:
        measured = list(products(args.table, type))
        folders = {os.path.basename(os.path.normpath(f)): [p for p in traces.medians(of_folder(f, type)) if p.us > SHORTEST_US]
                   for f in args.captures}
        known = [p for name, some in folders.items() if name.endswith("_fit") for p in some]
        x = fitted(measured, known, type, full)
        x[1] = min(x[1], 1)
        print({name: round(float(value), 3) for name, value in zip(NAMES[type], x)})
        report(f"table, {type}", measured, type, x, full)
        for name, some in folders.items():
            report(f"{name}, {type}", some, type, x, full)
        report(f"all other traces, {type}", [p for name, some in folders.items() if not name.endswith("_fit") for p in some], type, x, full)
        full = x


if __name__ == "__main__":
    main()
