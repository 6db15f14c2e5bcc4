"""Layers that make images and lines larger, those between them, first layers of small images and of many, groups as ResNeXt has them."""
from ops_compute import typed_cases

UPWARD = [  # channels in, channels out, image that comes out, filter, stride, padding: transposed, so that the gradient of inputs runs forward
    (1024, 512, 32, 2, 2, 0), (512, 256, 64, 2, 2, 0), (256, 128, 128, 2, 2, 0), (128, 64, 256, 2, 2, 0), (256, 256, 28, 2, 2, 0),
    (512, 256, 16, 4, 2, 1), (256, 128, 32, 4, 2, 1), (128, 64, 64, 4, 2, 1), (64, 3, 64, 4, 2, 1), (256, 256, 32, 4, 2, 1),
    (256, 256, 64, 4, 2, 1), (64, 1, 28, 4, 2, 1), (128, 64, 56, 3, 2, 1), (64, 32, 128, 3, 2, 1),
]
UPWARD_BATCHES = (8, 64)
WHOLE = [  # channels of an image that one window covers, channels out, side: transposed, the first layers of what makes images
    (512, 100, 4), (1024, 100, 4), (512, 128, 4), (1024, 256, 4), (512, 512, 4), (256, 64, 8), (256, 512, 8), (128, 16, 7), (128, 64, 7),
    (512, 4096, 7), (1024, 512, 2),
]
WHOLE_BATCHES = (16, 64, 256)
UPWARD_LINES = [  # channels in, channels out, length that comes out, taps, stride
    (512, 256, 256, 16, 8), (256, 128, 2048, 16, 8), (128, 64, 4096, 4, 2), (64, 32, 8192, 4, 2), (512, 256, 600, 16, 8),
    (256, 128, 3000, 10, 5), (128, 64, 12000, 8, 4), (64, 32, 24000, 4, 2), (1536, 768, 512, 16, 8), (768, 384, 4096, 16, 8),
    (384, 192, 8192, 8, 4), (192, 96, 16384, 4, 2), (768, 384, 1044, 8, 4), (384, 192, 4180, 8, 4), (192, 96, 16724, 8, 4),
    (96, 48, 16724, 8, 4), (48, 8, 66900, 8, 4), (48, 2, 66900, 8, 4), (32, 1, 32768, 8, 4), (64, 16, 8192, 4, 2),
]
BETWEEN = [(256, 1024), (128, 4096), (64, 8192), (32, 16384)]  # channels, length: the layers of vocoders that follow one another
BETWEEN_WINDOWS = [(3, 1), (7, 1), (11, 1), (3, 3), (7, 5), (11, 5)]  # taps, dilation
LINE_ENDS = [  # channels in, channels out, groups, length, taps, stride: first and last layers of lines, and what judges them
    (1, 32, 1, 16384, 7, 1), (32, 1, 1, 16384, 7, 1), (80, 512, 1, 256, 7, 1), (1, 64, 1, 16384, 15, 1), (1, 128, 1, 16384, 15, 1),
    (128, 128, 4, 8192, 41, 2), (128, 256, 16, 4096, 41, 2), (256, 512, 16, 2048, 41, 4), (512, 1024, 16, 512, 41, 4),
    (1024, 1024, 16, 128, 41, 1), (2, 48, 1, 66900, 8, 4), (48, 96, 1, 16724, 8, 4), (96, 192, 1, 4180, 8, 4),
]
LINE_BATCHES = (8, 32)
SMALL_STEMS = [  # channels in, image, channels out, filter, stride
    (1, 28, 32, 3, 1), (1, 28, 6, 5, 1), (1, 64, 64, 4, 2), (1, 128, 64, 3, 1), (1, 128, 64, 7, 2), (3, 32, 64, 3, 1), (3, 32, 16, 3, 1),
    (3, 32, 192, 4, 4), (3, 64, 64, 4, 2), (3, 64, 64, 3, 1), (3, 112, 64, 3, 1), (3, 128, 64, 7, 2), (4, 64, 320, 3, 1), (4, 32, 128, 3, 1),
]
SMALL_BATCHES = (64, 256, 1024)
MANY_PIXELS = [  # image, channels out, filter, stride, batches: first layers whose gradient of weights sums over very many pixels
    (320, 32, 6, 2, (72, 80, 84, 96, 128)), (640, 32, 6, 2, (16, 24)), (640, 32, 3, 2, (24, 64)), (224, 64, 7, 2, (160, 176, 512)),
    (224, 32, 3, 2, (512,)), (224, 64, 3, 1, (64, 128)),
]
MANY_GROUPS = [  # channels of a group, groups, image, stride
    (4, 32, 56, 1), (8, 32, 56, 2), (8, 32, 28, 1), (16, 32, 28, 2), (16, 32, 14, 1), (32, 32, 14, 2), (4, 64, 56, 1), (8, 64, 56, 2),
    (8, 64, 28, 1), (16, 64, 28, 2), (16, 64, 14, 1), (32, 64, 14, 2), (32, 64, 7, 1), (16, 32, 56, 2), (64, 32, 7, 1), (24, 10, 28, 1),
]
GROUP_BATCHES = (16, 32, 64)


def upward():
    for deep, wide, size, filter_, stride, padding in UPWARD:
        for batch in UPWARD_BATCHES:
            yield from typed_cases("conv2d", (batch, wide, size, size), (deep, wide, filter_, filter_), stride, padding, 1)


def whole_windows():
    for wide, deep, side in WHOLE:
        for batch in WHOLE_BATCHES:
            yield from typed_cases("conv2d", (batch, wide, side, side), (deep, wide, side, side), 1, 0, 1, (False,))


def upward_lines():
    for deep, wide, length, taps, stride in UPWARD_LINES:
        for batch in LINE_BATCHES:
            yield from typed_cases("conv1d", (batch, wide, length), (deep, wide, taps), stride, (taps - stride) // 2, 1, (False,))


def vocoder_lines():
    layers = [(c, c, 1, length, taps, 1, dilation) for c, length in BETWEEN for taps, dilation in BETWEEN_WINDOWS]
    layers += [(*layer, 1) for layer in LINE_ENDS]
    for c, k, groups, length, taps, stride, dilation in layers:
        padding = dilation * (taps - 1) // 2 if stride == 1 else taps // 2
        for batch in LINE_BATCHES:
            yield from typed_cases("conv1d", (batch, c, length), (k, c // groups, taps), stride, padding, groups, (False,), dilation)


def first_layer(channels, size, out, filter_, stride, batch):
    padding = 0 if filter_ == stride else (filter_ - 1) // 2
    cases = typed_cases("conv2d", (batch, channels, size, size), (out, channels, filter_, filter_), stride, padding, 1)
    yield from (case for case in cases if not case.op.endswith("dgrad"))  # nobody asks for the images' gradient


def small_stems():
    for layer in SMALL_STEMS:
        for batch in SMALL_BATCHES:
            yield from first_layer(*layer, batch)


def many_pixels():
    for size, out, filter_, stride, batches in MANY_PIXELS:
        for batch in batches:
            yield from first_layer(3, size, out, filter_, stride, batch)


def many_groups():
    for width, groups, size, stride in MANY_GROUPS:
        c = width * groups
        for batch in GROUP_BATCHES:
            yield from typed_cases("grouped", (batch, c, size, size), (c, width, 3, 3), stride, 1, groups)
