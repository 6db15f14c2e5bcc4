#!/usr/bin/env python3
"""What torch.compile generates for attention whose mask it makes itself, as encoders of Transformers do: products of FP32
scores and a softmax of their rows, forward and, trained under autocast, backward. Alone on the GPU.

    python3 masked_attention.py SECONDS > masked_attention.jsonl

A line for each stack of three layers: items, heads, places, width of a head, mode (infer, train), type of 16 bits, kernels of a
step in order as [name, microseconds]."""
import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile
from transformers import ViTConfig, ViTModel

HEADS, WIDTH, LAYERS = 12, 64, 3
PLACES = [(128, 50), (128, 65), (64, 145), (64, 197), (48, 257), (24, 401), (16, 577), (8, 785), (6, 1025), (4, 1601), (8, 197)]
STEPS = 5


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
    alike = all([e.name() for e in s] == [e.name() for e in steps[0]] for s in steps)
    rows = [[steps[0][i].name(), round(sorted(s[i].duration_ns() for s in steps)[STEPS // 2] / 1e3, 2)] for i in range(count)]
    return {"items": items, "heads": HEADS, "places": places, "width": WIDTH, "mode": mode, "type": str(kind).removeprefix("torch."),
            "alike": alike, "kernels": rows}


def main():
    end = time.time() + float(sys.argv[1])
    for items, places in PLACES:
        for mode, kind in (("infer", torch.float16), ("train", torch.float16), ("infer", torch.bfloat16), ("train", torch.bfloat16)):
            if kind == torch.bfloat16 and places != 197:
                continue
            if time.time() > end:
                print("out of time", file=sys.stderr)
                return
            print(json.dumps(measured(items, places, mode, kind)), flush=True)


if __name__ == "__main__":
    main()
