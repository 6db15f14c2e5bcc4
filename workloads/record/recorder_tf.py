"""The operations of one eager TensorFlow step, as the runtime executes them.

TensorFlow has no tensors without memory, so the step really runs, on the CPU, at small sizes. What a GPU
would do is told from types: 32-bit integers stay in host memory, and so do operations that read and make
nothing else (TensorFlow registers those kernels for GPUs with operands in host memory).
"""
import contextlib
import math
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import backprop
from tensorflow.python.framework import op_callbacks, op_def_registry, ops as framework_ops

TYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "int8",
         "uint8": "uint8", "int32": "int32", "int64": "int64", "bool": "bool"}
READ = "ReadVariableOp"
RESOLVE = "TFE_TensorHandleResolve"  # what Python calls for the value of a tensor
HOST_RESULTS = ("Shape", "ShapeN", "Size", "Rank", "BroadcastGradientArgs", "BroadcastArgs", "ConcatOffset")
WRITES = {"AssignVariableOp": [0], "AssignAddVariableOp": [0], "AssignSubVariableOp": [0], "ResourceScatterAdd": [0],
          "ResourceApplyGradientDescent": [0], "ResourceApplyMomentum": [0, 1], "ResourceApplyKerasMomentum": [0, 1],
          "ResourceApplyAdam": [0, 1, 2], "ResourceSparseApplyKerasMomentum": [0, 1],
          "ResourceApplyAdagradV2": [0, 1]}
SMALL = 16  # elements of a constant that is written as numbers


class CannotRecord(Exception):
    """The program does something that a recording cannot hold; the text says what and where."""


def address(tensor):
    """Where the elements lie: TensorFlow's views (Reshape, Identity, ExpandDims) share them."""
    return np.asarray(memoryview(tensor)).__array_interface__["data"][0]


def is_resource(tensor):
    return tensor.dtype in (tf.resource, tf.variant, tf.string)


def plain(value):
    """An attribute as JSON."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, tf.DType):
        return TYPES.get(value.name, value.name)
    if isinstance(value, tf.TensorShape):
        return value.as_list() if value.rank is not None else None
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def default_of(attribute):
    """The default value of an attribute of an operation's definition."""
    kind = attribute.default_value.WhichOneof("value")
    if kind in ("s", "i", "f", "b"):
        return plain(getattr(attribute.default_value, kind))
    if kind == "list":
        listed = attribute.default_value.list
        return [plain(v) for v in (*listed.i, *listed.f, *listed.b, *listed.s)]
    return None


class Layers:
    """Which Keras layer is running, by the names of the layers around it."""

    def __init__(self):
        self.names = [""]
        self.stack = []

    def __enter__(self):
        from tf_keras.src.engine import base_layer
        self.owner, self.call = base_layer.Layer, base_layer.Layer.__call__
        layers, call = self, self.call

        def named_call(layer, *args, **kwargs):
            layers.stack.append(layer.name)
            try:
                return call(layer, *args, **kwargs)
            finally:
                layers.stack.pop()
        self.owner.__call__ = named_call
        return self

    def __exit__(self, *_):
        self.owner.__call__ = self.call

    def current(self):
        path = "/".join(self.stack)
        if path not in self.names:
            self.names.append(path)
        return self.names.index(path)


class Recorder:
    """Writes down every operation that the eager runtime executes, and every value that Python reads."""

    def __init__(self, layers, variables):
        """`variables`: {kind of storage: variables}, of the model and its optimizer."""
        self.layers = layers
        self.kinds_of_variables = [(kind, v) for kind, group in variables.items() for v in group]
        self.ops, self.tensors, self.kinds = [], [], []
        self.kept = []         # tensors, so that no address is used twice
        self.storage_at = {}   # address -> storage
        self.value_at = {}     # (address, type, sizes) -> tensor of the file: its newest content
        self.variable_of = {}  # handle -> tensor of the file
        self.forward = {}      # operation -> [(inputs, outputs, sequence number, layer)], not yet differentiated
        self.phase, self.node = "forward", None
        self.sequence = 0
        self.busy = False

    # ------------------------------------------------------------ memory

    def storage(self, kind):
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def define(self, tensor, storage):
        """A new tensor of the file: the memory has new content."""
        self.tensors.append([TYPES[tensor.dtype.name], list(tensor.shape), None, storage])
        return len(self.tensors) - 1

    def keep(self, tensor, kind):
        """What lies in the memory of a tensor of the program; `kind` is that of memory nobody has seen."""
        self.kept.append(tensor)
        place = address(tensor) if tensor.shape.num_elements() else ("empty", id(tensor))
        if place not in self.storage_at:
            self.storage_at[place] = self.storage(kind)
        key = place, tensor.dtype, tuple(tensor.shape)
        if key not in self.value_at:
            self.value_at[key] = self.define(tensor, self.storage_at[place])
        return self.value_at[key]

    def is_known(self, tensor):
        return tensor.shape.num_elements() and address(tensor) in self.storage_at

    def on_host(self, number):
        return self.kinds[self.tensors[number][3]] == "host"

    def read_variables(self):
        """Where the variables lie now."""
        for kind, variable in self.kinds_of_variables:
            value = variable._read_variable_op(no_copy=True)
            self.kept.append(value)
            handle = variable.handle._id
            if handle not in self.variable_of:
                self.variable_of[handle] = self.define(value, self.storage(kind))
            number = self.variable_of[handle]
            self.storage_at[address(value)] = self.tensors[number][3]
            self.value_at[address(value), value.dtype, tuple(value.shape)] = number

    def find_copied(self, tensor):
        """The runtime copies a table that was gathered from when it reads it: the copy is the variable's value."""
        if self.is_known(tensor) or tensor.shape.rank < 2 or not np.any(memoryview(tensor)):
            return
        for _, variable in self.kinds_of_variables:
            value = variable._read_variable_op(no_copy=True)
            if value.dtype == tensor.dtype and np.array_equal(memoryview(value), memoryview(tensor)):
                return self.keep_variable(tensor, self.variable_of[variable.handle._id])

    # ------------------------------------------------------------ rows

    def argument(self, tensor):
        if is_resource(tensor):
            number = self.variable_of.get(tensor._id)
            return None if number is None else {"t": number}
        if not self.is_known(tensor):
            if tensor.dtype == tf.float32 and tensor.shape.rank and self.sequence >= 0:
                self.read_variables()  # The runtime reads variables without a word to callbacks.
                self.find_copied(tensor)
            if not self.is_known(tensor):
                return self.constant(tensor)
        number = self.keep(tensor, "input")
        if self.kinds[self.tensors[number][3]] in ("parameter", "buffer", "state") and number not in self.was_read:
            self.was_read.add(number)
            self.row(READ, [{"t": number}], [number])
        return {"t": number}

    def constant(self, tensor):
        """Numbers that Python hands over stand in the row; what is larger is an input of the step."""
        if (tensor.shape.rank == 0 or tensor.dtype == tf.int32) and tensor.shape.num_elements() <= SMALL:
            numbers = np.asarray(memoryview(tensor))
            return plain(numbers.item() if numbers.ndim == 0 else numbers.ravel().tolist())
        return {"t": self.keep(tensor, "host" if tensor.dtype == tf.int32 else "input")}

    def row(self, name, args, out):
        where = {"phase": self.phase, "module": self.layers.current()}
        if self.node:
            where["module"], where["seq"] = self.node
        self.ops.append({"op": name, **where, "args": args, "out": out})
        return self.ops[-1]

    def grouped(self, definition, attributes, inputs):
        """The inputs by argument of the definition: lists of tensors are one argument."""
        out, rest = [], [self.argument(t) for t in inputs]
        for argument in definition.input_arg:
            if argument.number_attr or argument.type_list_attr:
                taken = len(attributes.get(argument.type_list_attr, ())) if argument.type_list_attr else (
                    len(rest) - (len(definition.input_arg) - len(out) - 1))
                listed, rest = rest[:taken], rest[taken:]
                tensors = [v["t"] for v in listed if isinstance(v, dict)]
                out.append({"tl": tensors} if len(tensors) == len(listed) else
                           [v for v in listed if not isinstance(v, dict)] if not tensors else
                           {"tl": tensors})
            else:
                out.append(rest.pop(0))
        return out

    def makes_host(self, name, args, outputs):
        if name in HOST_RESULTS:
            return True
        numbers = [t for a in args if isinstance(a, dict) for t in a.get("tl", [a.get("t")])]
        return all(self.on_host(t) for t in numbers) and all(o.dtype in (tf.int32, tf.bool) for o in outputs)

    def note(self, name, inputs, attributes, outputs, op_name=None, graph=None):
        """The callback of the runtime."""
        if self.busy or graph is not None:
            return
        self.busy = True
        try:
            name = plain(name)
            definition = op_def_registry.get(name)
            if definition is None:
                raise CannotRecord(f"{name}: found a function, expected eager operations alone")
            known = dict(zip(attributes[::2], attributes[1::2])) if attributes else {}
            self.write(name, definition, known, inputs, outputs)
        finally:
            self.busy = False

    def write(self, name, definition, attributes, inputs, outputs):
        args = self.grouped(definition, attributes, inputs)
        for attribute in definition.attr:
            kind = attribute.type
            counts = any(a.number_attr == attribute.name for a in definition.input_arg)
            if kind in ("type", "list(type)", "func") or counts:
                continue
            given = attributes.get(attribute.name)
            args.append(default_of(attribute) if given is None else plain(given))
        if name in WRITES:
            return self.write_variables(name, args, inputs)
        if name == READ:
            self.was_read.add(args[0]["t"])
            self.keep_variable(outputs[0], args[0]["t"])
            return self.row(READ, args[:1], [args[0]["t"]])
        kind = "host" if self.makes_host(name, args, outputs) else "activation"
        row = self.row(name, args, [self.keep(t, kind) for t in outputs if not is_resource(t)])
        if self.phase == "forward":
            row["seq"] = self.sequence
            self.forward.setdefault(name, []).append((inputs, outputs, self.sequence, row["module"]))
            self.sequence += 1

    def keep_variable(self, tensor, number):
        self.kept.append(tensor)
        self.storage_at[address(tensor)] = self.tensors[number][3]
        self.value_at[address(tensor), tensor.dtype, tuple(tensor.shape)] = number

    def write_variables(self, name, args, inputs):
        written = []
        for at in WRITES[name]:
            number = args[at]["t"]
            self.tensors.append(list(self.tensors[number]))
            written.append(len(self.tensors) - 1)
            self.variable_of[inputs[at]._id] = written[-1]
            self.was_read.discard(number)
        self.row(name, args, written)

    def resolve(self, tensor):
        """Python reads the value of a tensor that the step has made."""
        if not self.busy and not is_resource(tensor) and self.is_known(tensor):
            self.row(RESOLVE, [{"t": self.keep(tensor, "input")}], [])

    # ------------------------------------------------------------ one step

    def find_forward(self, name, inputs, outputs):
        """The forward operation whose gradient is asked for; the tape leaves out tensors that it need not keep."""
        def same(kept, given):
            return all(g is None or k is g or (not is_resource(k) and k._id == g._id) for k, g in zip(kept, given))
        rows = self.forward.get(name, [])
        for at in range(len(rows) - 1, -1, -1):
            if same(rows[at][0], inputs or ()) and same(rows[at][1], outputs or ()):
                return rows.pop(at)
        return None

    @contextlib.contextmanager
    def running(self):
        """Inside, everything is recorded."""
        self.was_read = set()
        self.read_variables()
        base = framework_ops._EagerTensorBase
        resolve, gradient = base._numpy, backprop._gradient_function

        def numpy(tensor):
            self.resolve(tensor)
            return resolve(tensor)

        def differentiate(name, attributes, count, inputs, outputs, *rest):
            found = self.find_forward(plain(name), inputs, outputs)
            self.node = (found[3], found[2]) if found else None
            try:
                return gradient(name, attributes, count, inputs, outputs, *rest)
            finally:
                self.node = None
        base._numpy = numpy
        pywrap_tfe.TFE_Py_RegisterGradientFunction(differentiate)
        op_callbacks.add_op_callback(self.note)
        try:
            yield self
        finally:
            op_callbacks.remove_op_callback(self.note)
            pywrap_tfe.TFE_Py_RegisterGradientFunction(gradient)
            base._numpy = resolve

    def mark_gradients(self, gradients):
        for gradient in gradients:
            values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
            if values is not None and self.is_known(values):
                self.kinds[self.storage_at[address(values)]] = "gradient"

    def result(self):
        """The recording, once the step is over; tensors and storages that no row names are left out."""
        used = {}
        for row in self.ops:
            for arg in (*row["args"], {"tl": row["out"]}):
                if isinstance(arg, dict):
                    for t in arg.get("tl", [arg.get("t")]):
                        used.setdefault(t, len(used))
        order = {s: at for at, s in enumerate(dict.fromkeys(self.tensors[t][3] for t in used))}
        following = {}  # Sums of gradients belong to the operation whose gradient they complete.
        for row in reversed(self.ops):
            if row["phase"] == "backward" and "seq" in row:
                following = {"seq": row["seq"], "module": row["module"]}
            elif row["phase"] == "backward":
                row.update(following)
        pairs = [{r["seq"] for r in self.ops if "seq" in r and (r["phase"] == "backward") == backward}
                 for backward in (False, True)]
        for row in self.ops:
            if row.get("seq") not in pairs[0] & pairs[1]:
                row.pop("seq", None)
            row["args"] = [{"t": used[a["t"]]} if isinstance(a, dict) and "t" in a else
                           {"tl": [used[t] for t in a["tl"]]} if isinstance(a, dict) else a for a in row["args"]]
            row["out"] = [used[t] for t in row["out"]]
        tensors = [[*self.tensors[t][:3], order[self.tensors[t][3]]] for t in used]
        return {"modules": self.layers.names, "storages": [self.kinds[s] for s in order], "tensors": tensors,
                "ops": self.ops}
