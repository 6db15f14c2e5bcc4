"""Layers that `switch`, `lines` and `narrow` hold few of: images of an odd number of pixels, few channels a group, and an item a group;
depthwise layers of channels that are no multiple of four, and of wide windows."""
from ops_compute import typed_cases

ODD_IMAGES = [  # channels in, channels out, image: 1 x 1 layers, whose rows of FP16 are no multiples of 4 bytes
    (728, 728, 19), (256, 728, 37), (728, 1024, 10), (1024, 1536, 10), (1536, 2048, 10), (128, 256, 75), (64, 128, 75), (768, 192, 17),
    (192, 768, 17), (768, 768, 17), (512, 512, 33), (256, 256, 65), (304, 256, 33), (1024, 256, 19), (256, 1024, 19), (2048, 512, 10),
    (512, 2048, 9), (384, 1536, 9), (1536, 384, 9), (512, 512, 15), (288, 64, 35), (256, 48, 33),
]
ODD_BATCHES = (8, 24, 64, 128)
FEW_CHANNELS = [  # channels of a group, groups, image, filter
    (16, 24, 14, 1), (16, 48, 7, 1), (16, 24, 28, 1), (16, 12, 28, 1), (32, 16, 14, 1), (32, 4, 28, 1), (8, 32, 14, 1), (8, 16, 28, 1),
    (64, 4, 14, 1), (64, 8, 7, 1), (4, 32, 28, 1), (16, 64, 14, 1), (16, 8, 56, 1), (24, 2, 56, 3), (24, 5, 28, 3), (24, 14, 14, 3), (24, 37, 7, 3),
]
FEW_BATCHES = (16, 64, 128)
ITEMS = [(512, 8), (512, 16), (512, 32), (256, 32), (256, 64), (128, 64), (128, 128), (64, 128)]   # channels, image
ITEM_BATCHES = (4, 8, 32)
WIDER_ITEMS = [(512, 8), (512, 16), (256, 32), (128, 64), (64, 128)]   # channels, image before each side is doubled
DEPTHWISE_WIDTHS = (126, 127, 128, 190, 254, 255, 256, 382, 510, 512, 1020)   # those of gated networks are twice an odd number
DEPTHWISE_IMAGES = [(8, 128), (8, 64), (8, 32), (32, 32), (8, 16), (64, 14)]  # batch, image
WIDE_WIDTHS = (60, 120, 240, 384, 1024)   # channels of depthwise layers of wide windows
WIDE_IMAGES = [(64, 7), (32, 14), (32, 28), (16, 56)]  # batch, image
WIDE_WINDOWS = [(9, 1), (9, 2), (11, 1)]  # filter, stride


def odd_images():
    for c, k, size in ODD_IMAGES:
        for batch in ODD_BATCHES:
            orders = (False, True) if batch == 64 else (False,)
            yield from typed_cases("conv2d", (batch, c, size, size), (k, c, 1, 1), 1, 0, 1, orders)


def few_channels():
    for width, groups, size, filter_ in FEW_CHANNELS:
        c = width * groups
        for batch in FEW_BATCHES:
            yield from typed_cases("grouped", (batch, c, size, size), (c, width, filter_, filter_), 1, filter_ // 2, groups)


def items():
    """Every item of the batch has filters of its own, so that items are groups of one image (StyleGAN 2, dynamic convolutions)."""
    for c, size in ITEMS:
        for batch in ITEM_BATCHES:
            yield from typed_cases("grouped", (1, batch * c, size, size), (batch * c, c, 3, 3), 1, 1, batch, (False,))


def wider_items():
    """The same, transposed with a stride of two: the gradient of inputs is what such a network runs forward."""
    for c, size in WIDER_ITEMS:
        for batch in ITEM_BATCHES:
            yield from typed_cases("grouped", (1, batch * c, 2 * size + 1, 2 * size + 1), (batch * c, c, 3, 3), 2, 0, batch, (False,))


def odd_depthwise():
    for c in DEPTHWISE_WIDTHS:
        for batch, size in DEPTHWISE_IMAGES:
            yield from typed_cases("depthwise", (batch, c, size, size), (c, 1, 3, 3), 1, 1, c)


def wide_depthwise():
    for filter_, stride in WIDE_WINDOWS:
        for c in WIDE_WIDTHS:
            for batch, size in WIDE_IMAGES:
                yield from typed_cases("depthwise", (batch, c, size, size), (c, 1, filter_, filter_), stride, filter_ // 2, c)
