"""Layers that those of `switch` hold few of: first layers on three colours, layers of few channels, products with a thin side."""
from ops_compute import MATRIX_TYPES, batched_products, conv_cases, layer_products

TYPES = ("tf32", "fp16")

STEMS = [(channels, filter_, stride)
         for filter_, stride in ((3, 1), (3, 2), (5, 2), (7, 2), (7, 4), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32))
         for channels in (16, 24, 32, 48, 64, 96, 128, 192, 384) if channels >= 192 or filter_ < 8]
WIDE_STEMS = [(64, 11, 4), (96, 11, 4), (128, 11, 4), (192, 14, 14), (384, 14, 14)] + [
    (channels, size, size) for size in (8, 14, 16, 32) for channels in (768, 1024)]
STEM_BATCHES = (16, 64, 256)

NARROW = [  # channels in, channels out, filter
    (16, 64, 1), (64, 16, 1), (128, 16, 1), (32, 128, 1), (128, 32, 1), (256, 32, 1), (48, 192, 1), (256, 48, 1), (384, 64, 1),
    (8, 8, 1), (16, 16, 1), (24, 24, 1), (40, 240, 1), (240, 40, 1), (80, 20, 1), (48, 48, 1), (32, 32, 1), (512, 8, 1), (12, 72, 1),
    (8, 8, 3), (16, 16, 3), (24, 24, 3), (32, 32, 3), (48, 48, 3), (64, 64, 3), (16, 64, 3), (32, 128, 3), (64, 256, 3), (64, 32, 3),
    (96, 24, 3), (64, 3, 3), (32, 1, 3), (64, 2, 1), (256, 21, 1), (16, 16, 5), (32, 32, 5),
]
NARROW_SIZES = (14, 27, 56, 112)
NARROW_BATCHES = (16, 64)


def first_layers(layers):
    for channels, filter_, stride in layers:
        padding = 0 if filter_ == stride else filter_ // 2
        for batch in STEM_BATCHES:
            for dtype in TYPES:
                for nhwc in (False, True):
                    cases = conv_cases("conv2d", (batch, 3, 224, 224), (channels, 3, filter_, filter_), stride, padding, 1, dtype, nhwc)
                    yield from (case for case in cases if not case.op.endswith("dgrad"))  # nobody asks for the images' gradient


def stems():
    yield from first_layers(STEMS)


def wide_stems():
    yield from first_layers(WIDE_STEMS)


def few_channels(nhwc):
    for channels, out, filter_ in NARROW:
        for size in NARROW_SIZES:
            for batch in NARROW_BATCHES:
                for dtype in TYPES:
                    yield from conv_cases("conv2d", (batch, channels, size, size), (out, channels, filter_, filter_), 1, filter_ // 2, 1,
                                          dtype, nhwc)


def narrow():
    yield from few_channels(nhwc=False)


def narrow_nhwc():
    yield from few_channels(nhwc=True)


THIN_ROWS = (2048, 16384, 131072, 1048576)
THIN = [  # outputs, inner
    (1, 64), (1, 256), (1, 1024), (2, 256), (2, 768), (4, 4), (4, 64), (64, 4), (8, 8), (8, 64), (64, 8), (8, 512), (512, 8), (10, 512),
    (16, 16), (16, 128), (128, 16), (24, 24), (32, 32), (13, 512), (512, 13), (40, 256), (64, 64),
]
THIN_BATCHED = [(6272, 196, 4, 4), (3072, 64, 64, 4), (3072, 64, 4, 64), (384, 196, 196, 8), (384, 512, 8, 512), (8192, 16, 16, 16),
                (65536, 4, 4, 16), (2048, 27, 27, 16)]  # products, rows, columns, inner


def thin():
    for dtype in MATRIX_TYPES:
        for m in THIN_ROWS:
            for n, k in THIN:
                if m * max(n, k) <= 2 ** 27:
                    yield from layer_products(dtype, m, n, k)
        for product in THIN_BATCHED:
            yield from batched_products(dtype, *product)
