"""What a single-operator case is, and helpers to write one.

A case knows how to allocate its inputs (make) and then gives a function that runs the operator once.
tf32 is fp32 data with TF32 allowed in matrix products and convolutions; fp32 forbids it.
"""
import torch
import torch.nn.functional as F

DEVICE = "cuda"
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
          "fp64": torch.float64, "int64": torch.int64, "int32": torch.int32, "uint8": torch.uint8,
          "bool": torch.bool}
FLOATS = ("fp32", "fp16", "bf16")
LARGE = 2 ** 23
aten = torch.ops.aten


class Case:
    """`make()` allocates the inputs and returns the function to measure."""

    def __init__(self, op, dtype, shapes, make, attrs):
        self.op = op
        self.dtype = dtype
        self.shapes = [list(shape) for shape in shapes]
        self.make = make
        self.attrs = attrs

    def launches(self):
        """What the generated kernels of the last run were launched with, in order."""
        return []


def rand(shape, dtype="fp32"):
    kind = DTYPES[dtype]
    if kind.is_floating_point:
        return torch.randn(shape, device=DEVICE).to(kind)
    return torch.randint(0, 2, shape, device=DEVICE).to(kind)


def allow_tf32(dtype):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"


def random_inputs(shapes, dtype, types, prepare):
    inputs = [rand(shape, kind) for shape, kind in zip(shapes, types or [dtype] * len(shapes))]
    return [prepare(x) for x in inputs] if prepare else inputs


def simple(op, dtype, shapes, fn, types=None, prepare=None, **attrs):
    """fn(random tensors of the given shapes).

    types gives each input a type of its own, prepare changes the inputs before the measurement.
    """
    def make():
        inputs = random_inputs(shapes, dtype, types, prepare)

        def run():
            allow_tf32(dtype)
            return fn(*inputs)
        return run
    return Case(op, dtype, shapes, make, attrs)


def backward(op, dtype, shapes, fn, types=None, prepare=None, **attrs):
    """Only the backward pass of fn, for all inputs."""
    def make():
        allow_tf32(dtype)
        inputs = [x.requires_grad_() for x in random_inputs(shapes, dtype, types, prepare)]
        out = fn(*inputs)
        gradient = torch.randn_like(out)

        def run():
            allow_tf32(dtype)
            return torch.autograd.grad(out, inputs, gradient, retain_graph=True)
        return run
    return Case(op + "_backward", dtype, shapes, make, attrs)


def both(op, dtype, shapes, fn, **options):
    """Forward case and backward case."""
    yield simple(op, dtype, shapes, fn, **options)
    yield backward(op, dtype, shapes, fn, **options)
