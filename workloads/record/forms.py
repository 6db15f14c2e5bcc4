"""What a program does otherwise by how it is run: in a model of 16 bits, or where a compiler looks at it.

A form is the whole step again, recorded from the program in a type of 16 bits and written down in FP32 as any other, so that
whatever the type decides stands in it (values in bounds, say) and the types themselves do not.
"""
import contextlib

import torch
from torch.overrides import TorchFunctionMode

HALF = {"fp16w": torch.float16, "bf16w": torch.bfloat16}  # by what tandem run --precision calls them


def in_half(program, dtype):
    """The program with model and inputs in a type of 16 bits."""
    inputs = tuple(x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in program.inputs)
    return program._replace(model=program.model.to(dtype), inputs=inputs)


def work_of(recording):
    """What a program decides to do, without the types: operations of the forward pass and the sizes of what they read and
    make. Autograd's follow from them."""
    def sizes(value):
        if isinstance(value, dict):
            return [recording["tensors"][t][1] for t in value.get("tl") or [value["t"]]]
        return [sizes(part) for part in value] if isinstance(value, list) else None
    return [(row["op"], row["phase"], sizes(row["args"]), [t if t is None else recording["tensors"][t][1] for t in row["out"]])
            for row in recording["ops"] if row["op"] != "aten::to" and row["phase"] == "forward"]


class Masks(TorchFunctionMode):
    """The masks that attention is called with, in the order of the calls."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.unclaimed = None  # the last call, until its operation is written down

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.nn.functional.scaled_dot_product_attention:
            self.unclaimed = len(self.found)
            self.found.append(kind_of(args[3] if len(args) > 3 else kwargs.get("attn_mask")))
        return function(*args, **kwargs)

    def claim(self):
        """The number of the call that the next operation of attention belongs to, or None."""
        claimed, self.unclaimed = self.unclaimed, None
        return claimed


def kind_of(mask):
    """How a mask lies in memory: one that masks nothing is often a column, expanded."""
    if mask is None:
        return "none"
    return "column" if mask.shape[-1] > 1 and mask.stride(-1) == 0 else "whole"


@contextlib.contextmanager
def compiling():
    """Inside, programs take it that a compiler looks at them."""
    asked, torch.compiler.is_compiling = torch.compiler.is_compiling, lambda: True
    try:
        yield
    finally:
        torch.compiler.is_compiling = asked


def state_masks(rows, masks):
    """Writes what each call of attention is masked by where the program is compiled, if that is known; the rows hold the
    numbers of the calls."""
    for row in rows:
        call = row.pop("attention", None)
        if call is not None and masks is not None:
            row["masked"] = masks[call]
