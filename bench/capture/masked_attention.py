#!/usr/bin/env python3
"""What torch.compile generates for attention whose mask it makes itself, as encoders of Transformers do: products of FP32
scores and a softmax of their rows, forward and, trained under autocast, backward. Alone on the GPU.

    python3 masked_attention.py SECONDS > masked_attention.csv

A row for each softmax and each product of heads of a step of three layers, in order: items, heads, places, width of a head, mode
(infer, train), type of 16 bits, name of the kernel, microseconds (median of five steps)."""
import csv
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile
from transformers import ViTConfig, ViTModel

HEADS, WIDTH, LAYERS = 12, 64, 3
PLACES = [(128, 50), (128, 65), (64, 145), (64, 197), (48, 257), (24, 401), (16, 577), (8, 785), (6, 1025), (4, 1601), (8, 197)]
STEPS = 5
PARTS = ("softmax", "s1688gemm", "s16816gemm", "f32f32_f32f32", "_bmm")


def pictures(places):
    """An encoder of Transformers for pictures that are cut into as many parts, one less for the class."""
    side = round((places - 1) ** 0.5)
    config = ViTConfig(hidden_size=HEADS * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=HEADS * WIDTH,
                       image_size=16 * side, patch_size=16)
    return ViTModel(config, add_pooling_layer=False), (3, 16 * side, 16 * side)


def step_of(items, places, mode, kind):
    torch._dynamo.reset()
    layer, shape = pictures(places)
    layer, x = layer.cuda(), torch.randn(items, *shape, device="cuda")
    if mode == "infer":
        layer, x = layer.to(kind).eval(), x.to(kind)
        compiled = torch.compile(layer)

        def step():
            with torch.no_grad():
                return compiled(x).last_hidden_state
        return step
    compiled = torch.compile(layer)

    def step():
        with torch.autocast("cuda", dtype=kind):
            loss = compiled(x).last_hidden_state.float().square().mean()
        loss.backward()
    return step


def measured(items, places, mode, kind):
    step = step_of(items, places, mode, kind)
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU], record_shapes=True) as seen:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    ranges = ("##", "Torch-Compiled", "CompiledFunction")
    launched = sorted((e for e in seen.profiler.kineto_results.events()
                       if e.device_type() == torch.autograd.DeviceType.CUDA and not e.name().startswith(ranges)), key=lambda e: e.start_ns())
    count = len(launched) // STEPS
    steps = [launched[i * count:(i + 1) * count] for i in range(STEPS)]
    if any([e.name() for e in s] != [e.name() for e in steps[0]] for s in steps):
        raise RuntimeError(f"steps of {items} x {places} launch other kernels than the first one")
    return [[steps[0][i].name(), round(sorted(s[i].duration_ns() for s in steps)[STEPS // 2] / 1e3, 2)] for i in range(count)]


def rows(kernels):
    """Of attention, by names short enough to read."""
    for name, us in kernels:
        if any(part in name for part in PARTS):
            yield name.replace("void ", "").split("(")[0].split("<")[-1][:110].replace(",", ";"), us


def main():
    end = time.time() + float(sys.argv[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("device items heads places width mode type kernel us".split())
    for items, places in PLACES:
        for mode, kind in (("infer", torch.float16), ("train", torch.float16), ("infer", torch.bfloat16), ("train", torch.bfloat16)):
            if kind == torch.bfloat16 and places != 197:
                continue
            if time.time() > end:
                print("out of time", file=sys.stderr)
                return
            for name, us in rows(measured(items, places, mode, kind)):
                out.writerow([torch.cuda.get_device_name(), items, HEADS, places, WIDTH, mode, str(kind).removeprefix("torch."), name, us])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
