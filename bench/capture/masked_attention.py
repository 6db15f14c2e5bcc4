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
from transformers import ViTConfig, ViTModel

from medians import kernels

HEADS, WIDTH, LAYERS = 12, 64, 3
PLACES = [(128, 50), (128, 65), (64, 145), (64, 197), (48, 257), (24, 401), (16, 577), (8, 785), (6, 1025), (4, 1601), (8, 197)]
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


def rows(launched):
    """Of attention, by names short enough to read."""
    for name, us in launched:
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
            for name, us in rows(kernels(step_of(items, places, mode, kind), warm=4)):
                out.writerow([torch.cuda.get_device_name(), items, HEADS, places, WIDTH, mode, str(kind).removeprefix("torch."), name, us])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
