#!/usr/bin/env python3
"""What generated kernels of rows cost beside what they move, from ordered_rows.csv.gz and the counted rows of 2026-11-26.

    python3 validation/fits/jit/fit_rows.py validation/captures/h200_2026-11-30_orders_fit/ordered_rows.csv.gz \\
        validation/captures/h200_2026-11-26_rows_fit/ops/ops-cold-generated_rows.csv.gz

Cycles of an FP32 lane above the floor of a kernel. Of rows that a block goes through in loops: a place of the vectors that hold a row of a
norm and of a sum, what a further operand adds, how long a block of two rows keeps its place in an SM. Of rows that lie across: an element
that is read or written. Of a softmax that a block holds: a place. Of short rows of odd length, which two warps have between them: a sum."""
import csv
import gzip
import sys

import numpy

LANES, GHZ, SMS = 132 * 128, 1.98, 132
FLOOR_US = {"triton_red": 1.8, "triton_per": 1.65}


def places(length):
    return 1 << (length - 1).bit_length()


def cycles(us):
    return us * LANES * GHZ * 1e3


def ordered(path):
    """Computed, order, type, rows, length, in loops, microseconds above the floor."""
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            kind = row["kernel"][:10]
            yield (row["computed"], row["order"], row["type"], int(row["rows"]), int(row["length"]), kind == "triton_red",
                   float(row["us"]) - FLOOR_US[kind])


def median(name, values, unit):
    values = list(values)
    low, middle, high = (numpy.percentile(values, p) for p in (10, 50, 90))
    print(f"{name}: {middle:.4g} {unit} ({low:.3g} to {high:.3g} of {len(values)})")
    return middle


def of_orders(found):
    looped = [f for f in found if f[5] and f[1] != "turned" and f[2] == "fp16"]
    place = {(what, order, length): cycles(us) / (rows * places(length)) for what, order, _, rows, length, _, us in looped}
    median("row_block_us", (us * SMS / (rows / 2) for what, order, _, rows, length, _, us in looped
                            if length <= 128 and order in ("slices", "cut")), "us")
    median("looped_norm_lane_cycles", (c for (what, order, n), c in place.items()
                                       if what == "layer_norm" and order in ("slices", "cut") and n > 128), "cycles")
    median("looped_sum_lane_cycles", (c for (what, order, n), c in place.items() if what == "unit_length" and n == 192), "cycles")
    median("looped_operand_ratio", (place[what, order, n] / place[what, "cut", n] - 1 for what, order, n in place
                                    if order in ("put_back", "rolled")), "")
    median("strided_row_lane_cycles", (cycles(us) / (2 * rows * length) for _, order, _, rows, length, _, us in found
                                       if order == "turned"), "cycles")
    median("softmax_place_lane_cycles", (cycles(us) / (rows * places(length)) for what, order, kind, rows, length, loops, us in found
                                         if what == "softmax" and order == "rows" and kind == "fp16" and places(length) != length
                                         and rows * length > 2 ** 23), "cycles")


def of_odd_rows(path, place):
    """Softmax, norms and their gradients of rows of 49; a softmax also takes `place` for each place."""
    sums = []
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            dims = [int(x) for x in row["shapes"].split(";")[0].split("x")]
            what = row["op"].removeprefix("generated_rows_")
            if dims[2] != 49 or "_per_" not in row["kernel"] or "sum_2" in row["kernel"] or what in ("biased_softmax", "sum"):
                continue
            rows, us = dims[0] * dims[1], float(row["gpu__time_duration"]) / 1e3 - FLOOR_US["triton_per"]
            back = "backward" in row["kernel"] or row["kernel_index"] != "0"
            beside = place * places(49) if what == "softmax" and not back else 0
            sums.append((cycles(us) / rows - beside) / (3 if what == "layer_norm" else 2))
    median("shared_row_lane_cycles", sums, "cycles")


def main():
    found = list(ordered(sys.argv[1]))
    of_orders(found)
    of_odd_rows(sys.argv[2], place=33)


if __name__ == "__main__":
    main()
