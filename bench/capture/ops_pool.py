#!/usr/bin/env python3
"""Pairs of kernels that share the SMs: each alone, then both at once on two streams.

  python3 ops_pool.py OUT.json.gz

OUT is a PyTorch profiler trace. Annotations say what ran: `alone:A` and `together:A+B[+C]`; together, each stream
waits for one event behind a spinning kernel, so that all start at the same time, A first.
"""
import argparse
import gzip
import itertools
import os
import shutil

import torch

REPEAT = 5
SPIN_CYCLES = 400_000  # about 200 us: longer than the host needs to launch all of a case


def product(rows, inner, columns, dtype=torch.float32):
    a = torch.randn(rows, inner, device="cuda", dtype=dtype)
    b = torch.randn(inner, columns, device="cuda", dtype=dtype)
    out = torch.empty(rows, columns, device="cuda", dtype=dtype)
    return lambda: torch.mm(a, b, out=out)


def relu(numel):
    x = torch.randn(numel, device="cuda")
    out = torch.empty_like(x)
    return lambda: torch.clamp(x, min=0, out=out)


def softmax(rows, width):
    x = torch.randn(rows, width, device="cuda")
    out = torch.empty_like(x)
    return lambda: torch.softmax(x, -1, out=out)


def convolution(batch, channels, size):
    x = torch.randn(batch, channels, size, size, device="cuda")
    w = torch.randn(channels, channels, 3, 3, device="cuda")
    return lambda: torch.nn.functional.conv2d(x, w, padding=1)


def kernels():
    """Grids from a few blocks to hundreds of waves; bound by arithmetic, by memory, by latency."""
    return {
        "mm64": product(64, 1024, 1024),
        "mm256": product(256, 2048, 2048),
        "mm1024": product(1024, 2048, 2048),
        "mm4096": product(4096, 4096, 1024),
        "half2048": product(2048, 2048, 4096, torch.float16),
        "relu17": relu(2 ** 17),
        "relu20": relu(2 ** 20),
        "relu25": relu(2 ** 25),
        "softmax": softmax(4096, 1024),
        "conv": convolution(8, 64, 56),
    }


def alone(name, run):
    with torch.profiler.record_function("alone:" + name):
        for _ in range(REPEAT):
            run()
            torch.cuda.synchronize()


def together(names, table, streams):
    with torch.profiler.record_function("together:" + "+".join(names)):
        for _ in range(REPEAT):
            torch.cuda._sleep(SPIN_CYCLES)
            gate = torch.cuda.Event()
            gate.record()
            for name, stream in zip(names, streams):
                stream.wait_event(gate)
                with torch.cuda.stream(stream):
                    table[name]()
            torch.cuda.synchronize()


def run_all():
    table = kernels()
    streams = [torch.cuda.Stream() for _ in range(4)]
    groups = list(itertools.permutations(table, 2)) + [(name, name) for name in table]
    groups += [(name,) * 4 for name in table]
    for name, run in table.items():
        alone(name, run)
    for names in groups:
        together(names, table, streams)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out")
    out = parser.parse_args().out
    run_all()  # cuDNN and cuBLAS choose and load their kernels
    torch.cuda.synchronize()
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        run_all()
    plain = out.removesuffix(".gz")
    profiler.export_chrome_trace(plain)
    if plain != out:
        with open(plain, "rb") as source, gzip.open(out, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target)
        os.remove(plain)


if __name__ == "__main__":
    main()
