#!/usr/bin/env python3
"""Record what a PyTorch program does in one step, on a machine without a GPU, as tandem.network/1.

PROGRAM is `package.module:name` or `file.py:name`, in one of three forms:
  a module    a class or function that gives an nn.Module; --input, --loss and --optimizer say the rest
  a program   make(batch, ...) -> Program(model, inputs, loss, optimizer)
  a step      make(batch, ...) -> a function without arguments that runs one step of any kind
The parameters of make() are the symbols of the network, their default values those of the file.

  record.py torchvision.models:resnet50 --input batch,3,224,224 --loss cross_entropy --optimizer sgd \\
            --out resnet50-train.json
  record.py programs.py:bert_base --task infer --out bert_base-infer.json

The program runs on PyTorch's meta device (sizes alone, no arithmetic, no memory), at two values of each
symbol and at a third to check the formulas found. Exit status 2: the program cannot be recorded.
"""
import argparse
import importlib
import importlib.util
import inspect
import json
import math
import os
import sys
import traceback
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch.nn.modules import module as hooks
from torch.optim import optimizer as optimizers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import cuda
from sizes import Fitter, Mismatch, merge_networks

SIZES = {"batch": (7, 11, 13)}
OTHER_SIZES = (96, 160, 224)  # Attention rounds sequences up to 32, so other ones would hide in a step.
TYPES = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
ACCUMULATE = "torch::autograd::AccumulateGrad"


class Program(NamedTuple):
    """A model and what one step does with it."""
    model: Callable
    inputs: tuple
    loss: Optional[Callable] = None       # of the model's output
    optimizer: Optional[Callable] = None  # of the parameters


class CannotRecord(Exception):
    pass


def type_name(dtype):
    return TYPES.get(dtype, str(dtype).removeprefix("torch."))


def is_contiguous(dims, strides):
    expected = 1
    for size, stride in zip(reversed(dims), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def user_line():
    """The line of the program that is running: the innermost one outside of PyTorch and this folder."""
    folders = (os.path.dirname(torch.__file__), os.path.dirname(os.path.abspath(__file__)))
    programs = os.path.join(folders[1], "programs.py")
    for frame in reversed(traceback.extract_stack()):
        if frame.filename == programs or not frame.filename.startswith(folders):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return "unknown line"


# ---------------------------------------------------------------- modules

class Modules:
    """Which nn.Module is running, by its path; the recorder's stack follows the forward hooks."""

    def __init__(self):
        self.names = [""]
        self.paths = {}
        self.stack = []
        self.roots = []

    def __enter__(self):
        self.handles = [hooks.register_module_forward_pre_hook(self.begin),
                        hooks.register_module_forward_hook(self.end, always_call=True)]
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    def begin(self, module, _):
        if module not in self.paths:
            prefix = "" if not self.roots else type(module).__name__
            self.roots.append(module)
            for path, inner in module.named_modules(prefix=prefix):
                self.paths.setdefault(inner, path)
        self.stack.append(module)

    def end(self, module, *_):
        self.stack.pop()

    def current(self):
        path = self.paths[self.stack[-1]] if self.stack else ""
        if path not in self.names:
            self.names.append(path)
        return self.names.index(path)


# ---------------------------------------------------------------- one step

class Recorder(TorchDispatchMode):
    """Writes down every operation on the meta device that would launch a kernel."""

    def __init__(self, modules, reads):
        super().__init__()
        self.modules, self.reads = modules, reads
        self.ops, self.tensors, self.storages = [], [], []
        self.values = {}       # what memory holds, by storage, type, sizes, strides, offset -> tensor
        self.storage_ids = {}  # kept alive, so that no address is used twice
        self.module_of = {}    # autograd sequence number -> module of the forward operation
        self.optimizers = []
        self.in_optimizer = self.in_backward = False
        self.first = torch.autograd._get_sequence_nr()

    def __enter__(self):
        self.handles = [optimizers.register_optimizer_step_pre_hook(self.begin_optimizer),
                        optimizers.register_optimizer_step_post_hook(self.end_optimizer)]
        return super().__enter__()

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()
        return super().__exit__(*error)

    def begin_optimizer(self, optimizer, *_):
        self.optimizers.append(optimizer)
        self.in_optimizer = True

    def end_optimizer(self, *_):
        self.in_optimizer = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name
        if name == "aten::_local_scalar_dense" and args[0].is_meta:
            return self.read(function, args)
        try:
            out = function(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            if not any(t.is_meta for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)):
                raise
            raise CannotRecord(f"{name}: its result depends on values, or has no rule for sizes alone; found at "
                               f"{user_line()}\n{str(error).splitlines()[0]}") from error
        if self.launches(function, args, kwargs, out):
            self.note(function, args, kwargs, out)
        return out

    def read(self, function, args):
        """The host reads a number that only the device would know."""
        if self.reads is None:
            raise CannotRecord("aten::_local_scalar_dense: the program reads a number of the device; found at "
                               f"{user_line()}\n--reads VALUE goes on as if that number were VALUE")
        self.note(function, args, {}, None)
        return args[0].dtype.is_floating_point and float(self.reads) or type(self.reads)(self.reads)

    def launches(self, function, args, kwargs, out):
        """Not on the host, no view, no memory without content."""
        tensors = [t for t in tree_leaves((args, kwargs, out)) if isinstance(t, torch.Tensor)]
        schema = function._schema
        if not any(t.is_meta for t in tensors) or schema.name.startswith(("prim::", "aten::empty", "aten::new_empty")):
            return False
        if schema.is_mutable:
            return True
        made = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and not t.is_sparse]
        read = {self.address(t) for t in tree_leaves((args, kwargs))
                if isinstance(t, torch.Tensor) and not t.is_sparse}
        return not made or any(self.address(t) not in read for t in made)

    @staticmethod
    def address(tensor):
        return tensor.untyped_storage()._cdata

    # What a tensor of the program is in the file.

    def key(self, tensor):
        storage = tensor.untyped_storage()
        number = self.storage_ids.setdefault(storage._cdata, (len(self.storage_ids), storage))[0]
        return number, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()

    def define(self, tensor):
        """A new tensor of the file: the memory has new content."""
        if tensor.is_sparse:
            return self.define(tensor._values())
        key = self.key(tensor)
        dims, strides = list(key[2]), list(key[3])
        kept = None if is_contiguous(dims, strides) else strides
        self.tensors.append([type_name(key[1]), dims, kept, key[0]])
        self.values[key] = len(self.tensors) - 1
        return self.values[key]

    def use(self, tensor):
        if tensor.is_sparse:
            return self.use(tensor._values())
        number = self.values.get(self.key(tensor))
        return self.define(tensor) if number is None else number

    def encode(self, value):
        """An argument as JSON."""
        if isinstance(value, torch.Tensor):
            if not value.is_meta:
                return value.item() if value.dim() == 0 else None
            return {"t": self.use(value)}
        if isinstance(value, (list, tuple)):
            if value and all(isinstance(v, torch.Tensor) for v in value):
                if not any(v.is_meta for v in value):
                    return None
                return {"tl": [self.use(v) for v in value]}
            return [self.encode(v) for v in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return type_name(value) if isinstance(value, torch.dtype) else str(value)

    # Rows.

    def note(self, function, args, kwargs, out):
        schema = function._schema
        filled = list(args) + [kwargs.get(a.name, a.default_value) for a in schema.arguments[len(args):]]
        results = list(out) if isinstance(out, (list, tuple)) else [out]
        if not schema.returns and schema.is_mutable:
            written = [v for a, v in zip(schema.arguments, filled) if a.alias_info and a.alias_info.is_write]
            results = tree_leaves(written)
        results = tree_leaves(results)
        where = self.context(tree_leaves((args, kwargs)))
        with torch._C._DisableTorchDispatch():
            rename = cuda.RENAMED.get(schema.name)
            if rename:
                rename(lambda *row: self.emit(where, *row), filled, results)
            else:
                self.emit(where, schema.name, filled, results)

    def emit(self, where, name, args, out):
        row = {"op": name, **where, "args": [self.encode(a) for a in args]}
        row["out"] = [self.define(t) if isinstance(t, torch.Tensor) and t.is_meta else None for t in out]
        self.ops.append(row)

    def context(self, leaves):
        """Phase, module, autograd node and the sequence number that joins it to its forward operation."""
        node = torch._C._current_autograd_node()
        if self.in_optimizer:
            return {"phase": "optimizer", "module": 0}
        if node is not None:
            self.in_backward = True
            if node.name() == ACCUMULATE:
                return {"phase": "backward", "module": 0, "node": node.name()}
            number = node._sequence_nr() - self.first
            return {"phase": "backward", "module": self.module_of.get(number, 0), "node": node.name(), "seq": number}
        phase = "backward" if self.in_backward and not self.modules.stack else "forward"
        where = {"phase": phase, "module": self.modules.current()}
        tracked = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in leaves)
        if tracked:
            where["seq"] = torch.autograd._get_sequence_nr() - 1 - self.first
            self.module_of.setdefault(where["seq"], where["module"])
        return where

    def result(self):
        """The recording, once the step is over."""
        kinds = {}
        for row in self.ops:
            for arg in row["args"]:
                for t in arg.get("tl", [arg.get("t")]) if isinstance(arg, dict) else []:
                    kinds.setdefault(self.tensors[t][3], "input")
            for t in row["out"]:
                if t is not None:
                    kinds.setdefault(self.tensors[t][3], "activation")

        def mark(tensors, kind):
            for tensor in tensors:
                if isinstance(tensor, torch.Tensor) and tensor.is_meta:
                    data = tensor._values() if tensor.is_sparse else tensor
                    kinds[self.storage_ids.get(self.address(data), (None,))[0]] = kind

        for root in self.modules.roots:
            mark(root.buffers(), "buffer")
            mark(root.parameters(), "parameter")
            mark((p.grad for p in root.parameters()), "gradient")
        for optimizer in self.optimizers:
            mark((v for state in optimizer.state.values() for v in state.values()), "state")
        pairs = [{row["seq"] for row in self.ops if "seq" in row and ("node" in row) == backward}
                 for backward in (False, True)]
        for row in self.ops:
            if row.get("seq") not in pairs[0] & pairs[1]:
                row.pop("seq", None)
        return {"modules": self.modules.names, "tensors": self.tensors, "ops": self.ops,
                "storages": [kinds.get(number, "activation") for number in range(len(self.storage_ids))]}


# ---------------------------------------------------------------- programs

def load(text):
    """What `package.module:name` or `file.py:name` stands for."""
    place, _, name = text.rpartition(":")
    if not place:
        raise CannotRecord(f"program: found {text}, expected package.module:name or file.py:name")
    if place.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
        place = os.path.basename(place)[:-len(".py")]
    try:
        return getattr(importlib.import_module(place), name)
    except (ImportError, AttributeError) as error:
        raise CannotRecord(f"program: {error}") from error


LOSSES = {"cross_entropy": torch.nn.functional.cross_entropy, "mse": torch.nn.functional.mse_loss}
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-4),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-4),
}


def make_loss(kind):
    """The loss of an output against a target that is made once, as data would be."""
    targets = []

    def loss(output):
        if not targets:
            classes = output.shape[1] if output.dim() > 1 else 1
            shape = output.shape[:1] + output.shape[2:]
            with torch.device("meta"):
                targets.append(torch.randint(classes, shape) if kind == "cross_entropy" else torch.rand(output.shape))
        return LOSSES[kind](output, targets[0])
    return loss


def make_input(text, values):
    """The tensor of DIMS[:TYPE], e.g. batch,3,224,224 or batch,seq:int64."""
    dims, _, dtype = text.partition(":")
    shape = [values[d] if d in values else int(d) for d in dims.split(",")]
    return torch.empty(shape, dtype=getattr(torch, dtype or "float32"))


def symbols_of(make, inputs):
    """The symbols of a program and their default values, None where it has none."""
    if inputs:
        names = [d for text in inputs for d in text.partition(":")[0].split(",") if not d.isdigit()]
        return {name: None for name in names}
    parameters = inspect.signature(make).parameters.values()
    return {p.name: None if p.default is p.empty else p.default for p in parameters}


def step_of(made, arguments, values):
    """A function that runs one step of what the program made."""
    if arguments.input:
        loss = make_loss(arguments.loss) if arguments.loss else None
        inputs = tuple(make_input(text, values) for text in arguments.input)
        made = Program(made, inputs, loss, OPTIMIZERS.get(arguments.optimizer))
    if not isinstance(made, Program):
        return made
    training = arguments.task == "train"
    if training and (made.loss is None or made.optimizer is None):
        raise CannotRecord("a program that trains needs a loss and an optimizer: --loss, --optimizer or Program")
    made.model.train(training)
    optimizer = made.optimizer(made.model.parameters()) if training else None

    def infer():
        with torch.no_grad():
            made.model(*made.inputs)

    def train():
        optimizer.zero_grad(set_to_none=True)
        made.loss(made.model(*made.inputs)).backward()
        optimizer.step()
    return train if training else infer


def record_at(make, arguments, values):
    """One step at one value of each symbol, and the optimizer that it used."""
    with torch.device("meta"):
        made = make(**{} if arguments.input else values)
        step = step_of(made, arguments, values)
    with Modules() as modules:
        step()  # The first step makes the optimizer's state.
        recorder = Recorder(modules, arguments.reads)
        with recorder:
            step()
    return recorder.result(), recorder.optimizers


# ---------------------------------------------------------------- the file

def packages(make):
    """The package that a program comes from, with its version."""
    import importlib.metadata
    package = (make.__module__ or "").partition(".")[0]
    try:
        return f"{package} {importlib.metadata.version(package)} {make.__name__}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package}.py {make.__name__}"


def settings_of(optimizer):
    """The optimizer as its user would write it: SGD(lr=0.1, momentum=0.9)."""
    group = optimizer.param_groups[0]
    shown = [f"{k}={v:g}" for k, v in group.items() if isinstance(v, float) and v]
    return f"{type(optimizer).__name__}({', '.join(shown)})"


def network_text(network):
    """One line for each operation and tensor, so that two versions of a file can be compared."""
    parts = []
    for key, value in network.items():
        if key in ("ops", "tensors"):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def numbers_by_name(texts, option):
    found = {}
    for text in texts:
        name, _, numbers = text.partition("=")
        try:
            found[name] = tuple(int(n) for n in numbers.split(","))
        except ValueError:
            raise CannotRecord(f"{option}: found {text}, expected NAME=NUMBER") from None
    return found


def record(arguments):
    make = load(arguments.program)
    defaults = symbols_of(make, arguments.input)
    given = numbers_by_name(arguments.size, "--size")
    defaults.update({name: n[0] for name, n in numbers_by_name(arguments.default, "--default").items()})
    sizes = {name: given.get(name, SIZES.get(name, OTHER_SIZES)) for name in defaults}
    if any(len(set(size)) != 3 for size in sizes.values()):
        raise CannotRecord("--size: expected three different numbers, two to fit and one to check")
    fitter = Fitter(sizes)
    with cuda.dispatch():
        steps = [record_at(make, arguments, point) for point in fitter.points]
    merged = merge_networks([recording for recording, _ in steps], fitter)
    optimizer = steps[0][1][0] if steps[0][1] else None
    source = arguments.source or packages(make)
    fallback = {"batch": 32, "seq": 128}
    return {
        "schema": "tandem.network/1",
        "name": arguments.name or getattr(make, "__name__", arguments.program),
        "framework": "pytorch",
        "task": arguments.task,
        "source": source + (f"; {settings_of(optimizer)}" if optimizer else ""),
        "recorded_with": f"torch {torch.__version__.partition('+')[0]}",
        "optimizer": type(optimizer).__name__.lower() if optimizer else "none",
        "precision": "fp32",
        "symbols": [{"name": name, "recorded": list(sizes[name][:2]),
                     "default": defaults[name] or fallback.get(name, sizes[name][0])} for name in sizes],
        **{key: merged[key] for key in ("modules", "storages", "tensors", "ops")},
    }


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("--out", metavar="FILE", help="the network (default: standard output)")
    parser.add_argument("--task", choices=("train", "infer"), default="train")
    parser.add_argument("--name", help="of the network (default: that of the program)")
    parser.add_argument("--source", help="what the network is (default: package, version and name)")
    parser.add_argument("--input", action="append", default=[], metavar="DIMS[:TYPE]",
                        help="an input of a module, e.g. batch,3,224,224 or batch,seq:int64; repeat for more")
    parser.add_argument("--loss", choices=sorted(LOSSES), help="of a module's output")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), help="of a module's parameters")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=A,B,CHECK",
                        help="where to record a symbol (default: batch=7,11,13, others 96,160,224)")
    parser.add_argument("--default", action="append", default=[], metavar="NAME=N",
                        help="the value of a symbol for whoever gives none")
    parser.add_argument("--reads", type=int, metavar="VALUE",
                        help="what a number that the program reads from the device is taken to be")
    return parser.parse_args(argv)


def main(argv=None):
    arguments = parse_arguments(argv)
    try:
        text = network_text(record(arguments))
    except (CannotRecord, Mismatch) as error:
        print(f"record.py: {error}", file=sys.stderr)
        return 2
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.modules["record"] = sys.modules["__main__"]  # Programs import Program from here.
    sys.exit(main())
