#!/usr/bin/env python3
"""Point lists for launch_time: "kernel blocks threads parameter shared_bytes" a line.

  points.py             every list for times
  points.py grid K...   the 87 points of EuroMLSys'23 figure 1 for each kernel (default same_lines)
  points.py spin        kernels of known activity
  points.py counters    points for Nsight Compute
"""
import sys

BLOCKS = [1] + [1 << k for k in range(7, 18)]
THREADS = [1, 8, 32, 128, 256, 512, 1024]


def grid(kernel):
    """The published points."""
    points = [(kernel, blocks, threads, 0, 0) for blocks in BLOCKS for threads in THREADS]
    return points + [(kernel, blocks, 1024, 0, 0) for blocks in (4816, 9632, 12800)]


def launch_rate():
    """Empty kernels: launch period over warps, and whether shared memory costs launch time."""
    for blocks in (1, 132, 1024, 8192, 65536, 524288):
        for warps in (1, 2, 4, 8, 12, 16, 24, 32):
            yield ("empty", blocks, 32 * warps, 0, 0)
    for shared in (0, 1024, 8192, 32768, 102400):
        yield ("empty", 65536, 128, 0, shared)


def merge_limit():
    """Same lines from every block, finer in threads."""
    for blocks in (4096, 16384, 65536):
        for warps in range(1, 33):
            yield ("same_lines", blocks, 32 * warps, 0, 0)
        for threads in (2, 4, 8, 16, 24):
            yield ("same_lines", blocks, threads, 0, 0)


def addresses():
    """Which lines the stores meet in."""
    for threads in (32, 256, 512, 1024):
        for blocks in (4096, 65536):
            for groups in (1, 2, 4, 8, 16, 64, 256, 1024, 4096):
                yield ("group_lines", blocks, threads, groups, 0)
            for lines in (1, 2, 4, 8, 16, 32):
                yield ("few_lines", blocks, threads, lines, 0)
            for apart in (1, 2, 3, 4, 8, 16, 64):
                yield ("spread_lines", blocks, threads, apart, 0)
            for kernel in ("store_only", "load_only", "same_lines_cs", "same_lines_wt"):
                yield (kernel, blocks, threads, 0, 0)


def spins():
    """One block an SM that holds it for 200 us."""
    return [("spin", blocks, 32 * warps, 400000, 0)
            for blocks in (1, 33, 66, 132) for warps in (1, 8, 32)]


def counters():
    for threads in (1, 32, 128, 256, 512, 640, 768, 1024):
        for blocks in (512, 4096, 32768, 131072):
            yield ("same_lines", blocks, threads, 0, 0)
    for threads in (32, 512, 1024):
        for blocks in (4096, 32768):
            yield ("own_lines", blocks, threads, 0, 0)


def chosen(arguments):
    if not arguments:
        kernels = ("same_lines", "own_lines", "load_only", "store_only", "empty")
        points = [point for kernel in kernels for point in grid(kernel)]
        return points + [*launch_rate(), *merge_limit(), *addresses()]
    if arguments[0] == "grid":
        return [point for kernel in arguments[1:] or ["same_lines"] for point in grid(kernel)]
    return list({"counters": counters, "spin": spins}[arguments[0]]())


if __name__ == "__main__":
    for point in chosen(sys.argv[1:]):
        print(*point)
