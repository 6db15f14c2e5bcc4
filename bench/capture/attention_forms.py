#!/usr/bin/env python3
"""Which forms of attention that programs write out TorchInductor replaces by fused attention, and what runs instead.

    python3 attention_forms.py SHARD SHARDS > forms.jsonl

A line for each form, task, precision and dropout: how many places were fused, the kernels of the compiled step and of the eager one
as [name, microseconds]. The layer has eight heads of 64, 16 sequences of 256."""
import json
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

from networks_plain import AttendedMap, CausalAttention, MaskedAttention, QueriesScaled, ScaledAttention, SumsAttention

WIDTH, HEADS, BATCH, SEQ = 512, 8, 16, 256


class Divided(ScaledAttention):
    def forward(self, x):
        q, k, v = self.parts(x)
        weights = self.dropout((q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1))
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))


class Library(ScaledAttention):
    """As Transformers has it, with a mask or without."""
    masked = False

    def forward(self, x):
        q, k, v = self.parts(x)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.scale
        if self.masked:
            scores = scores + torch.zeros(1, 1, x.shape[1], x.shape[1], dtype=x.dtype, device=x.device).triu(1)
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        weights = F.dropout(weights, p=self.dropout.p, training=self.training)
        return self.out(torch.matmul(weights, v).transpose(1, 2).contiguous().reshape(x.shape))


class LibraryMasked(Library):
    masked = True


class Placed(ScaledAttention):
    """As T5 has it: no scale, learned places added, softmax in FP32."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.bias = nn.Parameter(torch.zeros(1, HEADS, SEQ, SEQ))

    def forward(self, x):
        q, k, v = self.parts(x)
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += self.bias
        weights = F.dropout(F.softmax(scores.float(), dim=-1).type_as(scores), p=self.dropout.p, training=self.training)
        return self.out(torch.matmul(weights, v).transpose(1, 2).contiguous().view(x.shape))


class Windowed(Placed):
    """As Swin has it: queries are scaled, learned places added."""

    def forward(self, x):
        q, k, v = self.parts(x)
        scores = (q * self.scale) @ k.transpose(-2, -1) + self.bias
        return self.out((self.dropout(scores.softmax(dim=-1)) @ v).transpose(1, 2).reshape(x.shape))


class Weights(nn.Module):
    def __init__(self, width, heads, dropout, causal=False):
        super().__init__()
        self.norm, self.attention, self.causal = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, dropout, batch_first=True), causal

    def forward(self, x):
        y = self.norm(x)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1) if self.causal else None
        return self.attention(y, y, y, attn_mask=mask)[0]


class Masked(MaskedAttention):
    def forward(self, x):
        return super().forward(x, torch.zeros(x.shape[0], 1, 1, x.shape[1], dtype=x.dtype, device=x.device))


FORMS = {
    "scaled": ScaledAttention, "queries_scaled": QueriesScaled, "sums": SumsAttention, "divided": Divided, "library": Library,
    "library_masked": LibraryMasked, "placed": Placed, "windowed": Windowed, "masked": Masked, "weights": Weights,
    "weights_causal": lambda *a: Weights(*a, causal=True), "causal": lambda w, h, d: CausalAttention(w, h, SEQ, d),
    "pixels": lambda w, h, d: nn.Sequential(nn.Unflatten(1, (16, 16)), Turned(w)),
}


class Turned(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.map = AttendedMap(width)

    def forward(self, x):
        return self.map(x.permute(0, 3, 1, 2))


def profiled(step):
    """Events of a step, programs tuned before."""
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as p:
        step()
        torch.cuda.synchronize()
    return p.events()


def kernels(events):
    """[name, microseconds] of device work, without the ranges of compiled graphs."""
    return [[e.name[:90], round(e.device_time, 2)] for e in events
            if e.device_type == torch.autograd.DeviceType.CUDA and not e.name.startswith("##")]


def measured(form, task, precision, dropout):
    from torch._dynamo.utils import counters
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(1)
    layer = FORMS[form](WIDTH, HEADS, dropout).cuda().train(task == "train")
    kind = {"fp32": torch.float32, "bf16w": torch.bfloat16, "amp": torch.float32}[precision]
    layer, x = layer.to(kind), torch.randn(BATCH, SEQ, WIDTH, device="cuda", dtype=kind)

    def step_of(call):
        def step():
            with torch.autocast("cuda", torch.float16, enabled=precision == "amp"):
                out = call(x)
            if task == "train":
                out.float().sum().backward()
        def quiet():
            with torch.no_grad():
                step()
        return step if task == "train" else quiet
    eager = kernels(profiled(step_of(layer)))
    compiled = kernels(profiled(step_of(torch.compile(layer))))
    return {"form": form, "task": task, "precision": precision, "dropout": dropout,
            "fused": counters["inductor"]["fuse_attention"], "compiled": compiled, "eager": eager}


def main():
    shard, shards = (int(a) for a in sys.argv[1:3])
    asked = [(f, task, p, d) for f in FORMS for task in ("infer", "train") for p in ("fp32", "bf16w", "amp")
             for d in ((0.0, 0.1) if task == "train" and f != "pixels" else (0.0,))]
    for one in asked[shard::shards]:
        try:
            print(json.dumps(measured(*one)), flush=True)
        except Exception as e:  # noqa: BLE001 - the others still count
            print(json.dumps({"form": one, "failed": repr(e)[:300]}), flush=True)


if __name__ == "__main__":
    main()
