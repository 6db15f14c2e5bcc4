"""Where CUDA's dispatch differs from the one that a machine without a GPU takes.

Recordings run on meta tensors, which have sizes and no memory. Most operations below autograd are the
same on every device; these are not. REPLACED are composites that ask for the device: PyTorch is told
to take what a GPU would. RENAMED are operations whose kernels a profile shows under another name.
"""
import contextlib
import math

import torch

aten = torch.ops.aten
RELU, TANH, LSTM, GRU = range(4)  # cuDNN's numbers of the modes
KEPT = {RELU: 1, TANH: 1, LSTM: 5, GRU: 6}  # numbers an element that cuDNN keeps of a layer for its gradients
BIAS_ALIGNMENT = 16  # elements, of the last dimension of an attention mask


# ---------------------------------------------------------------- composites that ask for the device

# What runs around the operations that are recorded, with its arguments, where another precision has a kernel for
# the whole, or pieces.
CALLS = []


@contextlib.contextmanager
def call(name, arguments):
    """Inside, operations are part of this one."""
    CALLS.append([name, arguments])
    try:
        yield
    finally:
        CALLS.pop()[1] = ()  # whoever remembers the call does not hold what it was given


def attention(query, key, value, mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """FP32 attention: the only fused kernel that takes FP32 on CUDA is the memory-efficient one.

    It wants as many heads in keys as in queries, rows of whole 16 bytes and a mask whose columns lie side by side
    (T5's scores of places do not); products do the others.
    """
    plain = query.dim() == 4 and query.shape[1] == key.shape[1] == value.shape[1]
    plain = plain and (mask is None or mask.shape[-1] == 1 or mask.stride(-1) == 1)
    if not plain or any(x.shape[-1] % 4 or x.stride(-1) != 1 for x in (query, key, value)):
        arguments = (query, key, value, mask, dropout_p, is_causal, None)
        with call("aten::_scaled_dot_product_attention_math", [*arguments, scale, enable_gqa]):
            return aten._scaled_dot_product_attention_math(*arguments, scale=scale, enable_gqa=enable_gqa)[0]
    if mask is not None:
        mask = attention_bias(mask, query, key)
    saved = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
    return aten._scaled_dot_product_efficient_attention(query, key, value, mask, saved, dropout_p, is_causal,
                                                        scale=scale)[0]


def attention_bias(mask, query, key):
    """What the framework makes of a mask before the kernel gets it."""
    if mask.dtype == torch.bool:
        low = torch.scalar_tensor(float("-inf"), dtype=query.dtype, device=mask.device)
        mask = torch.where(mask, 0.0, low)
    short = -mask.shape[-1] % BIAS_ALIGNMENT
    if short:
        mask = torch.nn.functional.pad(mask, (0, short))[..., :mask.shape[-1]]
    return mask.expand(*query.shape[:3], key.shape[2])


def dropout(x, probability, train):
    if not train or probability == 0:
        return x
    return aten.native_dropout(x, probability, train)[0] if probability < 1 else x * 0


def batch_norm(x, weight, bias, mean, variance, training, momentum, epsilon, cudnn_enabled):
    """cuDNN wants weights and, unless it trains, statistics; other norms go to PyTorch's own kernels."""
    statistics = mean is not None and variance is not None
    if x.dim() > 2 and weight is not None and bias is not None and (statistics or (training and mean is None)):
        return aten.cudnn_batch_norm(x, weight, bias, mean, variance, training, momentum, epsilon)[0]
    return aten.native_batch_norm(x, weight, bias, mean, variance, training, momentum, epsilon)[0]


def linear(x, weight, bias=None):
    """Rows that are not contiguous are multiplied first; the bias is added in place."""
    if bias is None or x.dim() < 3 or x.is_contiguous():
        return aten.linear.default.decompose(x, weight, bias)
    return torch.matmul(x, weight.t()).add_(bias)


ANSWERS = []  # what numbers that the framework itself reads are taken to be, the innermost last


def cumprod_backward(grad, x, dim, out):
    """On a device the framework reads whether a factor is zero. Where none is, which is taken for granted here, the
    gradient is a sum; the other formula, which meta tensors get, has a product for each factor."""
    weighted = out * grad
    ANSWERS.append(0)
    try:
        aten._local_scalar_dense((x == 0).any())
    finally:
        ANSWERS.pop()
    return weighted.flip(dim).cumsum(dim).flip(dim).div(x)


def recurrent(mode):
    """nn.LSTM, nn.GRU and nn.RNN on cuDNN, which takes all layers and all steps at once."""
    def run(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
        hidden, cell = state if mode == LSTM else (state, None)
        width = hidden.shape[2] if cell is None else cell.shape[2]
        narrow = hidden.shape[2] if hidden.shape[2] != width else 0
        stride = (4 if has_biases else 2) + (narrow > 0)
        flat = x.new_empty(sum(w.numel() for w in weights))
        results = aten._cudnn_rnn(x, weights, stride, flat, hidden, cell, mode, width, narrow, layers, batch_first,
                                  dropout, train, bidirectional, [], None)
        return results[:3] if mode == LSTM else results[:2]
    return run


REPLACED = [
    ("lstm.input", "AutogradMeta", recurrent(LSTM)),
    ("gru.input", "AutogradMeta", recurrent(GRU)),
    ("rnn_tanh.input", "AutogradMeta", recurrent(TANH)),
    ("rnn_relu.input", "AutogradMeta", recurrent(RELU)),
    ("linear", "AutogradMeta", linear),
    ("scaled_dot_product_attention", "AutogradMeta", attention),
    ("dropout", "AutogradMeta", dropout),
    ("batch_norm", "AutogradMeta", batch_norm),
    ("cumprod_backward", "AutogradMeta", cumprod_backward),
]


# ---------------------------------------------------------------- operations that a recorder has to open

def native_attention(query, key, value, width, heads, qkv_weight, qkv_bias, weight, bias, mask=None,
                     need_weights=True, average=True, mask_type=None):
    """nn.MultiheadAttention without gradients, as CUDA runs it: by the fused kernel where nobody asks for weights."""
    batch, length, _ = query.shape
    arguments = [query, key, value, width, heads, qkv_weight, qkv_bias, weight, bias, mask, need_weights, average, mask_type]
    with call("aten::_native_multi_head_attention", arguments):
        if mask is not None or need_weights or width // heads % 8:
            return weighed_attention(query, heads, qkv_weight, qkv_bias, weight, bias, mask, need_weights and average, mask_type)
        parts = torch.nn.functional.linear(query, qkv_weight, qkv_bias).chunk(3, -1)
        parts = [part.view(batch, length, heads, width // heads).transpose(1, 2) for part in parts]
        mixed = torch.nn.functional.scaled_dot_product_attention(*parts)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return torch.nn.functional.linear(mixed, weight, bias), None


def weighed_attention(x, heads, qkv_weight, qkv_bias, weight, bias, mask, average, mask_type):
    """The same by products (aten/src/ATen/native/transformers/attention.cpp)."""
    batch, length, width = x.shape
    parts = aten._transform_bias_rescale_qkv(torch.matmul(x, qkv_weight.t()), qkv_bias, heads)
    query, key, value = (part.reshape(batch * heads, length, width // heads) for part in parts)
    scores = torch.bmm(query, key.transpose(1, 2)).view(batch, heads, length, length)
    weights = aten._softmax(scores, 3, False) if mask is None else aten._masked_softmax(scores, mask, 3, mask_type)
    mixed = torch.bmm(weights.view(batch * heads, length, length), value).view(batch, heads, length, width // heads)
    mixed = mixed.permute(0, 2, 1, 3).contiguous().view(batch * length, width)
    out = torch.addmm(bias, mixed, weight.t()).view(batch, length, width)
    return out, weights.sum(1).div_(heads) if average else weights


def transform_qkv(qkv, bias, heads):
    batch, length, width = qkv.shape
    return tuple(qkv.new_empty(3 * batch, heads, length, width // 3 // heads).split(batch))


def native_encoder_layer(x, width, heads, qkv_weight, qkv_bias, weight, bias, gelu, norm_first, epsilon, norm1_weight,
                         norm1_bias, norm2_weight, norm2_bias, weight1, bias1, weight2, bias2, mask=None, mask_type=None):
    """nn.TransformerEncoderLayer without gradients, as CUDA runs it: sums in place, the activation with the first product."""
    def attend(x):
        return native_attention(x, x, x, width, heads, qkv_weight, qkv_bias, weight, bias, mask, False, True, mask_type)[0]

    def feed_forward(x):
        inner = torch._addmm_activation(bias1, x.reshape(-1, width), weight1.t(), use_gelu=gelu)
        return torch.addmm(bias2, inner, weight2.t()).view(x.shape)

    def norm(x, weight, bias):
        return torch.nn.functional.layer_norm(x, (width,), weight, bias, epsilon)
    arguments = [x, width, heads, qkv_weight, qkv_bias, weight, bias, gelu, norm_first, epsilon, norm1_weight, norm1_bias,
                 norm2_weight, norm2_bias, weight1, bias1, weight2, bias2, mask, mask_type]
    with call("aten::_transformer_encoder_layer_fwd", arguments):
        if norm_first:
            attended = attend(norm(x, norm1_weight, norm1_bias)).add_(x)
            return feed_forward(norm(attended, norm2_weight, norm2_bias)).add_(attended)
        attended = norm(attend(x).add_(x), norm1_weight, norm1_bias)
        return norm(feed_forward(attended).add_(attended), norm2_weight, norm2_bias)


def safe_softmax(scores, dim, dtype=None):
    """Rows that a mask covers whole become zeros (aten/src/ATen/native/SoftMax.cpp)."""
    result = torch.softmax(scores, dim, dtype=dtype)
    covered = torch.all(torch.isneginf(scores), dim, keepdim=True)
    return torch.where(covered, torch.scalar_tensor(0.0, dtype=result.dtype, device=scores.device), result)


def is_infinite(x):
    return x.abs() == math.inf if x.is_floating_point() else torch.zeros_like(x, dtype=torch.bool)


# Below autograd composites arrive whole: inside an opened operation, and in inference mode.
OPENED = {"aten::_native_multi_head_attention": native_attention,
          "aten::_safe_softmax": safe_softmax,
          "aten::isinf": is_infinite,
          "aten::_transformer_encoder_layer_fwd": native_encoder_layer,
          **{f"aten::{name.partition('.')[0]}": function for name, _, function in REPLACED}}


def is_composite(function):
    """Whether devices have no kernel of their own for it: what the meta device opens they may not."""
    return function._can_decompose() and not torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CPU")


def channels_last(t):
    return t.dim() == 4 and not t.is_contiguous() and t.is_contiguous(memory_format=torch.channels_last)


def depthwise(x, groups):
    return groups > 1 and groups == x.shape[1]


def image_convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """cuDNN's result has the channels last where an operand has; the meta device's never."""
    result = aten.convolution.default(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if (transposed or not depthwise(x, groups)) and (channels_last(x) or channels_last(weight)):
        return torch.empty(result.shape, dtype=result.dtype, device=result.device, memory_format=torch.channels_last)
    return result


def convolution_backward(grad, x, weight, *rest):
    """The gradients have the layout of the operands, whatever that of the incoming gradient is."""
    results = list(aten.convolution_backward.default(grad, x, weight, *rest))
    last = channels_last(x) or channels_last(weight)
    if results[1] is not None and not last:
        results[1] = torch.empty(weight.shape, dtype=weight.dtype, device=weight.device)
    if results[0] is not None and last and not depthwise(x, groups=rest[-2]):
        results[0] = torch.empty(x.shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)
    return tuple(results)


def turned(x, batch_first):
    """Memory like x's; cuDNN works with the sequence first."""
    return x.transpose(0, 1).new_empty(x.transpose(0, 1).shape).transpose(0, 1) if batch_first else torch.empty_like(x)


def kept_of_steps(mode, elements, layers, dropout, directions):
    """Bytes that cuDNN keeps for the gradients, as models/ops/op_outputs.cpp has it: of each layer its gates, between
    layers the operand, and a bit for each element that dropout may take."""
    bits = elements * (layers - 1) * directions if dropout > 0 else 0
    return ((KEPT[mode] + 1) * layers - 1) * elements * 4 + bits // 8 + 256


def cudnn_rnn(x, weights, stride, flat, hidden, cell, mode, width, projection, layers, batch_first, dropout, train,
              bidirectional, sizes, dropout_state):
    directions = 2 if bidirectional else 1
    out = turned(x.new_empty([*x.shape[:2], (projection or width) * directions]), batch_first)
    reserve = kept_of_steps(mode, x.shape[0] * x.shape[1] * width * directions, layers, dropout, directions) if train else 0
    return (out, torch.empty_like(hidden), x.new_empty(0) if cell is None else torch.empty_like(cell),
            x.new_empty(reserve, dtype=torch.uint8), flat)


def cudnn_rnn_backward(x, weights, stride, flat, hidden, cell, out, grad, grad_hidden, grad_cell, mode, width,
                       projection, layers, batch_first, *rest):
    mask = rest[-1]
    gradients = torch.empty_like(flat).split([w.numel() for w in weights])
    return (turned(x, batch_first), torch.empty_like(hidden) if mask[1] else None,
            torch.empty_like(cell) if mask[2] and cell is not None else None,
            [g.view(w.shape) for g, w in zip(gradients, weights)])


def clone(x, *, memory_format=None):
    """Autograd takes over a sparse gradient that nobody else holds; a recorder would make it copy."""
    return x if x.is_sparse else aten.clone.default(x, memory_format=memory_format)


def add_sparse(x, other, *, alpha=1):
    """Nothing of the tensor changes but its values, and sparse gradients have no rule for sizes alone."""
    if isinstance(other, torch.Tensor) and other.is_sparse:
        return x
    return x.add_(other, alpha=alpha)


def filled(operation):
    """masked_fill whose value is a number in a tensor of the host, which CUDA takes and the meta device does not."""
    def run(x, mask, value):
        number = isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.dim() == 0
        return operation(x, mask, value.item() if number else value)
    return run


RESULTS = {
    "aten::_transform_bias_rescale_qkv": transform_qkv,
    "aten::_masked_softmax": lambda scores, *_: torch.empty_like(scores),
    "aten::masked_fill": filled(aten.masked_fill),
    "aten::masked_fill_": filled(aten.masked_fill_),
    "aten::convolution": image_convolution,
    "aten::convolution_backward": convolution_backward,
    "aten::_cudnn_rnn": cudnn_rnn,
    "aten::_cudnn_rnn_backward": cudnn_rnn_backward,
    "aten::clone": clone,
    "aten::add_": add_sparse,
}


def foreach_devices():
    """PyTorch's optimizers choose their list form on CUDA; here the meta device stands for it."""
    return ["cuda", "meta"]


def is_overridden(arguments):
    """As torch.overrides.has_torch_function, but for what watches the whole program: modules with a fast path for
    inference do not take it where something overrides their operations, as a default device and a recorder do."""
    return any(type(a) not in (torch.Tensor, torch.nn.Parameter) and hasattr(a, "__torch_function__") for a in arguments)


@contextlib.contextmanager
def dispatch():
    """Inside, operations on the meta device go the way of CUDA."""
    import torch.optim.optimizer as optimizer
    import torch.utils._foreach_utils as utilities
    import torch.utils.backend_registration as backends
    library = torch.library.Library("aten", "IMPL")
    for name, key, function in REPLACED:
        library.impl(name, function, key)
    saved = utilities._get_foreach_kernels_supported_devices
    for module in (utilities, optimizer):
        module._get_foreach_kernels_supported_devices = foreach_devices
    # Modules with a fast path for inference compare the device with names; the one of other backends is free.
    name, backends._privateuse1_backend_name = backends._privateuse1_backend_name, "meta"
    asked, torch.overrides.has_torch_function = torch.overrides.has_torch_function, is_overridden
    try:
        yield
    finally:
        torch.overrides.has_torch_function = asked
        for module in (utilities, optimizer):
            module._get_foreach_kernels_supported_devices = saved
        backends._privateuse1_backend_name = name
        library._destroy()


# ---------------------------------------------------------------- names of the kernels' operations

def convolution(emit, args, out):
    """aten::convolution as the operation that holds the kernels, and its bias as cuDNN's callers add it."""
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = args
    if not transposed and x.dim() == 4 and depthwise(x, groups) and weight.shape[0] % groups == 0:
        kernel = list(weight.shape[2:])
        return emit("aten::_conv_depthwise2d", [x, weight, kernel, bias, stride, padding, dilation], out)
    signal = x.dim() == 3
    if not (x.is_contiguous() or (channels_last(x) and not signal)):
        part, x = x, torch.empty(x.shape, dtype=x.dtype, device=x.device)
        emit("aten::clone", [part, torch.contiguous_format], [x])
    if signal:  # cuDNN has no signals, so they are images of one row, whose channels PyTorch keeps from being last.
        x, weight, out = x.unsqueeze(2), weight.unsqueeze(2), [out[0].unsqueeze(2)]
        stride, padding, dilation, output_padding = [1, *stride], [0, *padding], [1, *dilation], [0, *output_padding]
    cudnn = torch.backends.cudnn
    flags = [cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32]
    if transposed:
        name = "aten::cudnn_convolution_transpose"
        operands = [x, weight, padding, output_padding, stride, dilation, groups] + flags
    else:
        name = "aten::cudnn_convolution"
        operands = [x, weight, padding, stride, dilation, groups] + flags
    emit(name, operands, out)
    if bias is not None:
        with torch.no_grad():
            shaped = bias.reshape([1, -1] + [1] * (x.dim() - 2))
        emit("aten::add_", [out[0], shaped, 1], out)


def of_contiguous(name, places):
    """Reads the operands at these places contiguous: they are copied where they are not."""
    def run(emit, args, out):
        args = list(args)
        for at in places:
            if not args[at].is_contiguous():
                part, args[at] = args[at], torch.empty(args[at].shape, dtype=args[at].dtype, device=args[at].device)
                emit("aten::clone", [part, torch.contiguous_format], [args[at]])
        emit(name, args, out)
    return run


def add_in_place(emit, args, out):
    """A sparse gradient is added row by row."""
    owner, other, factor = args
    if isinstance(other, torch.Tensor) and other.is_sparse:
        rows = other._indices()[0]
        return emit("aten::index_add_", [owner, 0, rows, other._values(), factor], out)
    emit("aten::add_", args, out)


def plain_batch_norm(emit, args, out):
    emit("aten::native_batch_norm", args, out)


def pooling(name, at):
    """No stride means that of the kernel, which is the argument before it."""
    def run(emit, args, out):
        emit(name, [*args[:at], args[at] or args[at - 1], *args[at + 1:]], out)
    return run


RENAMED = {
    "aten::avg_pool2d": pooling("aten::avg_pool2d", 2),
    "aten::avg_pool2d_backward": pooling("aten::avg_pool2d_backward", 3),
    "aten::max_pool2d_with_indices": pooling("aten::max_pool2d_with_indices", 2),
    "aten::max_pool2d_with_indices_backward": pooling("aten::max_pool2d_with_indices_backward", 3),
    "aten::_native_batch_norm_legit": plain_batch_norm,
    "aten::convolution": convolution,
    "aten::native_layer_norm": of_contiguous("aten::native_layer_norm", (0,)),
    "aten::native_layer_norm_backward": of_contiguous("aten::native_layer_norm_backward", (0, 1)),
    "aten::add_": add_in_place,
}

# Autograd works in place unless something watches it, as a recorder does: (node, operation) -> what it
# calls otherwise.
IN_PLACE = {
    ("IndexBackward0", "aten::index_put"): "aten::_index_put_impl_",
    ("MaxBackward0", "aten::scatter"): "aten::scatter_",
    ("BinaryCrossEntropyWithLogitsBackward0", "aten::sub"): "aten::sub_",
    ("BinaryCrossEntropyWithLogitsBackward0", "aten::mul"): "aten::mul_",
}

IN_PLACE_EXTRA = {"aten::_index_put_impl_": [True]}  # its argument `unsafe`


def accumulates(name, node, args):
    """Autograd adds a second gradient to the first in place, if it alone holds that one: two holders are
    the tensor and the object that asks."""
    if name != "aten::add" or not node or not isinstance(args[1], torch.Tensor) or args[0].shape != args[1].shape:
        return False
    return torch._C._storage_Use_Count(args[0].untyped_storage()._cdata) == 2
