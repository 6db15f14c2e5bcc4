#!/usr/bin/env python3
"""What the profiler costs each part of a training step: zero_grad, forward, backward and the optimizer, each begun with an idle GPU.

    parts.py resnet50,32,eager,amp openai_gpt,4,compile,amp ...

For each of MODEL,BATCH,MODE,PRECISION one line of JSON comes out: microseconds of each part without the profiler, under it, and
without it afterwards (medians).  zero_grad is Python alone: no operation is recorded in it.
"""
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from iterations import make_scaler, precision_context, synchronize


def parts_of(load, optimizer, autocast, scaler):
    """The parts of a step, as (name, function); forward leaves its loss to the next one."""
    kept = {}

    def forward():
        with autocast():
            kept["loss"] = load.loss(load.model(*load.inputs))

    def backward():
        (kept["loss"] if scaler is None else scaler.scale(kept["loss"])).backward()
    parts = [("zero_grad", lambda: optimizer.zero_grad(set_to_none=True)), ("forward", forward), ("backward", backward)]
    if scaler is None:
        return parts + [("step", optimizer.step)]
    return parts + [("unscale", lambda: scaler.unscale_(optimizer)), ("step", lambda: scaler.step(optimizer)), ("update", scaler.update)]


def timed(parts, steps):
    """Median microseconds of each part."""
    times = {name: [] for name, _ in parts}
    for _ in range(steps):
        for name, part in parts:
            synchronize()
            begin = time.perf_counter()
            part()
            times[name].append(1e6 * (time.perf_counter() - begin))
    return {name: round(statistics.median(values), 1) for name, values in times.items()}


def measure_parts(model, batch, mode, precision):
    import torch
    from torch.profiler import ProfilerActivity, profile

    import workloads
    load = workloads.build(model, batch, "cuda")
    load.model.train()
    optimizer = load.make_optimizer(capturable=False)
    autocast = precision_context(precision, "cuda")
    if mode == "compile":
        load.model = torch.compile(load.model)
    parts = parts_of(load, optimizer, autocast, make_scaler() if precision == "amp" else None)
    timed(parts, 10)
    plain = timed(parts, 25)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True):
        timed(parts, 2)
        profiled = timed(parts, 3)
    return {"model": model, "mode": mode, "precision": precision, "plain_us": plain, "profiled_us": profiled,
            "after_us": timed(parts, 25), "parameters": sum(1 for _ in load.model.parameters())}


def main():
    for words in sys.argv[1:]:
        model, batch, mode, precision = words.split(",")
        print(json.dumps(measure_parts(model, int(batch), mode, precision)), flush=True)


if __name__ == "__main__":
    main()
