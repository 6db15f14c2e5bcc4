#!/usr/bin/env python3
"""Record what an eager TensorFlow / Keras 2 program does in one step, on a machine without a GPU, as tandem.network/1.

  record_tf.py programs_tf.py:tf_resnet50 --task infer --out tf_resnet50-infer.json
  record_tf.py --all [NAME...]                                    # the networks of workloads/nets again

PROGRAM is `file.py:name` or `package.module:name`: make(batch, ...) -> Program(model, inputs, loss, optimizer), whose
parameters are the symbols of the network. The step runs at small sizes, at two values of each symbol and at a third
that checks the formulas. Exit status 2: the program cannot be recorded.
"""
import argparse
import importlib
import importlib.util
import inspect
import os
import sys
from typing import Callable, NamedTuple, Optional

import recorder_tf
from network_file import network_text
from recorder_tf import CannotRecord, Layers, Recorder, tf
from sizes import Fitter, Mismatch, merge_networks

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"batch": (2, 3, 5), "head": (2, 3, 5)}
OTHER_SIZES = (16, 24, 40)


class Program(NamedTuple):
    """A model and what one step does with it."""
    model: Callable
    inputs: object
    loss: Optional[Callable] = None       # of the model's output
    optimizer: Optional[object] = None
    source: str = ""
    precision: str = "fp32"


def load(text):
    """What `file.py:name` or `package.module:name` stands for."""
    place, _, name = text.rpartition(":")
    try:
        if not place.endswith(".py"):
            return getattr(importlib.import_module(place), name)
        sys.path.append(os.path.dirname(os.path.abspath(place)))
        return getattr(importlib.import_module(os.path.basename(place)[:-len(".py")]), name)
    except (ImportError, AttributeError, OSError, ValueError) as error:
        raise CannotRecord(f"program: {error}, expected file.py:name or package.module:name") from error


def infer(program, recorder=None):
    program.model(program.inputs, training=False)


def train(program, recorder=None):
    """A custom training loop, as eager programs write it."""
    scaler = program.optimizer if hasattr(program.optimizer, "get_scaled_loss") else None
    with tf.GradientTape() as tape:
        loss = program.loss(program.model(program.inputs, training=True))
        loss = scaler.get_scaled_loss(loss) if scaler else loss
    if recorder:
        recorder.phase = "backward"
    parameters = program.model.trainable_variables
    gradients = tape.gradient(loss, parameters)
    if scaler:
        gradients = scaler.get_unscaled_gradients(gradients)
    if recorder:
        recorder.mark_gradients(gradients)
        recorder.phase = "optimizer"
    program.optimizer.apply_gradients([(g, p) for g, p in zip(gradients, parameters) if g is not None])


def variables_of(program, task):
    model = program.model
    parameters = {id(v) for v in model.trainable_variables}
    out = {"parameter": model.trainable_variables,
           "buffer": [v for v in model.variables if id(v) not in parameters]}
    if task == "train":
        out["state"] = state_of(program.optimizer)
    return out


def state_of(optimizer):
    """Moments, counters, rates; a loss scaler has an optimizer inside, and its scale."""
    inner = getattr(optimizer, "inner_optimizer", None)
    scale = getattr(optimizer, "_loss_scale", None)
    held = list(optimizer.variables()) + list(getattr(optimizer, "_hyper", {}).values())
    held += state_of(inner) if inner is not None else []
    held += list(getattr(scale, "_weights", {}).values())
    return list({id(v): v for v in held if hasattr(v, "handle")}.values())


def record_at(make, task, values):
    """One step at one value of each symbol; the first one makes variables and the optimizer's state."""
    keras = importlib.import_module("tf_keras")
    keras.backend.clear_session()
    keras.mixed_precision.set_global_policy("float32")
    program = make(**values)
    step = train if task == "train" else infer
    step(program)
    with Layers() as layers:
        recorder = Recorder(layers, variables_of(program, task))
        with recorder.running():
            step(program, recorder)
    return recorder.result(), program


def record(make, task, name):
    defaults = {p.name: p.default for p in inspect.signature(make).parameters.values()}
    sizes = {symbol: SIZES.get(symbol, OTHER_SIZES) for symbol in defaults}
    fitter = Fitter(sizes)
    steps = [record_at(make, task, point) for point in fitter.points]
    merged = merge_networks([recording for recording, _ in steps], fitter)
    program = steps[0][1]
    optimizer = getattr(program.optimizer, "inner_optimizer", program.optimizer)
    optimizer = type(optimizer).__name__.lower() if task == "train" else "none"
    return {
        "schema": "tandem.network/1", "name": name, "framework": "tensorflow", "task": task,
        "source": program.source, "recorded_with": f"tensorflow {tf.__version__}, tf_keras {keras_version()}",
        "optimizer": optimizer, "precision": program.precision,
        "symbols": [{"name": s, "recorded": list(sizes[s][:2]), "default": defaults[s]} for s in sizes],
        **{key: merged[key] for key in ("modules", "storages", "tensors", "ops")},
    }


def keras_version():
    return importlib.import_module("tf_keras").__version__


def record_all(names):
    from programs_tf import NETWORKS
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        raise CannotRecord(f"--all: found {unknown[0]}, expected some of {', '.join(NETWORKS)}")
    for name in names or NETWORKS:
        for task in NETWORKS[name]:
            out = os.path.join(HERE, "..", "nets", f"{name}-{task}.json")
            write(record(load(os.path.join(HERE, "programs_tf.py") + ":" + name), task, name), out)
            print(f"{name}-{task}: recorded", flush=True)


def write(network, path):
    if not path:
        sys.stdout.write(network_text(network))
        return
    with open(path, "w") as file:
        file.write(network_text(network))


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", metavar="PROGRAM", nargs="*")
    parser.add_argument("--all", action="store_true", help="record the networks of workloads/nets, or those named")
    parser.add_argument("--out", metavar="FILE", help="the network (default: standard output)")
    parser.add_argument("--task", choices=("train", "infer"), default="train")
    parser.add_argument("--name", help="of the network (default: that of the program)")
    return parser.parse_args(argv)


def main(argv=None):
    arguments = parse_arguments(argv)
    try:
        if arguments.all:
            record_all(arguments.programs)
            return 0
        if len(arguments.programs) != 1:
            raise CannotRecord(f"PROGRAM: found {len(arguments.programs)} of them, expected one")
        make = load(arguments.programs[0])
        write(record(make, arguments.task, arguments.name or make.__name__), arguments.out)
    except (CannotRecord, Mismatch) as error:
        print(f"record_tf.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
