"""Networks of convolutions that no other list holds: gates before skipped images, pictures painted over, separable windows over time, a U
of sounds, judges of periods, clips by windows of three dimensions, noise taken away, pyramids of pooled places, pixels in order."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_libraries import towards
from networks_read import random_pictures
from workload import SGD, Workload, class_loss


def twice(into, out):
    return nn.Sequential(nn.Conv2d(into, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(True),
                         nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(True))


class Gate(nn.Module):
    """Weighs an image that skips layers by what comes from below."""

    def __init__(self, channels):
        super().__init__()
        inner = channels // 2
        self.below = nn.Sequential(nn.Conv2d(channels, inner, 1), nn.BatchNorm2d(inner))
        self.beside = nn.Sequential(nn.Conv2d(channels, inner, 1), nn.BatchNorm2d(inner))
        self.weigh = nn.Sequential(nn.Conv2d(inner, 1, 1), nn.BatchNorm2d(1), nn.Sigmoid())

    def forward(self, below, beside):
        return beside * self.weigh(F.relu(self.below(below) + self.beside(beside)))


class GatedU(nn.Module):
    """Attention U-Net."""

    def __init__(self, widths=(32, 64, 128, 256, 512)):
        super().__init__()
        self.down = nn.ModuleList(twice(into, out) for into, out in zip((3,) + widths, widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2) for wide, narrow in pairs)
        self.gates = nn.ModuleList(Gate(narrow) for _, narrow in pairs)
        self.joined = nn.ModuleList(twice(2 * narrow, narrow) for _, narrow in pairs)
        self.last = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skipped = []
        for block in self.down:
            x = block(F.max_pool2d(x, 2) if skipped else x)
            skipped.append(x)
        for up, gate, joined, beside in zip(self.up, self.gates, self.joined, skipped[-2::-1]):
            x = up(x)
            x = joined(torch.cat((gate(x, beside), x), 1))
        return self.last(x)


def gated_pictures(batch, device, size=192):
    return towards(GatedU(), (random_pictures(batch, device, size),), (batch, 1, size, size), SGD)


class Residue(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(channels, channels, 3), nn.InstanceNorm2d(channels), nn.ReLU(True),
                                    nn.ReflectionPad2d(1), nn.Conv2d(channels, channels, 3), nn.InstanceNorm2d(channels))

    def forward(self, x):
        return x + self.layers(x)


def painted_over(batch, device, size=128, width=64, blocks=6):
    """The generator of CycleGAN."""
    def step(layer, out):
        return [layer, nn.InstanceNorm2d(out), nn.ReLU(True)]
    layers = [nn.ReflectionPad2d(3), *step(nn.Conv2d(3, width, 7), width)]
    layers += step(nn.Conv2d(width, 2 * width, 3, 2, 1), 2 * width) + step(nn.Conv2d(2 * width, 4 * width, 3, 2, 1), 4 * width)
    layers += [Residue(4 * width) for _ in range(blocks)]
    layers += step(nn.ConvTranspose2d(4 * width, 2 * width, 3, 2, 1, 1), 2 * width)
    layers += step(nn.ConvTranspose2d(2 * width, width, 3, 2, 1, 1), width)
    layers += [nn.ReflectionPad2d(3), nn.Conv2d(width, 3, 7), nn.Tanh()]
    return towards(nn.Sequential(*layers), (random_pictures(batch, device, size),), (batch, 3, size, size))


class Separable(nn.Module):
    def __init__(self, into, out, taps, repeats=3):
        super().__init__()
        def one(a, b):
            return [nn.Conv1d(a, a, taps, padding=taps // 2, groups=a, bias=False), nn.Conv1d(a, b, 1, bias=False), nn.BatchNorm1d(b)]
        layers = []
        for i in range(repeats):
            layers += one(into if i == 0 else out, out) + ([nn.ReLU(True), nn.Dropout(0.1)] if i < repeats - 1 else [])
        self.layers = nn.Sequential(*layers)
        self.beside = nn.Sequential(nn.Conv1d(into, out, 1, bias=False), nn.BatchNorm1d(out))

    def forward(self, x):
        return F.relu(self.layers(x) + self.beside(x))


def separable_speech(batch, device, length=1000):
    """QuartzNet 5x3: depthwise windows of 33 to 75 over time, then characters."""
    blocks = [Separable(a, b, taps) for a, b, taps in ((256, 256, 33), (256, 256, 39), (256, 512, 51), (512, 512, 63), (512, 512, 75))]
    first = [nn.Conv1d(64, 64, 33, 2, 16, groups=64, bias=False), nn.Conv1d(64, 256, 1, bias=False), nn.BatchNorm1d(256), nn.ReLU(True)]
    last = [nn.Conv1d(512, 512, 87, padding=86, dilation=2, groups=512, bias=False), nn.Conv1d(512, 1024, 1, bias=False),
            nn.BatchNorm1d(1024), nn.ReLU(True), nn.Conv1d(1024, 29, 1)]
    sounds = torch.randn(batch, 64, length, device=device)
    return towards(nn.Sequential(*first, *blocks, *last), (sounds,), (batch, 29, length // 2))


class SoundU(nn.Module):
    """Wave-U-Net: windows of 15 down, of 5 up, every second sample left out."""

    def __init__(self, width=24, levels=8):
        super().__init__()
        sizes = [width * (i + 1) for i in range(levels)]
        def layer(a, b, taps):
            return nn.Sequential(nn.Conv1d(a, b, taps, padding=taps // 2), nn.BatchNorm1d(b), nn.LeakyReLU(0.1))
        self.down = nn.ModuleList(layer(a, b, 15) for a, b in zip([1] + sizes, sizes))
        self.middle = layer(sizes[-1], sizes[-1], 15)
        above = [sizes[-1]] + sizes[:0:-1]
        self.up = nn.ModuleList(layer(a + b, b, 5) for a, b in zip(above, sizes[::-1]))
        self.last = nn.Conv1d(width + 1, 1, 1)

    def forward(self, sound):
        x, skipped = sound, []
        for block in self.down:
            x = block(x)
            skipped.append(x)
            x = x[:, :, ::2]
        x = self.middle(x)
        for block, beside in zip(self.up, skipped[::-1]):
            x = block(torch.cat((F.interpolate(x, scale_factor=2, mode="linear", align_corners=True), beside), 1))
        return torch.tanh(self.last(torch.cat((x, sound), 1)))


def waves_apart(batch, device, length=16384):
    return towards(SoundU(), (torch.randn(batch, 1, length, device=device),), (batch, 1, length))


class OfPeriod(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        sizes = ((1, 32), (32, 128), (128, 512), (512, 1024))
        self.layers = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv2d(a, b, (5, 1), (3, 1), (2, 0))) for a, b in sizes)
        self.last = nn.Conv2d(1024, 1, (3, 1), padding=(1, 0))

    def forward(self, sound):
        batch, channels, length = sound.shape
        rest = -length % self.period
        x = F.pad(sound, (0, rest), "reflect").view(batch, channels, (length + rest) // self.period, self.period)
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
        return self.last(x).flatten(1)


class Judges(nn.Module):
    """The discriminators of HiFi-GAN that look at periods of a sound."""

    def __init__(self, periods=(2, 3, 5, 7, 11)):
        super().__init__()
        self.each = nn.ModuleList(map(OfPeriod, periods))

    def forward(self, sound):
        return torch.cat([judge(sound).mean(1, keepdim=True) for judge in self.each], 1)


def judged_sounds(batch, device, length=8192):
    return towards(Judges(), (torch.randn(batch, 1, length, device=device),), (batch, 5))


def classed_volumes(batch, device, frames=16, size=112):
    """C3D with batch norms: windows of 3 x 3 x 3, 101 actions."""
    layers, into = [], 3
    for repeats, out, pool in ((1, 64, (1, 2, 2)), (1, 128, 2), (2, 256, 2), (2, 512, 2), (2, 512, 2)):
        for _ in range(repeats):
            layers += [nn.Conv3d(into, out, 3, padding=1), nn.BatchNorm3d(out), nn.ReLU(True)]
            into = out
        layers.append(nn.MaxPool3d(pool, pool))
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * (frames // 16) * (size // 32) ** 2, 1024), nn.ReLU(True), nn.Dropout(0.5),
                          nn.Linear(1024, 101)).to(device)
    clips = torch.randn(batch, 3, frames, size, size, device=device)
    return Workload(model, (clips,), class_loss(torch.randint(0, 101, (batch,), device=device)), SGD)


class Cleaner(nn.Module):
    """DnCNN: the noise of a grey picture, taken from it."""

    def __init__(self, width=64, depth=17):
        super().__init__()
        layers = [nn.Conv2d(1, width, 3, padding=1), nn.ReLU(True)]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)]
        self.noise = nn.Sequential(*layers, nn.Conv2d(width, 1, 3, padding=1, bias=False))

    def forward(self, picture):
        return picture - self.noise(picture)


def cleaned(batch, device, size=64):
    return towards(Cleaner(), (torch.randn(batch, 1, size, size, device=device),), (batch, 1, size, size))


class Pyramid(nn.Module):
    """PSPNet on ResNet-50 with dilated last stages: places pooled to four sizes."""

    def __init__(self, classes=21, sizes=(1, 2, 3, 6)):
        super().__init__()
        import torchvision
        trunk = torchvision.models.resnet50(replace_stride_with_dilation=[False, True, True])
        self.trunk = nn.Sequential(*list(trunk.children())[:-2])
        def layer(a, b, taps):
            return nn.Sequential(nn.Conv2d(a, b, taps, padding=taps // 2, bias=False), nn.BatchNorm2d(b), nn.ReLU(True))
        self.sizes = sizes
        self.pooled = nn.ModuleList(layer(2048, 512, 1) for _ in sizes)
        self.joined = nn.Sequential(layer(2048 + 512 * len(sizes), 512, 3), nn.Dropout2d(0.1), nn.Conv2d(512, classes, 1))

    def forward(self, x):
        places = self.trunk(x)
        to = places.shape[-2:]
        wide = [F.interpolate(layer(F.adaptive_avg_pool2d(places, size)), to, mode="bilinear") for size, layer in zip(self.sizes, self.pooled)]
        return F.interpolate(self.joined(torch.cat([places] + wide, 1)), x.shape[-2:], mode="bilinear")


def pooled_places(batch, device, size=192):
    return towards(Pyramid(), (random_pictures(batch, device, size),), (batch, 21, size, size), SGD)


class Masked(nn.Conv2d):
    """Sees the pixels before its own."""

    def __init__(self, own, *args, **kwargs):
        super().__init__(*args, **kwargs)
        mask = torch.ones_like(self.weight)
        middle = self.kernel_size[0] // 2
        mask[:, :, middle, middle + own:] = 0
        mask[:, :, middle + 1:] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


class InOrder(nn.Module):
    """PixelCNN: residues of masked windows, 256 values of each of three colours."""

    def __init__(self, width=128, depth=8):
        super().__init__()
        self.first = Masked(0, 3, width, 7, padding=3)
        self.layers = nn.ModuleList(nn.Sequential(nn.ReLU(), nn.Conv2d(width, width // 2, 1), nn.ReLU(),
                                                  Masked(1, width // 2, width // 2, 3, padding=1), nn.ReLU(),
                                                  nn.Conv2d(width // 2, width, 1)) for _ in range(depth))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv2d(width, 256, 1), nn.ReLU(), nn.Conv2d(256, 3 * 256, 1))

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.last(x).unflatten(1, (256, 3))


def pixels_in_order(batch, device, size=32):
    target = torch.randint(0, 256, (batch, 3, size, size), device=device)
    return Workload(InOrder().to(device), (random_pictures(batch, device, size),), class_loss(target), SGD)


CONVOLVED = {
    "gated_pictures": gated_pictures, "painted_over": painted_over, "separable_speech": separable_speech, "waves_apart": waves_apart,
    "judged_sounds": judged_sounds, "classed_volumes": classed_volumes, "cleaned": cleaned, "pooled_places": pooled_places,
    "pixels_in_order": pixels_in_order,
}
