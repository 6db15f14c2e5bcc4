#!/usr/bin/env python3
"""Paces of the framework's sums (configs/kernels/batch.json, sum_*) from eager steps.

  fit_sums.py validation/captures/*_fit/traces/*.json.zst      fits and prints; other captures: how far off

A sum takes 2 us + its bytes at 90 % of DRAM's rate or at that of L2 + waves x (wave + values of a thread x value) +
what blocks that share a result cost. Threads and blocks are those of ATen/native/cuda/Reduce.cuh, as in
models/kernel/time/laws/framework_sums.cpp; launches that it does not explain are left out and counted. Needs zstd.
"""
import collections
import math
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import traces

SUMS = {"aten::sum", "aten::mean"}
BYTES = {"float": 4, "c10::Half": 2, "c10::BFloat16": 2, "double": 8}
SMS, THREADS, START_US, WAVE_US, SHARE_US, STEP_US = 132, 2048, 2.0, 1.5, 2.0, 0.3
DRAM, L2 = {"h200": 4.8e6 * 0.9, "h100": 3.35e6 * 0.9}, 5.5e6  # bytes a microsecond
MOST_IN_L2 = 40e6
VALUES_US = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2)


def divided(a, b):
    return -(-a // b)


def last_power(n):
    return 1 << max(n.bit_length() - 1, 0)


def cut(results, inputs, form):
    """Threads, blocks and values of a thread, by setReduceConfig."""
    fastest, width = form != "columns", 1
    x, y = (inputs, results) if fastest else (results, inputs)
    if not fastest:
        while width < 4 and x % (width * 2) == 0:
            width *= 2
        x //= width
    limit = 512 // width
    x_power, y_power = min(last_power(x), limit), min(last_power(y), limit)
    along = min(x_power, 32)
    rows = min(y_power, limit // along)
    along = min(x_power, limit // rows)
    values, a_block = (divided(inputs, along), 1) if fastest else (inputs, along)
    shares = values >= rows * 16 or values >= 256
    values, a_block = (divided(values, rows), a_block) if shares else (values, a_block * rows)
    blocks, resident, parts = divided(results // width, a_block), SMS * (THREADS // (along * rows)), 1
    if shares and values >= 256 and blocks <= resident:
        parts = max(min(divided(resident, blocks), divided(values, 16)), divided(values, 256))
    adders = rows * (along if fastest else 1)  # threads of the block that adds up the parts of a result
    return blocks, parts, divided(values, parts), divided(blocks * parts, resident), divided(parts, adders)


def sums_of(path):
    """(form, bytes, cut, GPU, us) of the distinct sums of a trace, and how many the rule does not explain."""
    seen = collections.defaultdict(list)
    for op, kernels in traces.launched(path, SUMS.__contains__):
        args = op["args"]
        if not args["Input Dims"] or args["Input type"][0] not in BYTES:
            continue
        listed = tuple(int(d) for d in re.findall(r"-?\d+", (args.get("Concrete Inputs") or ["", ""])[1:2][0] or ""))
        key = tuple(args["Input Dims"][0]), tuple(args.get("Input Strides", [[]])[0]), listed, args["Input type"][0]
        for kernel in kernels:
            if "reduce_kernel" in kernel["name"]:
                seen[key + (tuple(kernel["args"]["grid"]),)].append(kernel["dur"])
    out, unexplained = [], 0
    for (dims, strides, listed, kind, grid), times in seen.items():
        added = sorted({d % len(dims) for d in listed if -len(dims) <= d < len(dims)}) if dims else []
        if not added or strides != tuple(math.prod(dims[i + 1:]) for i in range(len(dims))):
            continue
        inputs, whole = math.prod(dims[d] for d in added), math.prod(dims)
        if inputs == 0:
            continue
        last = added[-1] == len(dims) - 1
        form = "columns" if not last else "rows" if added[0] + len(added) == len(dims) else "pieces"
        how = cut(whole // inputs, inputs, form)
        if how[:2] != grid[:2]:
            unexplained += 1
            continue
        gpu = "h200" if "/h200" in path else "h100"
        out.append((form, whole * BYTES[kind] + whole // inputs * 4, how, gpu, statistics.median(times)))
    return out, unexplained


def time_us(row, value_us):
    _, size, (_, parts, values, waves, steps), gpu, _ = row
    moved = size / (DRAM[gpu] if size > MOST_IN_L2 else L2)
    return START_US + moved + waves * (WAVE_US + value_us * values) + (SHARE_US + STEP_US * steps if parts > 1 else 0)


def main(paths):
    rows, unexplained = [], 0
    for path in paths:
        some, others = sums_of(path)
        rows, unexplained = rows + some, unexplained + others
    print(f"{len(rows)} sums, {unexplained} launches that the rule does not explain")
    for form in ("rows", "pieces", "columns"):
        own = [r for r in rows if r[0] == form]
        if not own:
            continue
        errors = sorted((statistics.mean(abs(math.log(time_us(r, v) / r[4])) for r in own), v) for v in VALUES_US)
        print(f"{form}: {len(own)} shapes;", ", ".join(f"{v} us a value {100 * e:.1f} % off" for e, v in errors[:4]))


if __name__ == "__main__":
    main(sys.argv[1:])
