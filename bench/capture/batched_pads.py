#!/usr/bin/env python3
"""Which batched products TorchInductor pads to multiples of 16 bytes, alone on the GPU.

    python3 batched_pads.py SECONDS > batched_pads.jsonl

A line for each product of 192 items: form, places and width of a head, type, whether it was padded, the kernels of the compiled
function as [name, microseconds], and the times of the product as it is and of one of padded sides. Forms: what both operands are
before the product (made by other operations, turned, given from outside, lying otherwise)."""
import json
import sys
import time

import torch

from attention_forms import kernels, profiled

ITEMS = 192


def scores_made(q, k):
    return torch.bmm(q * 2, k * 2)


def scores_turned(q, k):
    return torch.bmm(q * 2, (k * 2).transpose(1, 2))


def given(q, k):
    return torch.bmm(q, k)


def results(s, v):
    return torch.bmm((s.float() * 2).sigmoid().to(v.dtype), v * 2)


def gradient(s, v):
    return torch.bmm((s.float() * 2).sigmoid().to(v.dtype).transpose(1, 2), v * 2)


def lying(q, k):
    return torch.bmm((q * 2).transpose(0, 1), (k * 2).permute(1, 2, 0))


def operands(form, places, width, kind):
    def of(*shape):
        return torch.randn(*shape, device="cuda", dtype=kind)
    if form in (scores_made, given):
        return of(ITEMS, places, width), of(ITEMS, width, places)
    if form is scores_turned:
        return of(ITEMS, places, width), of(ITEMS, places, width)
    if form is lying:
        return of(places, ITEMS, width), of(places, ITEMS, width)
    return of(ITEMS, places, places), of(ITEMS, places, width)


def measured(form, places, width, kind):
    torch._dynamo.reset()
    made = operands(form, places, width, kind)
    with torch.no_grad():
        compiled = torch.compile(form)
        events = profiled(lambda: compiled(*made))
        plain = kernels(profiled(lambda: form(*made)))
        padded = -(-places // 8) * 8
        aligned = operands(form, padded, width, kind)
        whole = kernels(profiled(lambda: form(*aligned)))
    shapes = [e.input_shapes[:2] for e in events if e.name == "aten::bmm"]
    return {"form": form.__name__, "places": places, "width": width, "type": str(kind).split(".")[1],
            "padded": any(side not in (ITEMS, places, width) for s in shapes for operand in s for side in operand),
            "shapes": shapes, "compiled": kernels(events), "plain": plain[-1], "aligned": whole[-1]}


def main():
    end = time.time() + float(sys.argv[1])
    for kind in (torch.float16, torch.bfloat16):
        for places in (197, 145, 257, 577, 625, 100, 50, 77) if kind == torch.float16 else (197, 257):
            for width in (64, 32):
                for form in (scores_made, scores_turned, results, gradient, lying, given):
                    if time.time() > end:
                        return
                    print(json.dumps(measured(form, places, width, kind)), flush=True)


if __name__ == "__main__":
    main()
