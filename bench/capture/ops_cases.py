"""The groups of single operators that ops_sweep.py runs."""
import torch
import torch.nn.functional as F

from ops_base import both, simple
from ops_channels import channels
from ops_compute import (attention, conv, depthwise, embeddings, gemm, index, optimizers, pools, rnn)
from ops_generated import generated, generated_loops, generated_more, generated_rows
from ops_heads import heads, heads_counted
from ops_layout import layout, triton_layout
from ops_lines import few_groups, lines, widening
from ops_listed import listed_few, listed_many
from ops_memory import copies, norms, pointwise, reductions, softmaxes
from ops_narrow import narrow, narrow_nhwc, stems, thin, wide_stems
from ops_odd import few_channels, items, odd_depthwise, odd_images, wide_depthwise, wider_items
from ops_switch import grid, switch, windows
from ops_triton import triton
from ops_upward import many_groups, many_pixels, small_stems, upward, upward_lines, vocoder_lines, whole_windows
from ops_windows import causal_lines, large_stems, spread, spread_lines, stripes


def smoke():
    """A few cases that show whether the tools work at all."""
    yield simple("add", "fp32", [(2 ** 20,)] * 2, torch.add)
    yield from both("softmax", "fp32", [(1024, 1024)], lambda x: torch.softmax(x, -1))
    yield from both("linear", "fp16", [(512, 512), (512, 512), (512,)], F.linear)
    yield simple("relu", "fp16", [(2 ** 20,)], torch.relu)


GROUPS = {
    "pointwise": pointwise, "copy": copies, "reduce": reductions, "norm": norms, "softmax": softmaxes, "gemm": gemm,
    "conv": conv, "depthwise": depthwise, "attention": attention, "embedding": embeddings, "optimizer": optimizers,
    "rnn": rnn, "pool": pools, "index": index, "smoke": smoke, "triton": triton,
    "layout": layout, "triton_layout": triton_layout, "switch": switch, "grid": grid,
    "windows": windows, "heads": heads, "heads_counted": heads_counted, "lines": lines, "few_groups": few_groups,
    "widening": widening,
    "stems": stems, "wide_stems": wide_stems, "narrow": narrow, "narrow_nhwc": narrow_nhwc,
    "thin": thin, "channels": channels, "spread": spread, "spread_lines": spread_lines, "stripes": stripes,
    "causal_lines": causal_lines, "large_stems": large_stems, "odd_images": odd_images, "odd_depthwise": odd_depthwise, "wider_items": wider_items,
    "wide_depthwise": wide_depthwise, "upward": upward, "upward_lines": upward_lines, "vocoder_lines": vocoder_lines,
    "small_stems": small_stems, "many_pixels": many_pixels, "many_groups": many_groups, "whole_windows": whole_windows,
    "listed_few": listed_few, "listed_many": listed_many,
    "few_channels": few_channels, "items": items, "generated": generated,
    "generated_more": generated_more, "generated_rows": generated_rows, "generated_loops": generated_loops,
}


def cases_of(groups):
    """(group, case) pairs of the named groups, in a fixed order."""
    return [(group, case) for group in groups for case in GROUPS[group]()]
