"""Windows that `switch` and `lines` leave out: dilated ones, of even length over time, and those as long in one dimension only."""
from ops_compute import conv_cases

TYPES = ("tf32", "fp16")

SPREAD = [(96, 56), (192, 28), (256, 28), (384, 14), (512, 14), (672, 14), (960, 7)]        # depthwise: channels, image
SPREAD_WINDOWS = [(3, 2), (3, 4), (5, 2)]                                                   # filter, dilation
ATROUS = [  # channels in, channels out, image, dilation
    (64, 64, 56, 2), (128, 128, 56, 2), (256, 256, 28, 2), (512, 512, 28, 2), (512, 512, 28, 4), (256, 256, 14, 2), (512, 512, 14, 2),
    (2048, 256, 28, 12), (2048, 256, 28, 24), (960, 256, 14, 12),
]
SPREAD_LINES = [  # channels in, channels out, groups, length, taps, dilation
    *((512, 512, 512, 2000, 3, 2 ** level) for level in range(8)),
    (256, 256, 1, 1024, 5, 2), (256, 256, 1, 1024, 5, 8), (256, 256, 1, 1024, 5, 32), (64, 64, 1, 4000, 3, 4), (128, 256, 1, 4000, 2, 16),
    (128, 256, 1, 4000, 2, 256), (256, 256, 1, 1024, 5, 1),
]
LONG_LINES = [  # channels in, channels out, length, taps
    (250, 250, 500, 7), (252, 252, 500, 7), (256, 256, 500, 7), (250, 2000, 500, 32), (256, 2048, 500, 32), (250, 250, 500, 32),
    (256, 256, 500, 32), (256, 256, 500, 16), (128, 128, 1000, 4), (512, 512, 500, 8), (100, 100, 1000, 9), (100, 100, 1000, 8),
    (2000, 2000, 500, 1), (250, 40, 500, 1), (80, 250, 1000, 48),
]
CAUSAL_LINES = [  # channels in, channels out, length, taps, dilation: the past alone, so that the result is longer
    *((256, 256, 1024, 5, 2 ** level) for level in range(6)),
    (64, 64, 4000, 3, 4), (64, 64, 4000, 3, 64), (128, 128, 2048, 2, 64), (512, 512, 512, 3, 4), (512, 512, 512, 3, 16),
]
LARGE_STEMS = [  # channels out, image, filter, stride: first layers of images larger than 224
    (32, 320, 6, 2), (32, 320, 3, 2), (64, 320, 7, 2), (64, 320, 3, 1), (96, 384, 4, 4), (48, 512, 3, 2), (64, 512, 7, 2), (32, 640, 3, 2),
]
STRIPES = [(12, 56), (24, 28), (48, 14), (96, 7), (64, 56), (192, 28), (384, 14)]           # depthwise: channels, image
STRIPE_TAPS = (7, 11)
DENSE_STRIPES = [(128, 128, 17), (160, 192, 17), (192, 192, 12), (384, 384, 8)]             # channels in, channels out, image


def spread():
    """Dilated layers of images."""
    layers = [(c, (c, 1, filter_, filter_), size, c, dilation) for c, size in SPREAD for filter_, dilation in SPREAD_WINDOWS]
    layers += [(c, (k, c, 3, 3), size, 1, dilation) for c, k, size, dilation in ATROUS]
    for c, weight, size, groups, dilation in layers:
        name = "depthwise" if groups > 1 else "conv2d"
        for batch in (16, 64):
            for dtype in TYPES:
                for nhwc in (False, True):
                    yield from conv_cases(name, (batch, c, size, size), weight, 1, dilation * (weight[2] // 2), groups, dtype, nhwc, dilation)


def spread_lines():
    """Dilated layers over time, and windows of even length."""
    layers = [(c, (k, c // groups, taps), length, dilation * (taps - 1) // 2, groups, dilation)
              for c, k, groups, length, taps, dilation in SPREAD_LINES]
    layers += [(c, (k, c, taps), length, taps // 2, 1, 1) for c, k, length, taps in LONG_LINES]
    for c, weight, length, padding, groups, dilation in layers:
        for batch in (8, 32):
            for dtype in TYPES:
                yield from conv_cases("conv1d", (batch, c, length), weight, 1, padding, groups, dtype, False, dilation)


def causal_lines():
    """Dilated layers over time at other batches."""
    for c, k, length, taps, dilation in CAUSAL_LINES:
        for batch in (4, 16, 64):
            for dtype in TYPES:
                yield from conv_cases("conv1d", (batch, c, length), (k, c, taps), 1, dilation * (taps - 1), 1, dtype, False, dilation)


def large_stems():
    for k, size, filter_, stride in LARGE_STEMS:
        padding = 0 if filter_ == stride else (filter_ - 1) // 2
        for batch in (8, 16, 32, 64):
            for dtype in TYPES:
                for nhwc in (False, True):
                    yield from conv_cases("conv2d", (batch, 3, size, size), (k, 3, filter_, filter_), stride, padding, 1, dtype, nhwc)


def stripes():
    """Windows of one row or one column."""
    layers = [(c, c, size, taps, c) for c, size in STRIPES for taps in STRIPE_TAPS]
    layers += [(c, k, size, 7, 1) for c, k, size in DENSE_STRIPES]
    for c, k, size, taps, groups in layers:
        name = "depthwise" if groups > 1 else "conv2d"
        for window in ((1, taps), (taps, 1)):
            padding = tuple(side // 2 for side in window)
            for dtype in TYPES:
                for nhwc in (False, True):
                    yield from conv_cases(name, (64, c, size, size), (k, c // groups, *window), 1, padding, groups, dtype, nhwc)
