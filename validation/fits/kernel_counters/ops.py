"""Reads tables of single operators under Nsight Compute (bench/capture/reduce.py) and describes their
launches in the terms a trace would use, for kernel_features."""
import csv
import gzip
import json
import re
import subprocess
import tempfile

TYPES = {"fp32": "float", "tf32": "float", "fp16": "c10::Half", "bf16": "c10::BFloat16", "fp64": "double",
         "int64": "long int", "int32": "int", "uint8": "unsigned char", "bool": "bool"}


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


# Operators of other groups in other sizes (bench/capture/ops_channels.py).
CHANNELS = {"sum": "reduce", "add": "pointwise", "add_": "pointwise", "cat": "copy", "conv2d": "conv", "max_pool_3s2": "pool",
            "index_select": "index", "index": "index", "index_add": "index", "index_put": "index"}


def group_of(row):
    name = re.sub("_(backward|dgrad|wgrad)$", "", row["op"])
    return CHANNELS[name] if row["group"] == "channels" else row["group"]


def read_table(path):
    """Rows of a table; counters as numbers."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["group"] = group_of(row)
        for key in row:
            if "__" in key or key in ("regs", "smem_static", "smem_dynamic", "cluster"):
                row[key] = number(row[key])
        row["dims"] = [[int(n) for n in s.split("x")] for s in row["shapes"].split(";")
                       if re.fullmatch(r"\d+(x\d+)*", s)]
    return rows


def attribute(row, name, default=""):
    match = re.search(r"\b" + name + r"=([^;]*)", row["attrs"])
    return match.group(1) if match else default


def dense(dims):
    strides, step = [], 1
    for size in reversed(dims):
        strides.insert(0, step)
        step *= size
    return strides


def channels_last(dims):
    if len(dims) != 4:
        return dense(dims)
    _, c, h, w = dims
    return [c * h * w, 1, w * c, c]


def flip(dims):
    return dims[:-2] + [dims[-1], dims[-2]]


def gemm_call(row, dims, kind):
    layout = attribute(row, "layout", "tn")
    if row["op"] in ("dot", "mv") or len(dims) < 2:
        return "aten::" + row["op"], dims, [kind] * len(dims), []
    a, b = dims[:2]
    if row["op"] == "linear":
        return "aten::addmm", [[b[0]], a, flip(b)], [kind] * 3, []
    if layout == "tn":
        b = flip(b)
    if layout == "nt":
        a = flip(a)
    return "aten::" + row["op"], [a, b], [kind] * 2, []


def conv_call(row, dims, kind):
    x, w = dims[:2]
    option = {name: int(attribute(row, name, default)) for name, default in
              (("stride", "1"), ("padding", "1"), ("groups", "1"))}
    spatial = len(x) - 2
    out = [(x[2 + i] + 2 * option["padding"] - w[2 + i]) // option["stride"] + 1 for i in range(spatial)]
    many = lambda value: "[" + ", ".join([str(value)] * spatial) + "]"
    stride, padding, groups = many(option["stride"]), many(option["padding"]), str(option["groups"])
    if row["op"].endswith("grad"):
        return ("aten::convolution_backward", [[x[0], w[0]] + out, x, w], [kind] * 3,
                ["", "", "", "[0]", stride, padding, many(1), "False", many(0), groups, "[True, True, False]"])
    return ("aten::cudnn_convolution", [x, w], [kind] * 2,
            ["", "", padding, stride, many(1), groups, "False", "False", "True"])


def rnn_call(row, dims, kind):
    if "cell" in row["op"]:
        batch, hidden = dims[0]
        gates = 4 if row["op"].startswith("lstm") else 3
        return "aten::mm", [[batch, hidden], [hidden, gates * hidden]], [kind] * 2, []
    steps, batch, width = dims[0]
    hidden, layers = int(attribute(row, "hidden")), int(attribute(row, "layers", "1"))
    mode = 2 if row["op"].startswith("lstm") else 3 if row["op"].startswith("gru") else 1
    backward = row["op"].endswith("_backward")
    state = [layers, batch, hidden]
    arguments = [""] * (10 if backward else 6) + [str(mode)]
    return ("aten::_cudnn_rnn_backward" if backward else "aten::_cudnn_rnn",
            [dims[0], [], [], [], state], [kind, "", "", "", kind], arguments)


def attention_call(row, dims, kind):
    """Queries, keys and a mask as cuDNN's operation takes them; `heads` states rows before heads."""
    heads_last = row["group"].startswith("heads")
    q, k = [[d[0], d[2], d[1], d[3]] if heads_last else d for d in (dims[0], dims[1] if len(dims) > 1 else dims[0])]
    mask = dims[3] if heads_last and len(dims) > 3 else []
    backward = row["op"].endswith("_backward")
    tensors = [q, q, k, k, [], [], [], [], mask] if backward else [q, k, k, mask]
    kinds = [kind if tensor else "" for tensor in tensors]
    causal = attribute(row, "causal") in ("True", "1")
    arguments = [""] * (13 if backward else 9) + [str(float(attribute(row, "dropout", "0"))), str(causal)]
    name = "aten::_cudnn_attention_backward" if backward else "aten::_cudnn_attention_forward"
    return name, tensors, kinds, arguments


POOL_WINDOWS = {"max_pool_3s2": (3, 2), "max_pool_2s2": (2, 2), "avg_pool_2s2": (2, 2), "avg_pool_7": (7, 7)}
NORM_CALLS = {"batch_norm": "aten::cudnn_batch_norm", "batch_norm_eval": "aten::cudnn_batch_norm",
              "batch_norm_backward": "aten::cudnn_batch_norm_backward"}


def plain_call(row, dims, kind):
    """The arguments are the operator's tensors; backward operators get the gradient in front."""
    op = NORM_CALLS.get(row["op"], "aten::" + row["op"])
    if row["op"].startswith("cross_entropy"):
        op = "aten::_log_softmax"
    other = TYPES.get(attribute(row, "other"), kind)
    kinds = [kind] + ["float" if row["group"] == "norm" else other] * (len(dims) - 1)
    arguments = []
    if row["group"] in ("index", "embedding") and len(dims) > 1:
        kinds[1:] = ["long int"] * (len(dims) - 1)
    if row["op"] == "sparse_add_":  # adds the values of a sparse gradient to rows of a table
        return "aten::index_add_", [dims[0], dims[1][:1], dims[1]], [kind, "long int", kind], []
    if row["op"] in ("index_add", "index_put") and len(dims) == 2:  # the values: a row for every index
        dims, kinds = dims + [dims[1][:1] + dims[0][1:]], kinds + [kind]
    if row["group"] == "norm" and row["op"].endswith("backward"):
        dims, kinds = [dims[0]] + dims, [kind] + kinds
    if row["group"] == "softmax" and row["op"].endswith("backward"):
        dims, kinds = [dims[0]] + dims, [kind] + kinds
    if row["group"] == "pool":
        window = POOL_WINDOWS.get(row["op"].removesuffix("_backward"))
        if row["op"].endswith("_backward") and window:
            dims = [dims[0][:2] + [d // window[1] for d in dims[0][2:]]] + dims
            kinds = [kind] + kinds
        arguments = ["", f"[{window[0]}]", f"[{window[1]}]"] if window else []
    if row["group"] == "reduce":
        dim = {"channels": "0, 2, 3"}.get(attribute(row, "dim", "all"), attribute(row, "dim", "all"))
        arguments = ["", "[" + dim + "]" if re.fullmatch(r"-?\d(, \d)*", dim) else ""]
    if row["op"] == "global_avg_pool":
        op, arguments = "aten::mean", ["", "[2, 3]"]
    if row["group"] == "copy" and row["op"] == "cast":
        op, dims, kinds = "aten::copy_", [dims[0], dims[0]], [TYPES.get(attribute(row, "to"), kind), kind]
    return op, dims, kinds, arguments


def triton_call(row, dims, kind):
    """Generated kernels are given their inputs, then their result; rows reduce the last dimension, columns the
    first."""
    op, shape = row["op"].removeprefix("compiled_"), dims[0]
    out = shape[:1] if op == "row_sum" else shape[1:] if op.startswith(("column", "channel_mean")) else shape
    if op in ("channel_sums", "batch_norm_relu"):  # of which the first kernel sums
        out = shape[1:2]
    if op == "pixel_mean":
        out = shape[:2]
    result = "float" if op in ("cast", "channel_mean_var") else kind
    return "triton_" + op, dims + [out], [kind] * len(dims) + [result], []


CALLS = {"triton": triton_call, "gemm": gemm_call, "conv": conv_call, "depthwise": conv_call, "rnn": rnn_call,
         "attention": attention_call, "heads_counted": attention_call, "triton_layout": triton_call}


def permuted(dims, order):
    """A view: dimensions and strides of dense `dims` in another order."""
    strides = dense(dims)
    return [dims[i] for i in order], [strides[i] for i in order]


def windows(dims):
    """[n, h, w, c] in windows of 7 x 7."""
    n, h, w, c = dims
    return permuted([n, h // 7, 7, w // 7, 7, c], (0, 1, 3, 2, 4, 5))


def copied(view, kind):
    """A view made dense: copy_ names its destination first."""
    dims, strides = view
    return "aten::copy_", [dims, dims], [kind] * 2, [], [dense(dims), strides]


def layout_call(row, dims, kind):
    """Operators on permuted operands: what PyTorch calls for each of their kernels."""
    op, last = row["op"], (0, 2, 3, 1)
    copies = "direct_copy" in row["kernel"]
    if op == "copy_windows":
        return copied(windows(dims[0]), kind)
    if op == "copy_to_last" or (op.startswith("layer_norm") and copies):
        return copied(permuted(dims[0], last), kind)
    if op == "add":
        view, strides = permuted(dims[1], last)
        return "aten::add", [dims[0], view], [kind] * 2, [], [dense(dims[0]), strides]
    if op == "mul":
        view, strides = permuted(dims[1], (0, 3, 1, 2))
        return "aten::mul", [dims[0], view], [kind] * 2, [], [dense(dims[0]), strides]
    if op.startswith("layer_norm"):
        x = permuted(dims[0], last)[0]
        name = "aten::native_" + op
        return name, [x] * (2 if op.endswith("backward") else 1) + dims[1:], [kind] * 4, [], None
    if op == "max":
        return "aten::max", dims, [kind], ["", "[2]"], None
    if op.startswith("batch_norm"):
        return *plain_call(row | {"group": "norm"}, dims, kind), None
    if op.startswith(("conv1d", "depthwise")):
        attrs = row["attrs"] if op.startswith("depthwise") else "padding=0"
        name = op.replace("_backward", "_grad")
        return *conv_call(row | {"op": name, "attrs": attrs}, dims, kind), None
    return *plain_call(row, dims, kind), None


TORCH_TYPES = {"float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int", "bool": "bool",
               "int8": "signed char", "uint8": "unsigned char", "int32": "int", "float64": "double"}


def generated_call(row):
    """A generated kernel whose operands were noted when it was launched (bench/capture/ops_generated.py)."""
    operands = json.loads(row["operands"])
    return (row["kernel"], [dims for dims, _, _ in operands], [TORCH_TYPES[t] for _, _, t in operands], [],
            [strides for _, strides, _ in operands])


def call_of(row):
    if row.get("operands"):
        return generated_call(row)
    if row["group"] == "layout":
        return layout_call(row, row["dims"], TYPES.get(row["dtype"], "float"))
    return *shaped_call(row), None


def shaped_call(row):
    kind = TYPES.get(row["dtype"], "float")
    dims = row["dims"]
    if row["group"] in ("conv", "depthwise") and "transpose" in row["op"]:
        return "aten::unknown", dims, [kind] * len(dims), []
    call = CALLS.get(row["group"], plain_call)
    if call is not plain_call and not dims:
        call = plain_call
    return call(row, dims, kind)


def strides_of(row, dims):
    nhwc = attribute(row, "layout") == "nhwc"
    return [channels_last(d) if nhwc else dense(d) for d in dims]


def launch_line(key, row):
    op, dims, kinds, arguments, strides = call_of(row)
    geometry = row["grid"].split("x") + row["block"].split("x")
    geometry += [str(int(row["regs"])), str(int(row["smem_static"] + row["smem_dynamic"]))]
    cells = [str(key), row["kernel"], op, json.dumps(dims), json.dumps(kinds),
             json.dumps(strides or strides_of(row, dims)), json.dumps(arguments), " ".join(geometry),
             str(row["gpu__time_duration"] / 1e3)]
    return "\t".join(cells) + "\n"


def run_features(program, arguments):
    """Rows of kernel_features as dictionaries with numbers where possible."""
    text = subprocess.run([program] + arguments, capture_output=True, text=True, check=True).stdout
    rows = list(csv.DictReader(text.splitlines()))
    for row in rows:
        for key in row:
            if key not in ("key", "kind", "functor", "family", "fused"):
                row[key] = float(row[key])
    return rows


def features_of(rows, program):
    """Per row of a table: what the kernel model sees of the launch."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.writelines(launch_line(i, row) for i, row in enumerate(rows))
        file.flush()
        return run_features(program, ["--launches", file.name])
