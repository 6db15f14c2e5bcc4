"""Programs that can be recorded: what PROGRAM names, and what one step of it does."""
import gc
import importlib
import importlib.util
import inspect
import os
import sys
from typing import Callable, NamedTuple, Optional

import torch

from forms import in_half
from recorder import CannotRecord, HostMeetsDevice, Modules, Recorder


class Program(NamedTuple):
    """A model and what one step does with it."""
    model: Callable
    inputs: tuple
    loss: Optional[Callable] = None       # of the model's output
    optimizer: Optional[Callable] = None  # of the parameters


def load(text):
    """What `package.module:name` or `file.py:name` stands for."""
    place, _, name = text.rpartition(":")
    if not place:
        raise CannotRecord(f"program: found {text}, expected package.module:name or file.py:name")
    try:
        module = load_file(place) if place.endswith(".py") else importlib.import_module(place)
        return getattr(module, name)
    except (ImportError, AttributeError, OSError) as error:
        raise CannotRecord(f"program: {error}") from error


def load_file(path):
    """The module of a file, whatever other modules are called, which may import its neighbours."""
    name = os.path.basename(path)[:-len(".py")]
    sys.path.append(os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    kind = getattr(torch, dtype or "float32", None)
    if not isinstance(kind, torch.dtype):
        raise CannotRecord(f"--input: found type {dtype}, expected one of PyTorch's, e.g. int64")
    return torch.empty(shape, dtype=kind)


def symbols_of(make, inputs, given):
    """The symbols of a program and their default values, None where it has none."""
    if inputs:
        names = [d for text in inputs for d in text.partition(":")[0].split(",") if not d.isdigit()]
        return {name: None for name in names}
    parameters = inspect.signature(make).parameters.values()
    return {p.name: None if p.default is p.empty else p.default for p in parameters if p.name not in given}


def needs_closure(optimizer):
    """Whether its step cannot be called without a function that runs the model."""
    parameters = inspect.signature(type(optimizer).step).parameters.values()
    return any(p.name == "closure" and p.default is p.empty for p in parameters)


def to_device(model):
    """As model.to("cuda"): what a module made with the host by name, or by torch.Tensor(), is the device's as well."""
    if isinstance(model, torch.nn.Module) and any(not t.is_meta for t in (*model.parameters(), *model.buffers())):
        model.to("meta")


def step_of(made, arguments, values, half=None):
    """A function that runs one step of what the program made, in the type of 16 bits `half` if one is given."""
    if arguments.input:
        loss = make_loss(arguments.loss) if arguments.loss else None
        inputs = tuple(make_input(text, values) for text in arguments.input)
        made = Program(made, inputs, loss, OPTIMIZERS.get(arguments.optimizer))
    if not isinstance(made, Program):
        if half:
            raise CannotRecord("found a step of its own, expected a module or a Program, whose type can be changed")
        return made
    to_device(made.model)
    if half:
        made = in_half(made, half)
    training = arguments.task == "train"
    if training and (made.loss is None or made.optimizer is None):
        raise CannotRecord("a program that trains needs a loss and an optimizer: --loss, --optimizer or Program")
    made.model.train(training)
    optimizer = made.optimizer(made.model.parameters()) if training else None
    if optimizer is not None and needs_closure(optimizer):
        raise CannotRecord(f"optimizer: found {type(optimizer).__name__}, whose step runs the model itself, expected one that "
                           "takes no closure, or a program that is a step of its own")

    def infer():
        with torch.no_grad():
            made.model(*made.inputs)

    def train():
        optimizer.zero_grad(set_to_none=True)
        made.loss(made.model(*made.inputs)).backward()
        optimizer.step()
    return train if training else infer


def build(make, parameters):
    """What the program makes. A module that computes with tensors as it is built is moved afterwards."""
    try:
        return make(**parameters)
    except NotImplementedError as error:
        with torch.device("cpu"):
            made = make(**parameters)
        if isinstance(made, torch.nn.Module):
            return made.to("meta")
        raise CannotRecord(f"program: reads numbers of tensors while it is built: {error}; expected a module, or one "
                           "that is built without") from error


def record_at(make, arguments, values, half=None):
    """One step at one value of each symbol, and the optimizer that it used. `half`: the type of 16 bits of the model.

    A tensor that the step makes without saying where is one of the host, as for a program that names its
    device; where such a tensor meets the device, the program counts on a default device."""
    try:
        return record_with(make, arguments, values, torch.device("cpu"), half)
    except HostMeetsDevice:
        return record_with(make, arguments, values, torch.device("meta"), half)


def record_with(make, arguments, values, default_of_step, half):
    parameters = {**arguments.set, **({} if arguments.input else values)}
    with torch.device("meta"):
        made = build(make, parameters)
        step = step_of(made, arguments, values, half)
    # When cycles of references are found is chance.
    gc.collect()
    gc.disable()
    try:
        with Modules() as modules, default_of_step:
            with Recorder(modules, arguments.reads, half).step():
                step()  # The first step makes the optimizer's state.
            recorder = Recorder(modules, arguments.reads, half)
            with recorder.step():
                step()
    finally:
        gc.enable()
    return recorder.result(), recorder
