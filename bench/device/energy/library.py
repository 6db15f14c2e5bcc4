"""Power of library kernels at steady state: GEMM, convolution and memory-bound operations.

  python3 library.py > library.csv

One row an operation: seconds and joule a call, useful FLOP and compulsory bytes. Random normal data unless the name
says zeros. NVML energy counter, slope between its first and last step after the settling time.
"""
import csv
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capture"))
from board import Board  # noqa: E402

SECONDS, SETTLE = 2.0, 0.5


def gemm(n, dtype, tf32=False, zeros=False, k=None):
    make = torch.zeros if zeros else torch.randn
    k = k or n
    a, b = make(n, k, device="cuda", dtype=dtype), make(k, n, device="cuda", dtype=dtype)
    out = torch.empty(n, n, device="cuda", dtype=dtype)

    def call():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.mm(a, b, out=out)
    return call, 2 * n * n * k, (n * n + 2 * n * k) * a.element_size()


def convolution(dtype, tf32):
    x = torch.randn(64, 256, 56, 56, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    w = torch.randn(256, 256, 3, 3, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)

    def call():
        torch.backends.cudnn.allow_tf32 = tf32
        torch.nn.functional.conv2d(x, w, padding=1)
    return call, 2 * 64 * 56 * 56 * 256 * 256 * 9, (2 * x.numel() + w.numel()) * x.element_size()


def linear(rows, outputs, inner, tf32):
    """A layer of a network: too short to reach the power limit by itself."""
    x, w = torch.randn(rows, inner, device="cuda"), torch.randn(outputs, inner, device="cuda")

    def call():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.nn.functional.linear(x, w)
    return call, 2 * rows * outputs * inner, (rows * inner + outputs * inner + rows * outputs) * 4


def small_convolution(channels, outputs, pixels):
    """LeNet-5's: few channels, many instructions for each FLOP."""
    images, kernel = 8192, 5
    x = torch.randn(images, channels, pixels, pixels, device="cuda")
    w = torch.randn(outputs, channels, kernel, kernel, device="cuda")
    result = pixels - kernel + 1
    flop = 2 * images * outputs * result ** 2 * channels * kernel ** 2

    def call():
        torch.backends.cudnn.allow_tf32 = True
        torch.nn.functional.conv2d(x, w)
    return call, flop, (x.numel() + images * outputs * result ** 2) * 4


def attention(backend, dtype, batch, length):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    heads, width = 12, 64
    q, k, v = (torch.randn(batch, heads, length, width, device="cuda", dtype=dtype) for _ in range(3))

    def call():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return call, 4 * batch * heads * length ** 2 * width, 4 * q.numel() * q.element_size()


def batch_normalization(dtype):
    x = torch.randn(32, 256, 56, 56, device="cuda", dtype=dtype)
    layer = torch.nn.BatchNorm2d(256).cuda().train()
    return (lambda: layer(x)), 0, 3 * x.numel() * x.element_size()


def elementwise(function, count, elements=1 << 28, dtype=torch.float32):
    x, y, out = (torch.randn(elements, device="cuda", dtype=dtype) for _ in range(3))
    return (lambda: function(x, y, out)), 0, count * elements * x.element_size()


def rows(function, dtype=torch.float32):
    x = torch.randn(1 << 17, 1024, device="cuda", dtype=dtype)
    return (lambda: function(x)), 0, 2 * x.numel() * x.element_size()


def operations():
    half, single = torch.float16, torch.float32
    yield "gemm_fp16", gemm(8192, half)
    yield "gemm_bf16", gemm(8192, torch.bfloat16)
    yield "gemm_fp16_zeros", gemm(8192, half, zeros=True)
    yield "gemm_fp16_2048", gemm(2048, half)
    yield "gemm_fp16_k256", gemm(4096, half, k=256)
    yield "gemm_fp16_k64", gemm(4096, half, k=64)
    yield "gemm_tf32_k256", gemm(4096, single, tf32=True, k=256)
    yield "gemm_tf32_k64", gemm(4096, single, tf32=True, k=64)
    yield "gemm_tf32", gemm(8192, single, tf32=True)
    yield "gemm_fp32", gemm(8192, single)
    yield "gemm_fp32_2048", gemm(2048, single)
    yield "conv_fp16", convolution(half, False)
    yield "conv_tf32", convolution(single, True)
    yield "linear_tf32_768", linear(2048, 768, 768, True)
    yield "linear_tf32_3072", linear(2048, 3072, 768, True)
    yield "linear_fp32_3072", linear(2048, 3072, 768, False)
    yield "conv_1_6", small_convolution(1, 6, 32)
    yield "conv_6_16", small_convolution(6, 16, 14)
    yield "attention_fp32", attention("EFFICIENT_ATTENTION", single, 16, 512)
    yield "attention_fp16", attention("CUDNN_ATTENTION", half, 16, 512)
    yield "flash_fp16", attention("FLASH_ATTENTION", half, 16, 512)
    yield "batch_norm_fp32", batch_normalization(single)
    yield "batch_norm_fp16", batch_normalization(half)
    yield "add_fp32", elementwise(lambda x, y, out: torch.add(x, y, out=out), 3)
    yield "relu_fp16", elementwise(lambda x, y, out: torch.relu(x), 2, dtype=half)
    yield "gelu_fp16", elementwise(lambda x, y, out: torch.nn.functional.gelu(x), 2, dtype=half)
    yield "dropout_fp16", elementwise(lambda x, y, out: torch.nn.functional.dropout(x, 0.1), 2, dtype=half)
    yield "copy_fp32", elementwise(lambda x, y, out: out.copy_(x), 2)
    yield "sum_fp32", elementwise(lambda x, y, out: x.sum(), 1)
    yield "add_l2_fp32", elementwise(lambda x, y, out: torch.add(x, y, out=out), 3, elements=1 << 21)
    yield "softmax_fp32", rows(lambda x: torch.softmax(x, 1))
    yield "layer_norm_fp16", rows(lambda x: torch.nn.functional.layer_norm(x, (1024,)), half)


def measure(call, board):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    chunk = max(1, int(0.02 / (time.perf_counter() - start)))
    events = [torch.cuda.Event() for _ in range(2)]
    start, calls, edges = time.perf_counter(), 0, []
    now = start
    while now - start < SECONDS:
        for _ in range(chunk):
            call()
        events[0].record()
        events[1].synchronize()
        events.reverse()
        calls += chunk
        now = time.perf_counter()
        joule = board.energy_j()
        if now - start > SETTLE and (not edges or joule != edges[-1][1]):
            edges.append((now, joule))
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / calls
    power = (edges[-1][1] - edges[1][1]) / (edges[-1][0] - edges[1][0])
    return seconds, power, board.power_w()


def main():
    board = Board()
    out = csv.writer(sys.stdout)
    out.writerow(["operation", "seconds", "power_w", "nvml_power_w", "flop", "bytes"])
    for name, (call, flop, size) in operations():
        seconds, power, nvml = measure(call, board)
        out.writerow([name, f"{seconds:.6g}", f"{power:.1f}", nvml, f"{flop:.6g}", f"{size:.6g}"])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
