#!/usr/bin/env python3
"""How far the SM clock falls while tensor cores multiply: cycles over time of counted single operators.

  clock.py configs/gpus/h200_sxm.json TABLE.csv.gz...

TABLE: operators under Nsight Compute (bench/capture/reduce.py), whose clocks were not locked. Prints the two
constants of costs.json with which the clock of kernels of 60 us and more is met best (least absolute errors), and
the clocks by share of cycles in which the tensor pipe was active. Needs numpy.
"""
import itertools
import json
import sys

import numpy as np

import ops
from constants import GENERAL

LONG_NS, MATRIX_SHARE = 60e3, 0.01  # below it the pipe serves integer instructions


def kernels(path, smsps):
    """Rows (clock in MHz, share of cycles that the tensor pipe was active) of the kernels that last."""
    for row in ops.read_table(path):
        time, cycles = row["gpu__time_duration"], row["smsp__cycles_elapsed"] / smsps
        if time >= LONG_NS and cycles > 0:
            active = row["sm__pipe_tensor_cycles_active"] / smsps / cycles
            yield 1e3 * (cycles - GENERAL["counter_window_cycles"][0]) / time, active if active > MATRIX_SHARE else 0.0


def clock(share, boost, tensor, begin, slope):
    """`clock_of` of models/kernel/counters/cost_model.cpp."""
    lost = boost - tensor
    lowered = np.minimum(1.0, share / begin)
    return np.maximum(boost - lost * (1 + 0.5 * slope), boost - lost * lowered * (1 + slope * (share - 0.5)))


def main():
    with open(sys.argv[1]) as file:
        gpu = {name: field["value"] for name, field in json.load(file)["values"].items()}
    smsps = gpu["sm_count"] * gpu["smsp_per_sm"]
    found = np.array([pair for path in sys.argv[2:] for pair in kernels(path, smsps)])
    share, measured = found[:, 1], found[:, 0]
    matrix = share > 0
    boost = float(np.median(measured[~matrix]))
    ranges = itertools.product(np.arange(0.04, 0.2, 0.02), np.arange(0, 2.5, 0.25))
    error = lambda c: np.mean(np.abs(clock(share, boost, gpu["tensor_clock_mhz"], *c) / measured - 1)[matrix])
    begin, slope = min(ranges, key=error)
    print(f"{len(found)} kernels, {matrix.sum()} on tensor cores; others {boost:.0f} MHz")
    print(f"tensor_clock_from {begin:.2f}, tensor_clock_slope {slope:.2f}: {100 * error((begin, slope)):.1f} % off")
    for low, high in itertools.pairwise((0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)):
        some = (share > low) & (share <= high)
        if some.any():
            print(f"  {low:.2f} to {high:.2f}: {some.sum():3d}, {np.median(measured[some]):.0f} MHz")


if __name__ == "__main__":
    main()
