"""Which kernels the libraries choose: convolutions and products of many sizes at several batches, types and layouts."""
from ops_compute import batched_products, conv_cases, layer_products

BATCHES = (1, 8, 32, 128)
TYPES = ("tf32", "fp16")          # at every batch, in both layouts
OTHER_TYPES = ("fp32", "bf16")    # at one batch, images first
OTHER_BATCH = 32

DENSE = [  # channels in, channels out, image, filter, stride
    (64, 64, 56, 1, 1), (64, 256, 56, 1, 1), (256, 64, 56, 1, 1), (256, 128, 56, 1, 1), (128, 512, 28, 1, 1),
    (512, 128, 28, 1, 1), (256, 1024, 14, 1, 1), (1024, 256, 14, 1, 1), (512, 2048, 7, 1, 1), (2048, 512, 7, 1, 1),
    (256, 512, 56, 1, 2), (512, 1024, 28, 1, 2), (1024, 2048, 14, 1, 2),
    (64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (256, 256, 14, 3, 1), (512, 512, 7, 3, 1),
    (64, 128, 56, 3, 2), (128, 128, 56, 3, 2), (256, 256, 28, 3, 2), (512, 512, 14, 3, 2),
    (128, 128, 56, 3, 1), (256, 256, 28, 3, 1), (512, 512, 14, 3, 1), (1024, 1024, 7, 3, 1),
    (128, 32, 56, 3, 1), (128, 32, 28, 3, 1), (128, 32, 14, 3, 1), (128, 32, 7, 3, 1), (96, 128, 56, 1, 1),
    (352, 128, 28, 1, 1), (736, 128, 14, 1, 1), (928, 128, 7, 1, 1),
    (32, 16, 112, 1, 1), (16, 96, 112, 1, 1), (96, 24, 56, 1, 1), (24, 144, 56, 1, 1), (144, 32, 28, 1, 1),
    (32, 192, 28, 1, 1), (384, 64, 14, 1, 1), (64, 384, 14, 1, 1), (96, 576, 14, 1, 1), (960, 160, 7, 1, 1),
    (160, 960, 7, 1, 1), (320, 1280, 7, 1, 1), (72, 168, 56, 1, 2), (168, 168, 28, 1, 1), (408, 408, 14, 1, 1),
    (912, 912, 7, 1, 1), (160, 160, 28, 1, 1), (400, 400, 7, 1, 1),
    (64, 64, 128, 3, 1), (128, 128, 64, 3, 1), (256, 256, 32, 3, 1), (512, 512, 16, 3, 1), (1024, 512, 16, 3, 1),
    (320, 320, 32, 3, 1), (640, 640, 16, 3, 1), (1280, 1280, 8, 3, 1), (960, 320, 32, 3, 1), (3, 64, 128, 3, 1),
    (3, 64, 224, 7, 2), (3, 32, 224, 3, 2), (3, 96, 224, 4, 4), (3, 768, 224, 16, 16), (96, 192, 56, 2, 2),
    (64, 192, 55, 5, 1), (192, 384, 13, 3, 1), (64, 256, 27, 3, 1), (48, 192, 27, 3, 1),
]
GROUPED = [  # channels, channels of a group, image, stride
    (128, 4, 56, 1), (256, 4, 56, 2), (256, 8, 28, 1), (512, 16, 14, 1), (1024, 32, 7, 1),
    (32, 16, 112, 2), (64, 16, 56, 1), (64, 16, 56, 2), (160, 16, 28, 1), (160, 16, 28, 2), (400, 16, 14, 1),
    (72, 24, 56, 1), (168, 24, 28, 1), (168, 24, 56, 2), (408, 24, 14, 1), (912, 24, 7, 1),
    (96, 48, 56, 1), (192, 48, 28, 1), (432, 48, 14, 1), (1008, 48, 7, 1), (144, 8, 28, 1), (320, 8, 14, 1),
    (224, 112, 28, 1), (448, 112, 14, 1), (256, 64, 28, 1), (512, 64, 14, 1),
]
DEPTHWISE = [  # channels, image, filter, stride
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 5, 2), (240, 28, 5, 1), (480, 14, 3, 1),
    (672, 14, 5, 2), (1152, 7, 5, 1), (96, 56, 7, 1), (384, 14, 7, 1),
]
ROWS = (128, 512, 2048, 8192, 32768)
MATRICES = [  # outputs, inner
    (768, 768), (2304, 768), (3072, 768), (768, 3072), (1024, 1024), (4096, 1024), (1024, 4096), (2048, 2048),
    (8192, 2048), (384, 384), (1536, 384), (192, 192), (96, 384), (1000, 1280), (30522, 768), (512, 512),
]
BATCHED = [(96, 128, 128, 64), (384, 128, 128, 64), (384, 512, 512, 64), (384, 197, 197, 64), (3072, 49, 49, 32),
           (96, 512, 64, 512), (384, 128, 64, 128)]  # products, rows, columns, inner


# Between the layers above: few groups of any width, images of odd width, wide depthwise layers with a stride.
GRID_BATCHES = (16, 64, 256)
GRID_GROUPED = [(groups * width, width, size, stride)
                for width in (8, 16, 24, 32, 40, 48, 56, 64, 112) for groups in (2, 3, 5, 7, 14, 32)
                for size in (7, 14, 28, 56, 112) for stride in (1, 2)
                if 1300 <= groups * width * size <= 14000 and size >= 7 * stride]
GRID_DENSE = [(c, k, size, filter_, 1)
              for size in (5, 8, 12, 17, 25, 35, 54) for c, k in ((48, 64), (64, 96), (192, 192), (384, 384), (160, 960), (960, 160))
              for filter_ in (1, 3, 5) if 1300 <= c * size <= 14000]
GRID_DEPTHWISE = [(c, size, filter_, stride)
                  for c in (64, 128, 256, 512, 1024, 2048) for size in (7, 14, 28, 56, 112) for filter_ in (3, 5)
                  for stride in (1, 2) if 5000 <= c * size <= 30000 and size >= 7 * stride]

# Wide windows of depthwise layers, as ConvNeXt, EdgeNeXt, FastViT and ConvMixer have them, and those of 3 between the layers above.
WINDOW_BATCHES = (16, 64, 256)
WINDOWS = [(c, size, filter_, 1) for filter_ in (3, 5, 7, 9) for c in (48, 96, 192, 384, 768)
           for size in (7, 14, 28, 56) if 1300 <= c * size <= 12000]


def layers(dense, grouped, depthwise):
    """(name, weight, channels in, image, padding, stride, groups)"""
    for c, k, size, filter_, stride in dense:
        padding = 0 if filter_ in (1, stride) else filter_ // 2
        yield "conv2d", (k, c, filter_, filter_), c, size, padding, stride, 1
    for c, width, size, stride in grouped:
        yield "grouped", (c, width, 3, 3), c, size, 1, stride, c // width
    for c, size, filter_, stride in depthwise:
        yield "depthwise", (c, 1, filter_, filter_), c, size, filter_ // 2, stride, c


def grid():
    for name, weight, channels, size, padding, stride, groups in layers(GRID_DENSE, GRID_GROUPED, GRID_DEPTHWISE):
        for batch in GRID_BATCHES:
            for dtype in TYPES:
                yield from conv_cases(name, (batch, channels, size, size), weight, stride, padding, groups, dtype, False)


def windows():
    for name, weight, channels, size, padding, stride, groups in layers((), (), WINDOWS):
        for batch in WINDOW_BATCHES:
            for dtype in TYPES:
                for nhwc in (False, True) if batch == 64 else (False,):
                    yield from conv_cases(name, (batch, channels, size, size), weight, stride, padding, groups, dtype, nhwc)


def convolutions():
    for name, weight, channels, size, padding, stride, groups in layers(DENSE, GROUPED, DEPTHWISE):
        def cases(batch, dtype, nhwc):
            return conv_cases(name, (batch, channels, size, size), weight, stride, padding, groups, dtype, nhwc)
        for batch in BATCHES:
            for dtype in TYPES:
                yield from cases(batch, dtype, False)
                yield from cases(batch, dtype, True)
        for dtype in OTHER_TYPES:
            yield from cases(OTHER_BATCH, dtype, False)


def products():
    for dtype in ("fp32", "tf32", "fp16", "bf16"):
        for m in ROWS:
            for n, k in MATRICES:
                yield from layer_products(dtype, m, n, k)
        for product in BATCHED:
            yield from batched_products(dtype, *product)


def switch():
    yield from convolutions()
    yield from products()
