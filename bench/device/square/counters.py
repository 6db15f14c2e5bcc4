#!/usr/bin/env python3
"""Reduces Nsight Compute's raw page of launch_time --range to sums a launch.

  counters.py raw.csv > counters.csv        the points are those of points.py counters
"""
import csv
import sys

import points

LAUNCHES = 50  # of a range, as in launch_time.cu
SUMS = {"l2_write_requests": "lts__t_requests_srcunit_tex_op_write.sum",
        "busiest_slice_requests": "lts__t_requests_srcunit_tex_op_write.max",
        "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
        "l2_write_sectors_both_partitions": "lts__t_sectors_op_write.sum",
        "sm_active_cycles": "sm__cycles_active.sum", "sm_elapsed_cycles": "sm__cycles_elapsed.max"}


def main():
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(line for line in file if line.startswith('"')))[1:]  # less units
    chosen = list(points.counters())
    if len(rows) != len(chosen):
        sys.exit(f"{len(rows)} ranges for {len(chosen)} points")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["kernel", "blocks", "threads", "warp_stores", *SUMS])
    for (kernel, blocks, threads, *_), row in zip(chosen, rows):
        sums = [f"{float(row[name].replace(',', '')) / LAUNCHES:.1f}" for name in SUMS.values()]
        writer.writerow([kernel, blocks, threads, blocks * ((threads + 31) // 32), *sums])


if __name__ == "__main__":
    main()
