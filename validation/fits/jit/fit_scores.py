#!/usr/bin/env python3
"""What a softmax costs whose rows generated code goes through in loops, from masked_attention.csv.

    python3 validation/fits/jit/fit_scores.py validation/captures/h200_2026-11-29_masked_fit/masked_attention.csv

Cycles of an FP32 lane above the floor of a kernel. Forward: `looped_softmax_lane_cycles` a place of the vectors that hold a row (fitted
elsewhere, on rows that begin at multiples of 16 bytes), and what an element costs more where they do not. Backward: a place, and an
element."""
import csv
import sys

import numpy

FLOOR_US, LANES, GHZ, LOOPED = 2.0, 132 * 128, 1.98, 87.0


def rows(path):
    for row in csv.DictReader(open(path)):
        kernel, n = row["kernel"], int(row["places"])
        if not kernel.startswith("triton_red") or "softmax" not in kernel:
            continue
        back = "softmax_backward" in kernel
        if back and "safe_softmax" in kernel:  # the last layer's, which computes its weights again
            continue
        elements = int(row["items"]) * int(row["heads"]) * n * n
        cycles = (float(row["us"]) - FLOOR_US) * LANES * GHZ * 1e3
        yield back, n, cycles / elements, (1 << (n - 1).bit_length()) / n


def main():
    found = list(rows(sys.argv[1]))
    forward = [(n, cycles, places) for back, n, cycles, places in found if not back]
    more = numpy.median([cycles - LOOPED * places for _, cycles, places in forward])
    print(f"forward, an element more: {more:.0f}")
    backward = [(n, cycles, places) for back, n, cycles, places in found if back]
    whole = [(cycles, places) for n, cycles, places in backward if 128 <= n <= 1024]  # the usual ones: one turn of a loop
    matrix = numpy.array([[places / cycles, 1 / cycles] for cycles, places in whole])
    place, element = numpy.linalg.lstsq(matrix, numpy.ones(len(whole)), rcond=None)[0]
    print(f"backward, a place: {place:.0f}, an element: {element:.0f}")
    for name, part, of in (("forward", forward, lambda p: LOOPED * p + more), ("backward", backward, lambda p: place * p + element)):
        for n in sorted({n for n, _, _ in part}):
            errors = [of(places) / cycles - 1 for m, cycles, places in part if m == n]
            print(f"{name:8} {n:5} places {100 * numpy.mean(errors):+6.1f} % of {len(errors)}")


if __name__ == "__main__":
    main()
