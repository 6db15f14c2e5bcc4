"""The operations of one step, as PyTorch's dispatcher hands them to the device."""
import contextlib
import math
import os
import traceback

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules import module as hooks
from torch.optim import optimizer as optimizers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import cuda
from conversions import Conversions
from forms import Masks

TYPES = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
         torch.complex64: "complex64"}
ACCUMULATE = "torch::autograd::AccumulateGrad"
NO_CONTENT = ("aten::empty", "aten::new_empty")
ATTENTION = ("aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_attention_math")
NO_KERNEL = ("prim::", "aten::resize_", "aten::set_", "aten::_sparse_coo_tensor", "aten::_coalesced_", "aten::_indices",
             "aten::_values", "aten::_nnz")


class CannotRecord(Exception):
    """The program does something that a recording cannot hold; the text says what and where."""


class HostMeetsDevice(CannotRecord):
    """An operation got tensors of the host beside those of the device: its program counts on a default device."""


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
    folders = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)
    programs = os.path.join(folders[1], "programs.py")
    for frame in reversed(traceback.extract_stack()):
        if frame.filename == programs or not frame.filename.startswith(folders):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    # Autograd and optimizers that this folder calls: the innermost line of PyTorch that says whose operation it is.
    for frame in reversed(traceback.extract_stack()):
        inside = frame.filename.removeprefix(folders[0])
        if inside != frame.filename and not inside.startswith(("_", "utils" + os.sep)):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return "unknown line"


def reason(name, operands, error):
    """Why an operation cannot be recorded, as an exception."""
    tensors = [t for t in operands if isinstance(t, torch.Tensor)]
    if not any(t.is_meta for t in tensors):
        return error
    if any(isinstance(o, torch.device) and o.type == "cpu" for o in operands):
        return CannotRecord(f"{name}: the program copies numbers of the device to the host; found at {user_line()}, expected "
                            "that they stay on the device, or single ones, which --reads VALUE answers")
    host = [list(t.shape) for t in tensors if not t.is_meta and t.dim() > 0]
    if host or not tensors[0].is_meta:
        return HostMeetsDevice(f"{name}: found a tensor of the host of sizes {host[0] if host else []} at {user_line()}, "
                               "expected all on one device")
    return CannotRecord(f"{name}: its result depends on values, or has no rule for sizes alone; found at {user_line()}\n"
                        f"{str(error).splitlines()[0]}")


@contextlib.contextmanager
def no_autocast():
    """Inside, autocast on a GPU is an error: without a GPU PyTorch ignores it, and FP32 would be recorded."""
    made = torch.autocast.__init__

    def make(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if enabled and device_type != "cpu":
            raise CannotRecord(f"autocast: found at {user_line()}, expected a program in FP32: tandem run --precision amp "
                               "or bf16 predicts autocast")
        made(self, device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
    torch.autocast.__init__ = make
    try:
        yield
    finally:
        torch.autocast.__init__ = made


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


def tensors_of(argument):
    """The tensors that an encoded argument names; lists may have gaps, as those of indices."""
    if isinstance(argument, list):
        return [t for part in argument for t in tensors_of(part)]
    return argument.get("tl") or [argument["t"]] if isinstance(argument, dict) else []


def keep_counters_on_host(optimizer):
    """Steps are counted on the host, also by an optimizer that made its counters under a default device."""
    for state in optimizer.state.values():
        count = state.get("step")
        group = optimizer.param_groups[0]
        if isinstance(count, torch.Tensor) and count.is_meta and not (group.get("capturable") or group.get("fused")):
            state["step"] = torch.zeros((), dtype=count.dtype, device="cpu")


# ---------------------------------------------------------------- one step

class Recorder(TorchDispatchMode):
    """Writes down every operation on the meta device that would launch a kernel."""

    def __init__(self, modules, reads, half=None):
        """`reads`: what the numbers that the program reads are taken to be, in its order; the last one stands for all
        further ones. `half`: the type of 16 bits that stands for FP32, if any does (forms.py)."""
        super().__init__()
        self.modules, self.reads, self.half = modules, list(reads or ()), half
        self.masks = Masks()
        self.ops, self.tensors, self.storages = [], [], []
        self.values = {}       # what memory holds, by storage, type, sizes, strides, offset -> tensor
        # A weak reference keeps an address from being used twice. A strong one would change what autograd
        # does: it adds gradients in place only where nobody else holds the memory.
        self.storage_ids = {}
        self.storage_count = 0
        self.living = {}       # storage -> weak references to what counts as it
        self.last_use = {}     # storage -> the last operation on it, and its tensor there
        self.held = []         # what outlives its last operation: tensor, operation after which it is gone
        self.fresh = set()     # storages without content yet
        self.calls = []        # operations made of others: [what cuda.CALLS holds, row]
        self.pending = {}      # storage -> row of a number that nothing has read yet
        self.module_of = {}    # autograd sequence number -> module of the forward operation
        self.optimizers = []
        self.in_optimizer = self.in_backward = False
        self.first = torch.autograd._get_sequence_nr()

    @contextlib.contextmanager
    def step(self):
        """Inside, what runs is the step that is recorded."""
        handles = [optimizers.register_optimizer_step_pre_hook(self.begin_optimizer),
                   optimizers.register_optimizer_step_post_hook(self.end_optimizer)]
        try:
            with Conversions(self.note_conversion), self.masks, self:
                yield
            with torch._C._DisableTorchDispatch():
                self.note_dropped()
        finally:
            for handle in handles:
                handle.remove()

    def begin_optimizer(self, optimizer, *_):
        self.optimizers.append(optimizer)
        self.in_optimizer = True
        keep_counters_on_host(optimizer)
        self.default = torch.device("cpu")
        self.default.__enter__()

    def end_optimizer(self, *_):
        self.in_optimizer = False
        self.default.__exit__(None, None, None)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name
        if name == "aten::_local_scalar_dense" and args[0].is_meta:
            return self.read(function, args)
        if name == "aten::_pack_padded_sequence":
            raise CannotRecord(f"{name}: how much work there is depends on the lengths of the sequences; found at "
                               f"{user_line()}, expected sequences of one length")
        inside = cuda.OPENED.get(name) or (cuda.is_composite(function) and function.decompose)
        if inside:
            with self:
                return inside(*args, **kwargs)
        try:
            out = cuda.RESULTS.get(name, function)(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            raise reason(name, tree_leaves((args, kwargs)), error) from error
        where = self.context(tree_leaves((args, kwargs)))
        if self.half and name == "aten::_to_copy" and self.is_between_types(args[0], out):
            self.convert(where, args[0], out)
        elif name.startswith(NO_CONTENT):
            self.fresh.update(self.key(t)[0] for t in tree_leaves(out) if t.is_meta)
        elif self.launches(function, args, kwargs, out):
            self.note(function, args, kwargs, out, where)
        return out

    def read(self, function, args):
        """The host reads a number that only the device would know."""
        if cuda.ANSWERS:
            answer = cuda.ANSWERS[-1]
        elif self.reads:
            answer = self.reads.pop(0) if len(self.reads) > 1 else self.reads[0]
        else:
            raise CannotRecord("aten::_local_scalar_dense: the program reads a number of the device; found at "
                               f"{user_line()}\n--reads VALUE goes on as if that number were VALUE")
        self.note(function, args, {}, None, self.context(args))
        return torch.tensor(answer, dtype=args[0].dtype).item()

    def launches(self, function, args, kwargs, out):
        """Not on the host, no view, no memory without content."""
        tensors = [t for t in tree_leaves((args, kwargs, out)) if isinstance(t, torch.Tensor)]
        schema = function._schema
        if not any(t.is_meta for t in tensors) or schema.name.startswith(NO_KERNEL):
            return False
        if schema.is_mutable:
            return torch.Tag.inplace_view not in function.tags
        if any(out is t for t in tensors[:-1]):
            return False
        made = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and not t.is_sparse]
        read = {self.address(t) for t in tree_leaves((args, kwargs))
                if isinstance(t, torch.Tensor) and not t.is_sparse}
        return not made or any(self.address(t) not in read for t in made)

    @staticmethod
    def address(tensor):
        return tensor.untyped_storage()._cdata

    # What a tensor of the program is in the file.

    def recorded_type(self, dtype):
        return torch.float32 if dtype is not None and dtype == self.half else dtype

    def is_between_types(self, source, result):
        return (source.is_meta and result.is_meta and source.dtype != result.dtype
                and self.recorded_type(source.dtype) == self.recorded_type(result.dtype) == torch.float32)

    def convert(self, where, source, result):
        """Between 16 bits and FP32: what is recorded has one type, so the result is what is converted."""
        with torch._C._DisableTorchDispatch():
            if where["phase"] == "forward":
                self.emit(where, "aten::to", [source, torch.float32, False, False, None], [])
            self.use(source)
            self.share(result, source)

    def key(self, tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in self.storage_ids:
            self.remember(storage, self.storage_count)
            self.storage_count += 1
        number = self.storage_ids[storage._cdata][0]
        return number, self.recorded_type(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.storage_offset()

    def define(self, tensor):
        """A new tensor of the file: the memory has new content."""
        if tensor.is_sparse:
            return self.define(tensor._values())
        if tensor.dtype in (torch.complex128, torch.complex32):
            raise CannotRecord(f"found a tensor of {tensor.dtype} at {user_line()}, expected real numbers or complex64: networks "
                               "hold no others")
        if self.recorded_type(tensor.dtype) in (torch.float16, torch.bfloat16):
            raise CannotRecord(f"found a tensor of {tensor.dtype} at {user_line()}, expected FP32: networks are recorded in it, "
                               "and tandem run --precision predicts the others")
        key = self.key(tensor)
        dims, strides = list(key[2]), list(key[3])
        kept = None if is_contiguous(dims, strides) else strides
        self.tensors.append([type_name(key[1]), dims, kept, key[0]])
        self.values[key] = len(self.tensors) - 1
        return self.values[key]

    def use(self, tensor):
        if tensor.is_sparse:
            return self.use(tensor._values())
        if self.key(tensor)[0] in self.pending:
            self.emit(*self.pending.pop(self.key(tensor)[0]))
        number = self.values.get(self.key(tensor))
        return self.define(tensor) if number is None else number

    def encode(self, value):
        """An argument as JSON."""
        if isinstance(value, torch.Tensor):
            if not value.is_meta:
                return self.encode(value.item()) if value.dim() == 0 else None
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
        return type_name(self.recorded_type(value)) if isinstance(value, torch.dtype) else str(value)

    # Rows.

    def note(self, function, args, kwargs, out, where):
        schema = function._schema
        filled = list(args) + [kwargs.get(a.name, a.default_value) for a in schema.arguments[len(args):]]
        results = list(out) if isinstance(out, (list, tuple)) else [out]
        if not schema.returns and schema.is_mutable:
            written = [v for a, v in zip(schema.arguments, filled) if a.alias_info and a.alias_info.is_write]
            results = tree_leaves(written)
        results = tree_leaves(results)
        with torch._C._DisableTorchDispatch():
            node = where.get("node", "")
            accumulates = cuda.accumulates(schema.name, node, args) and "aten::add_"
            in_place = cuda.IN_PLACE.get((node, schema.name)) or accumulates
            if in_place:
                self.share(results[0], args[0])
                self.emit(where, in_place, filled + cuda.IN_PLACE_EXTRA.get(in_place, []), results)
            elif schema.name == "aten::scalar_tensor":
                self.pending[self.key(results[0])[0]] = where, schema.name, filled, results
            elif schema.name == "aten::copy_" and filled[1].is_meta and self.key(filled[1])[0] in self.pending:
                # A number that is assigned to a slice is a tensor of the host on CUDA, so the slice is filled.
                number = self.pending[self.key(filled[1])[0]][2][0]
                self.emit(where, "aten::fill_", [filled[0], number], results)
            elif schema.name in cuda.RENAMED:
                cuda.RENAMED[schema.name](lambda *row: self.emit(where, *row), filled, results)
            else:
                self.emit(where, schema.name, filled, results)

    def note_conversion(self, tensor):
        """The program asks for FP32, which the tensor is in: a row that launches nothing."""
        with torch._C._DisableTorchDispatch():
            where = self.context([])
            if where["phase"] == "forward":
                self.emit(where, "aten::to", [tensor, tensor.dtype, False, False, None], [])

    def share(self, tensor, owner):
        """Let a tensor count as memory of its owner."""
        self.remember(tensor.untyped_storage(), self.key(owner)[0])

    def remember(self, storage, number):
        self.storage_ids[storage._cdata] = number, StorageWeakRef(storage)
        self.living.setdefault(number, []).append(self.storage_ids[storage._cdata][1])

    def emit(self, where, name, args, out):
        self.note_dropped()
        row = {"op": name, **where, **self.call_around(where), **self.asked_attention(name, where),
               "args": [self.encode(a) for a in args]}
        row["out"] = [self.define(t) if isinstance(t, torch.Tensor) and t.is_meta else None for t in out]
        self.ops.append(row)
        for t in tensors_of(row["args"]) + [t for t in row["out"] if t is not None]:
            self.last_use[self.tensors[t][3]] = len(self.ops) - 1, t

    def note_dropped(self):
        """Memory that a name or a frame of the program has held beyond the last operation on it."""
        latest = len(self.ops) - 1
        dropped = [number for number, references in self.living.items() if all(r.expired() for r in references)]
        for number in dropped:
            del self.living[number]
            used, tensor = self.last_use.get(number, (latest, None))
            if used < latest:
                self.held.append([tensor, latest])

    def call_around(self, where):
        """The number of the operation that this one is part of; its operands were made before."""
        if where["phase"] != "forward":
            return {}
        inner = {}
        for call in cuda.CALLS:
            known = next((at for at, (seen, _) in enumerate(self.calls) if seen is call), None)
            if known is None:
                asked = self.asked_attention(call[0], where)
                self.calls.append([call, {"op": call[0], **inner, **asked, "args": [self.encode(a) for a in call[1]]}])
                known = len(self.calls) - 1
            inner = {"call": known}
        return inner

    def asked_attention(self, name, where):
        """The number of the call of attention that an operation belongs to."""
        claimed = self.masks.claim() if name in ATTENTION and where["phase"] == "forward" else None
        return {} if claimed is None else {"attention": claimed}

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
        tracked = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in leaves)
        # A gradient is asked of it: the next forward pass of a step that adds up gradients has begun.
        if tracked:
            self.in_backward = False
        phase = "backward" if self.in_backward and not self.modules.stack else "forward"
        where = {"phase": phase, "module": self.modules.current()}
        if tracked:
            where["seq"] = torch.autograd._get_sequence_nr() - 1 - self.first
            self.module_of.setdefault(where["seq"], where["module"])
        return where

    def result(self):
        """The recording, once the step is over."""
        kinds = {}
        for row in self.ops:
            written = {self.tensors[t][3] for t in row["out"] if t is not None}
            for t in tensors_of(row["args"]):
                storage = self.tensors[t][3]
                kinds.setdefault(storage, "activation" if storage in self.fresh & written else "input")
            for storage in written:
                kinds.setdefault(storage, "activation")

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
        order = {storage: at for at, storage in enumerate(dict.fromkeys(t[3] for t in self.tensors))}
        return {"calls": [row for _, row in self.calls], "modules": self.modules.names, "storages": [kinds.get(number, "activation") for number in order],
                "tensors": [[*tensor[:3], order[tensor[3]]] for tensor in self.tensors], "held": self.held, "ops": self.ops}
