"""Where a program itself asks for a type that its tensor has already.

Networks are recorded in FP32, where `x.float()` does nothing and the dispatcher hears nothing of it; in a model
of 16 bits it copies. Each is a row `aten::to` without a result, as a profile of an FP32 program has it.
"""
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

CONVERSIONS = {torch.Tensor.to, torch.Tensor.float, torch.Tensor.type, torch.Tensor.type_as}
# Of FP32 they make what they are asked for, so that they read what they are given converted.
CONVERTING = {torch.softmax, torch.log_softmax, torch.Tensor.softmax, torch.Tensor.log_softmax,
              torch.nn.functional.softmax, torch.nn.functional.log_softmax,
              torch.sum, torch.mean, torch.Tensor.sum, torch.Tensor.mean}


def names_type(function, args, kwargs):
    """Whether a conversion is one of types, and not to another device alone."""
    if function is not torch.Tensor.to:
        return True
    return any(isinstance(a, (torch.dtype, torch.Tensor)) for a in (*args[1:], *kwargs.values()))


class Conversions(TorchFunctionMode):
    """Tells `note` of tensors in FP32 that the program asks for in FP32."""

    def __init__(self, note):
        super().__init__()
        self.note = note

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in CONVERTING and torch.float32 in tree_leaves((args[1:], kwargs)):
            self.note_idle(args[0] if args else kwargs.get("input"))
        result = function(*args, **kwargs)
        if function in CONVERSIONS and result is args[0] and names_type(function, args, kwargs):
            self.note_idle(result)
        return result

    def note_idle(self, tensor):
        if isinstance(tensor, torch.Tensor) and tensor.is_meta and tensor.dtype == torch.float32:
            self.note(tensor)
