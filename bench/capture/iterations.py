"""What one iteration of a workload does, in each mode and precision."""
import contextlib

COMPILED = {"compile": None, "overhead": "reduce-overhead"}   # modes of torch.compile
# What a training loop may do besides: two batches to an update, gradients' norm bounded, activations computed again,
# one kernel an update, inputs copied from pinned memory.
LOOPS = ("accumulate", "clip", "checkpoint", "fused", "loader")
WHOLE = {"fp16w": "float16", "bf16w": "bfloat16"}   # precisions that model and inputs have themselves, without autocast


def synchronize():
    import torch
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def precision_context(precision, device):
    """A function that gives the autocast context of one iteration."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    if precision in ("fp32", "tf32", *WHOLE):
        return contextlib.nullcontext
    dtype = torch.bfloat16 if precision == "bf16" or device == "cpu" else torch.float16
    return lambda: torch.autocast(device, dtype=dtype)


def make_scaler():
    import torch
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()


def infer_step(load, autocast):
    import torch

    def step():
        with torch.no_grad(), autocast():
            return load.model(*load.inputs)
    return step


def clip_gradients(load, optimizer, scaler):
    import torch
    if scaler is not None:
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(load.model.parameters(), 1.0)


def input_source(load, loop):
    """A function that gives the inputs of one batch: those on the device, or copies of pinned ones."""
    if "loader" not in loop:
        return lambda: load.inputs
    device = load.inputs[0].device
    pinned = [x.cpu().pin_memory() if device.type == "cuda" else x for x in load.inputs]
    return lambda: [x.to(device, non_blocking=True) for x in pinned]


def train_step(load, optimizer, autocast, scaler, loop=()):
    inputs = input_source(load, loop)
    batches = 2 if "accumulate" in loop else 1
    unsummed = getattr(load.model, "no_sync", contextlib.nullcontext)   # ranks sum the gradients of the last batch's backward

    def step():
        optimizer.zero_grad(set_to_none=True)
        for batch in range(batches):
            with contextlib.nullcontext() if batch + 1 == batches else unsummed():
                with autocast():
                    loss = load.loss(load.model(*inputs()))
                if batches > 1:
                    loss = loss / batches
                (loss if scaler is None else scaler.scale(loss)).backward()
        if "clip" in loop:
            clip_gradients(load, optimizer, scaler)
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        return loss
    return step


def graph_step(body, clear):
    """Capture body() in a CUDA graph; clear() drops the gradients before a run of it."""
    import torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            clear()
            body()
    torch.cuda.current_stream().wait_stream(side)
    clear()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = body()

    def step():
        graph.replay()
        return result
    return step


def train_graph_step(spec, load, optimizer, autocast):
    """amp: forward and backward only (the gradient scaler reads the device back); else the whole step."""
    def body():
        with autocast():
            loss = load.loss(load.model(*load.inputs))
        loss.backward()
        if spec.precision != "amp":
            optimizer.step()
        return loss
    return graph_step(body, lambda: optimizer.zero_grad(set_to_none=True))


def loops_of(spec):
    return getattr(spec, "loop", None) or ()


def in_type(load, dtype):
    """The workload with model and inputs in a type of 16 bits."""
    load.model = load.model.to(dtype)
    load.inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in load.inputs)


def prepare_model(spec, load):
    import torch
    load.model.train(spec.task == "train")
    if spec.precision in WHOLE:
        in_type(load, getattr(torch, WHOLE[spec.precision]))
    load.prepare()
    if "checkpoint" in loops_of(spec):
        for module in load.model.modules():
            for switch in ("gradient_checkpointing_enable", "set_grad_checkpointing"):
                if hasattr(module, switch):
                    getattr(module, switch)()
    if spec.channels_last:
        load.model = load.model.to(memory_format=torch.channels_last)
        load.inputs = tuple(x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x
                            for x in load.inputs)


def make_step(spec, load, device):
    """The function that runs one iteration of the workload and returns its loss or output."""
    import torch
    prepare_model(spec, load)
    autocast = precision_context(spec.precision, device)
    optimizer = None
    if spec.task == "train":
        optimizer = load.make_optimizer(capturable=device == "cuda" and spec.mode == "cudagraph",
                                        fused="fused" in loops_of(spec))
    if spec.mode in COMPILED:
        load.model = torch.compile(load.model, mode=COMPILED[spec.mode])
    if spec.mode == "script":
        with torch.no_grad() if spec.task == "infer" else contextlib.nullcontext():
            load.model = torch.jit.trace(load.model, load.inputs, check_trace=False)
    if spec.mode == "cudagraph":
        if spec.task == "infer":
            return graph_step(infer_step(load, autocast), lambda: None)
        return train_graph_step(spec, load, optimizer, autocast)
    if spec.task == "infer":
        return infer_step(load, autocast)
    scaler = make_scaler() if spec.precision == "amp" and device == "cuda" else None
    return train_step(load, optimizer, autocast, scaler, loops_of(spec))


def with_item(step):
    """The same step, which then waits for one number of its result."""
    def step_and_read():
        result = step()
        result.reshape(-1)[0].item()
        return result
    return step_and_read


def build_step(spec, device):
    import workloads
    load = workloads.build(spec.model, spec.batch, device)
    step = make_step(spec, load, device)
    return (with_item(step) if spec.item else step), load.notes
