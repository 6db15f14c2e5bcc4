"""Writes configs/kernels/layers.csv, the measured layers, from a sweep of single operators.

    measured_layers.py times-warm-switch.csv.gz [MORE.csv.gz ...] [configs/kernels/layers.csv]

A row of the table is one pass of a layer, in FP32 (convolutions in TF32) and FP16: how the library ran it, microseconds of
all its kernels, and of those that turn images into another order. Rows are medians of three runs with warm caches.
"""
import collections
import csv
import gzip
import io
import math
import re
import sys

TURNS = re.compile("nchwToNhwc|nhwcToNchw|tensorTransform|genericTranspose|SliceC|AddPadding|convertTensor|[fF]olded")
HELPERS = re.compile("Memset|Memcpy|precompute|init_device|computeOffsets|splitKreduce|reduce_wgrad|reduce_kernel|ReduceSplit|"
                     "scalePackedTensor|scaleTensor|c1_k1_nhwc_reduce|post_execute|execute_helper")
PATHS = [  # the first that fits
    ("framework", re.compile("at::native.*depthwise")),
    ("direct", re.compile("depthwise|grouped_direct|2d_grouped|c1_k1|wgrad2d_shmem_tiling")),
    ("implicit", re.compile("tf32f32_(nhwc|nchw)|f16f16_f16f32_f32_(nhwc|nchw)|implicit_gemm_(indexed_|wo_smem_)*(tf32|f16|f32f32_tf32)|"
                            "tensorop.*(fprop|dgrad|wgrad)|image_first_layer")),
    ("product", re.compile("nvjet|xmma_gemm|tensorop_(f16_)?s\\w*gemm|s1688gemm|s16816gemm|gemm_f16|hgemm|sgemm_\\d|gemmSN|gemv")),
    ("lanes", re.compile("f32f32_f32f32|ffma|convolve|winograd|fft|scudnn|alg\\d|engine|pointwise_mult|cudnn::cnn")),
]
COLUMNS = ("dimensions", "order", "pass", "images", "in_channels", "out_channels", "groups", "side", "filter", "stride", "dilation",
           "fp32", "fp32_us", "fp32_turning_us", "fp16", "fp16_us", "fp16_turning_us")
PASSES = {"": "forward", "dgrad": "input_gradient", "wgrad": "weight_gradient"}


def path_of(name):
    return next((path for path, pattern in PATHS if pattern.search(name)), "implicit")


def read(path):
    """(order, pass, images, in, out, groups, side, filter, stride, dilation) -> type -> [(kernel, us)]

    Sizes of lines are (n,), filters of images that are no square (n, m)."""
    layers = collections.defaultdict(lambda: collections.defaultdict(list))
    with gzip.open(path, "rb") as file:
        for row in csv.DictReader(io.TextIOWrapper(file)):
            name, _, backward = row["op"].partition("_")
            if name not in ("conv1d", "conv2d", "grouped", "depthwise") or row["dtype"] not in ("tf32", "fp16"):
                continue
            image, weight = ([int(n) for n in shape.split("x")] for shape in row["shapes"].split(";"))
            options = dict(part.split("=") for part in row["attrs"].split(";"))
            filter_ = weight[2] if len(image) == 3 or weight[2] == weight[3] else (weight[2], weight[3])
            sizes = (image[2], filter_, int(options["stride"]))
            if len(image) == 3:
                sizes = tuple((size,) for size in sizes)
            dilation = int(options.get("dilation", 1))
            key = (options["layout"], PASSES[backward], image[0], image[1], weight[0], int(options["groups"]), *sizes, dilation)
            layers[key][row["dtype"]].append((row["kernel"], float(row["trace_us"])))
    return layers


def choice(kernels):
    """[how, us, us of turning images]; how: path, "+turned" between transforms, "+apart" one group after the other"""
    main = [(us, name) for name, us in kernels if not TURNS.search(name) and not HELPERS.search(name)]
    turning = sum(us for name, us in kernels if TURNS.search(name))
    how = path_of(max(main)[1]) if main else "implicit"
    alike = [us for us, name in main if path_of(name) == how]
    if len(alike) > 2:
        how += "+apart"
    if turning > 0:
        how += "+turned"
    return [how, round(sum(us for _, us in kernels), 2), round(turning, 2)]


def squares_first(key):
    """Images before lines, and those with square filters before the others."""
    return isinstance(key[8], tuple), isinstance(key[7], tuple), key


def fields(key):
    """The first columns of a layer: sizes of lines as one number, filters of images that are no square as FIRSTxLAST."""
    order, pass_, images, into, out, groups, side, filter_, stride, dilation = key
    line = isinstance(stride, tuple)
    if line:
        (side,), (filter_,), (stride,) = side, filter_, stride
    elif isinstance(filter_, tuple):
        filter_ = "x".join(map(str, filter_))
    return [1 if line else 2, order, pass_, images, into, out, groups, side, filter_, stride, dilation]


def main(*paths):
    sweeps = [path for path in paths if path.endswith(".gz")]
    out = next((path for path in paths if not path.endswith(".gz")), "configs/kernels/layers.csv")
    layers = {}
    for sweep in sweeps:
        layers.update(read(sweep))  # a layer measured again counts as measured last
    rows = [[*fields(key), *choice(types["tf32"]), *choice(types["fp16"])]
            for key, types in sorted(layers.items(), key=lambda item: squares_first(item[0])) if len(types) == 2]
    with open(out, "w", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    print(len(rows), "layers,", collections.Counter(row[COLUMNS.index(t)] for row in rows for t in ("fp32", "fp16")).most_common())


if __name__ == "__main__":
    main(*sys.argv[1:])
