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
import ast
import importlib.metadata
import sys

import torch

import cuda
from forms import HALF, compiling, state_masks, work_of
from network_file import network_text
from program import LOSSES, OPTIMIZERS, load, record_at, symbols_of
from recorder import CannotRecord, no_autocast, type_name
from sizes import Fitter, Mismatch, merge_networks

SIZES = {"batch": (7, 11, 13)}
OTHER_SIZES = (96, 160, 224)  # Attention rounds sequences up to 32, so other ones would hide in a step.
DEFAULTS = {"batch": 32, "seq": 128}


def packages(make):
    """The package that a program comes from, with its version."""
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


def numbers_by_name(texts, option):
    found = {}
    for text in texts:
        name, _, numbers = text.partition("=")
        try:
            found[name] = tuple(int(n) for n in numbers.split(","))
        except ValueError:
            raise CannotRecord(f"{option}: found {text}, expected NAME=NUMBER") from None
    return found


def literals(texts):
    """The arguments of --set."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            raise CannotRecord(f"--set: found {text}, expected NAME=VALUE with a Python literal") from None
    return found


def parts_of(merged):
    """The keys of a network that hold its operations."""
    calls = {"calls": merged["calls"]} if merged["calls"] else {}
    keys = ("modules", "storages", "tensors", "held")
    return {**{key: merged[key] for key in keys if key in merged}, **calls, "ops": merged["ops"]}


def forms_of(make, arguments, fitter, work):
    """The step in types of 16 bits where it does other work than `work`."""
    forms, reasons = [], {}
    for precision, dtype in HALF.items():
        try:
            first, _ = record_at(make, arguments, fitter.points[0], dtype)
            if work_of(first) == work:
                continue
            recordings = [first, *(record_at(make, arguments, point, dtype)[0] for point in fitter.points[1:])]
            forms.append({"type": type_name(dtype), **parts_of(merge_networks(recordings, fitter))})
        except Exception as error:  # Whatever a program does with a type that it was not written for.
            reasons.setdefault(first_line(error), []).append(precision)
    for reason, precisions in reasons.items():
        print(f"record.py: not recorded in {', '.join(precisions)}, which take what the program does in FP32: {reason}",
              file=sys.stderr)
    return forms


def first_line(error):
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def masks_of(make, arguments, point, eager):
    """The masks that attention is called with where the program is compiled, or None if that is not known."""
    if not eager:
        return []
    forward = argparse.Namespace(**{**vars(arguments), "task": "infer"})
    try:
        with compiling():
            masks = record_at(make, forward, point)[1].masks.found
    except Exception as error:
        print(f"record.py: not run as if compiled, so --compile goes by what masks are usually made: {first_line(error)}",
              file=sys.stderr)
        return None
    return masks if len(masks) == len(eager) else None


def record(arguments):
    arguments.set = literals(arguments.set)
    make = load(arguments.program)
    defaults = symbols_of(make, arguments.input, arguments.set)
    given = numbers_by_name(arguments.size, "--size")
    defaults.update({name: n[0] for name, n in numbers_by_name(arguments.default, "--default").items()})
    sizes = {name: given.get(name, SIZES.get(name, OTHER_SIZES)) for name in defaults}
    if any(len(set(size)) != 3 for size in sizes.values()):
        raise CannotRecord("--size: expected three different numbers, two to fit and one to check")
    fitter = Fitter(sizes)
    with cuda.dispatch(), no_autocast():
        steps = [record_at(make, arguments, point) for point in fitter.points]
        forms = forms_of(make, arguments, fitter, work_of(steps[0][0]))
        masks = masks_of(make, arguments, fitter.points[0], steps[0][1].masks.found)
    merged = merge_networks([recording for recording, _ in steps], fitter)
    for network in (merged, *forms):
        state_masks(network.get("calls", []) + network["ops"], masks)
    if not merged["ops"]:
        raise CannotRecord("program: found a step that launches nothing, expected operations on tensors of the default device")
    optimizer = next(iter(steps[0][1].optimizers), None)
    source = arguments.source or packages(make)
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
                     "default": defaults[name] or DEFAULTS.get(name, sizes[name][0])} for name in sizes],
        **parts_of(merged),
        **({"forms": forms} if forms else {}),
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
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a further argument of the program, a Python literal, e.g. num_classes=10")
    parser.add_argument("--reads", type=int, nargs="+", metavar="VALUE",
                        help="what numbers that the program reads from the device are taken to be, in its order; the last one stands for "
                             "all further ones")
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
    sys.exit(main())
