"""Convolutions that the images of `switch` leave out: over time, and of groups that widen or have other windows than 3."""
from ops_compute import conv_cases

TYPES = ("tf32", "fp16")

LINES = [  # channels in, channels out, groups, length, taps, stride
    (1, 512, 1, 80000, 10, 5), (512, 512, 1, 15999, 3, 2), (512, 512, 1, 3999, 3, 2), (512, 512, 1, 999, 2, 2), (512, 512, 1, 499, 2, 2),
    (80, 384, 1, 3000, 3, 1), (384, 384, 1, 3000, 3, 2), (80, 768, 1, 3000, 3, 1), (768, 768, 1, 3000, 3, 2),
    (64, 64, 1, 4000, 3, 1), (128, 128, 1, 2000, 7, 1), (256, 256, 1, 1000, 5, 1), (32, 64, 1, 8000, 5, 2),
    (512, 1024, 1, 249, 1, 1), (512, 512, 1, 249, 1, 1), (256, 512, 1, 512, 1, 1), (1024, 2048, 1, 499, 1, 1),
    (768, 768, 16, 249, 128, 1), (1024, 1024, 16, 249, 128, 1), (768, 768, 16, 499, 128, 1), (512, 512, 16, 249, 128, 1),
    (768, 768, 16, 249, 19, 1), (768, 768, 16, 249, 31, 1), (512, 512, 8, 499, 64, 1), (512, 512, 4, 249, 9, 1), (256, 256, 8, 1000, 3, 1),
    (512, 512, 2, 499, 3, 1), (1024, 1024, 32, 249, 3, 1), (512, 1024, 4, 249, 1, 1),
    (512, 512, 512, 249, 31, 1), (256, 256, 256, 499, 15, 1), (144, 144, 144, 499, 31, 1), (1024, 1024, 1024, 249, 31, 1),
    (512, 512, 512, 999, 3, 1), (768, 768, 768, 512, 9, 1), (2048, 2048, 2048, 512, 4, 1), (1536, 1536, 1536, 1024, 4, 1),
]
LINE_BATCHES = (2, 8, 32)

WIDENED = [  # channels in, channels out of one of them, image, filter, stride
    (64, 2, 56, 7, 2), (128, 2, 28, 7, 2), (256, 2, 14, 7, 2), (64, 2, 56, 3, 2), (128, 2, 28, 3, 1), (192, 2, 14, 5, 1), (256, 4, 14, 3, 1),
    (96, 4, 28, 3, 2), (48, 6, 56, 3, 2), (384, 2, 14, 3, 2), (32, 2, 112, 3, 2), (512, 2, 7, 3, 1),
]
GROUPED = [  # groups, channels in and out of one, image, filter, stride
    (2, 48, 27, 5, 1), (2, 64, 28, 5, 1), (4, 32, 28, 5, 1), (8, 16, 28, 7, 1), (16, 8, 56, 5, 1), (32, 4, 56, 7, 2), (3, 64, 28, 7, 1),
    (2, 128, 14, 1, 1), (3, 80, 28, 1, 1), (4, 64, 28, 1, 1), (8, 48, 14, 1, 1), (8, 32, 56, 1, 1), (16, 24, 14, 1, 1), (32, 8, 28, 1, 1),
    (2, 96, 14, 3, 1), (2, 32, 56, 3, 1), (4, 128, 7, 3, 1), (2, 256, 14, 3, 2), (64, 4, 28, 3, 1), (128, 2, 28, 3, 1),
]
GROUP_BATCHES = (16, 64)

# As networks widen where they shrink: one channel a group in, two or four out, and few groups that widen or narrow.
WIDENING = [(c, multiple, size, filter_, stride)
            for c, size in ((32, 112), (48, 112), (64, 56), (80, 56), (96, 56), (128, 28), (160, 28), (192, 28), (256, 14), (320, 14),
                            (384, 14), (512, 7))
            for multiple, filter_, stride in ((2, 3, 2), (2, 7, 2), (2, 3, 1), (4, 3, 1), (2, 5, 2)) if size >= 7 * stride]
FEW_WIDENING = [  # groups, channels in, channels out, image
    (2, 32, 64, 112), (2, 48, 96, 56), (2, 64, 128, 56), (2, 96, 192, 28), (2, 128, 256, 28), (2, 128, 256, 56), (2, 256, 512, 14),
    (2, 256, 512, 28), (2, 512, 1024, 7), (2, 512, 1024, 14), (4, 64, 128, 56), (4, 128, 256, 28), (4, 256, 512, 14), (2, 256, 128, 28),
    (2, 128, 64, 56), (32, 256, 512, 14), (32, 128, 256, 28),
]


def lines():
    for channels, out, groups, length, taps, stride in LINES:
        for batch in LINE_BATCHES:
            for dtype in TYPES:
                yield from conv_cases("conv1d", (batch, channels, length), (out, channels // groups, taps), stride, taps // 2, groups,
                                      dtype, nhwc=False)


def grouped(layers):
    """`layers`: channels in, weight, image, stride, groups."""
    for channels, weight, size, stride, groups in layers:
        for batch in GROUP_BATCHES:
            for dtype in TYPES:
                for nhwc in (False, True):
                    yield from conv_cases("grouped", (batch, channels, size, size), weight, stride, weight[2] // 2, groups, dtype, nhwc)


def few_groups():
    widened = [(c, (c * m, 1, filter_, filter_), size, stride, c) for c, m, size, filter_, stride in WIDENED]
    wide = [(groups * width, (groups * width, width, filter_, filter_), size, stride, groups)
            for groups, width, size, filter_, stride in GROUPED]
    yield from grouped(widened + wide)


def widening():
    single = [(c, (c * multiple, 1, filter_, filter_), size, stride, c) for c, multiple, size, filter_, stride in WIDENING]
    few = [(c, (out, c // groups, 3, 3), size, 1, groups) for groups, c, out, size in FEW_WIDENING]
    yield from grouped(single + few)
