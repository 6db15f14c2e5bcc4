"""Networks that make pictures: larger or cleaner ones, latent ones, those they were shown."""
import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, Workload


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


def edsr(batch, device, width=64, blocks=16, size=48):
    """EDSR: residual blocks without norms, images four times as large by shuffled channels."""
    def conv(before, after):
        return nn.Conv2d(before, after, 3, padding=1)
    body = [Residual(conv(width, width), nn.ReLU(inplace=True), conv(width, width)) for _ in range(blocks)]
    grow = [layer for _ in range(2) for layer in (conv(width, 4 * width), nn.PixelShuffle(2))]
    model = nn.Sequential(conv(3, width), Residual(*body, conv(width, width)), *grow, conv(width, 3)).to(device)
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randn(batch, 3, 4 * size, 4 * size, device=device)
    return Workload(model, (images,), lambda out: F.l1_loss(out.float(), target), ADAMW)


class DenseResidual(nn.Module):
    """Five layers that each read all before them, and what they give, scaled, beside what came in."""

    def __init__(self, width, growth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(width + i * growth, width if i == 4 else growth, 3, padding=1) for i in range(5))

    def forward(self, x):
        seen = [x]
        for layer in self.layers[:-1]:
            seen.append(F.leaky_relu(layer(torch.cat(seen, 1)), 0.2))
        return x + 0.2 * self.layers[-1](torch.cat(seen, 1))


def rrdb(batch, device, width=64, growth=32, blocks=4, size=48):
    """ESRGAN's generator, four blocks of three: images four times as large by doubling pixels."""
    def conv(before, after):
        return nn.Conv2d(before, after, 3, padding=1)
    body = [Residual(*[DenseResidual(width, growth) for _ in range(3)]) for _ in range(blocks)]
    grow = [layer for _ in range(2) for layer in (nn.Upsample(scale_factor=2), conv(width, width), nn.LeakyReLU(0.2))]
    model = nn.Sequential(conv(3, width), Residual(*body, conv(width, width)), *grow, conv(width, 3)).to(device)
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randn(batch, 3, 4 * size, 4 * size, device=device)
    return Workload(model, (images,), lambda out: F.l1_loss(out.float(), target), ADAMW)


class DitBlock(nn.Module):
    """A layer of a transformer whose norms are shifted, scaled and gated by what the image is to become."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def attend(self, x):
        batch, positions, width = x.shape
        q, k, v = self.qkv(x).view(batch, positions, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, positions, width))

    def forward(self, x, wanted):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(wanted).unsqueeze(1).chunk(6, dim=2)
        x = x + gate1 * self.attend(self.norm1(x) * (1 + scale1) + shift1)
        return x + gate2 * self.mlp(self.norm2(x) * (1 + scale2) + shift2)


class Dit(nn.Module):
    """A diffusion transformer (DiT-S/2): the noise of a latent image of four channels, given its class and how noisy it is."""

    def __init__(self, width=384, heads=6, layers=12, side=32, patch=2, classes=1000):
        super().__init__()
        self.side, self.patch, self.width = side, patch, width
        self.embed = nn.Conv2d(4, width, patch, patch)
        self.places = nn.Parameter(torch.zeros(1, (side // patch) ** 2, width))
        self.of_time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.of_class = nn.Embedding(classes + 1, width)
        self.blocks = nn.ModuleList(DitBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.last = nn.Linear(width, patch * patch * 4)

    def forward(self, latent, time, label):
        rates = torch.exp(-9.21 * torch.arange(128, device=time.device) / 128)
        angles = time[:, None].float() * rates[None]
        wanted = self.of_time(torch.cat([angles.cos(), angles.sin()], dim=1)) + self.of_class(label)
        x = self.embed(latent).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x, wanted)
        cells = self.side // self.patch
        x = self.last(self.norm(x)).view(-1, cells, cells, self.patch, self.patch, 4)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(-1, 4, self.side, self.side)


def dit(batch, device):
    latent, noise = (torch.randn(batch, 4, 32, 32, device=device) for _ in range(2))
    time = torch.randint(0, 1000, (batch,), device=device)
    label = torch.randint(0, 1000, (batch,), device=device)
    return Workload(Dit().to(device), (latent, time, label), lambda out: F.mse_loss(out.float(), noise), ADAMW)


def autoencoder(batch, device, width=64, side=128):
    """An image to 256 numbers and back, by strided and transposed convolutions with norms, as a DCGAN's two halves."""
    def down(before, after):
        return [nn.Conv2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True)]

    def up(before, after):
        return [nn.ConvTranspose2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    widths = [width << level for level in range(5)]
    narrower = [layer for pair in zip(widths, widths[1:]) for layer in down(*pair)]
    wider = [layer for pair in zip(widths[:0:-1], widths[-2::-1]) for layer in up(*pair)]
    model = nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), *narrower, nn.Conv2d(widths[-1], 256, 4),
        nn.ConvTranspose2d(256, widths[-1], 4, bias=False), nn.BatchNorm2d(widths[-1]), nn.ReLU(inplace=True), *wider,
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh()).to(device)
    images = torch.randn(batch, 3, side, side, device=device)
    return Workload(model, (images,), lambda out: F.mse_loss(out.float(), images), ADAMW)


class TimedResidual(nn.Module):
    """Two convolutions behind norms of groups, told how noisy the image is."""

    def __init__(self, before, after, told):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, before), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, after), nn.Conv2d(after, after, 3, padding=1)
        self.tell = nn.Linear(told, after)
        self.skip = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, x, told):
        y = self.conv1(F.silu(self.norm1(x))) + self.tell(F.silu(told))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class SeenAndRead(nn.Module):
    """A layer of a transformer whose positions are pixels, which also read a text."""

    def __init__(self, width, text, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.enter, self.leave = nn.GroupNorm(32, width), nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.queries = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.keys = nn.ModuleList(nn.Linear(source, width, bias=False) for source in (width, text))
        self.values = nn.ModuleList(nn.Linear(source, width, bias=False) for source in (width, text))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.gate, self.last = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def attend(self, i, x, source):
        q, k, v = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (self.queries[i](x), self.keys[i](source), self.values[i](source)))
        return self.out[i](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    def forward(self, image, text):
        batch, width, height, across = image.shape
        x = self.enter(self.norm(image)).flatten(2).transpose(1, 2)
        seen = self.norms[0](x)
        x = x + self.attend(0, seen, seen)
        x = x + self.attend(1, self.norms[1](x), text)
        value, gate = self.gate(self.norms[2](x)).chunk(2, dim=-1)
        x = x + self.last(value * F.gelu(gate))
        return image + self.leave(x.transpose(1, 2).reshape(batch, width, height, across))


class LatentDiffusion(nn.Module):
    """The noise of a latent image given a text, as Stable Diffusion's U-Net, half as wide and three levels deep."""
    WIDTHS = (160, 320, 640)

    def __init__(self, text=768, heads=8, told=640):
        super().__init__()
        self.told = nn.Sequential(nn.Linear(160, told), nn.SiLU(), nn.Linear(told, told))
        self.first = nn.Conv2d(4, self.WIDTHS[0], 3, padding=1)
        self.down, self.shrink, self.up, self.grow = (nn.ModuleList() for _ in range(4))
        kept, width = [self.WIDTHS[0]], self.WIDTHS[0]
        for wide in self.WIDTHS:
            for _ in range(2):
                self.down.append(nn.ModuleList([TimedResidual(width, wide, told), SeenAndRead(wide, text, heads)]))
                kept.append(wide)
                width = wide
            if wide != self.WIDTHS[-1]:
                self.shrink.append(nn.Conv2d(width, width, 3, 2, 1))
                kept.append(width)
        self.middle = TimedResidual(width, width, told)
        for wide in reversed(self.WIDTHS):
            for _ in range(3):
                self.up.append(nn.ModuleList([TimedResidual(width + kept.pop(), wide, told), SeenAndRead(wide, text, heads)]))
                width = wide
            if wide != self.WIDTHS[0]:
                self.grow.append(nn.Conv2d(width, width, 3, padding=1))
        self.last = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, latent, time, text):
        rates = torch.exp(-9.21 * torch.arange(80, device=time.device) / 80)
        angles = time[:, None].float() * rates[None]
        told = self.told(torch.cat([angles.cos(), angles.sin()], dim=1))
        x = self.first(latent)
        kept = [x]
        for i, (block, attention) in enumerate(self.down):
            if i > 0 and i % 2 == 0:
                x = self.shrink[i // 2 - 1](x)
                kept.append(x)
            x = attention(block(x, told), text)
            kept.append(x)
        x = self.middle(x, told)
        for i, (block, attention) in enumerate(self.up):
            if i > 0 and i % 3 == 0:
                x = self.grow[i // 3 - 1](F.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = attention(block(torch.cat([x, kept.pop()], dim=1), told), text)
        return self.last(x)


def latent_diffusion(batch, device, side=32, words=77):
    latent, noise = (torch.randn(batch, 4, side, side, device=device) for _ in range(2))
    time = torch.randint(0, 1000, (batch,), device=device)
    text = torch.randn(batch, words, 768, device=device)
    return Workload(LatentDiffusion().to(device), (latent, time, text), lambda out: F.mse_loss(out.float(), noise), ADAMW)


class ChannelNorm(nn.Module):
    """A layer norm of the channels of each pixel."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, 1, 1))
        self.bias = nn.Parameter(torch.zeros(width, 1, 1))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight * (x - mean) / (variance + 1e-6).sqrt() + self.bias


class GatedBlock(nn.Module):
    """NAFNet's block: halves of the channels multiplied in place of an activation, channels weighed by their means."""

    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = ChannelNorm(width), ChannelNorm(width)
        self.widen, self.around = nn.Conv2d(width, 2 * width, 1), nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=2 * width)
        self.weigh, self.narrow = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.gate, self.last = nn.Conv2d(width, 2 * width, 1), nn.Conv2d(width, width, 1)
        self.beta, self.gamma = (nn.Parameter(torch.zeros(1, width, 1, 1)) for _ in range(2))

    def forward(self, x):
        left, right = self.around(self.widen(self.norm1(x))).chunk(2, dim=1)
        y = left * right
        y = self.narrow(y * self.weigh(y.mean((2, 3), keepdim=True)))
        x = x + self.beta * y
        left, right = self.gate(self.norm2(x)).chunk(2, dim=1)
        return x + self.gamma * self.last(left * right)


class NafNet(nn.Module):
    """An image without its noise: three levels of gated blocks, sizes changed by strides and shuffled channels."""

    def __init__(self, width=32, blocks=(2, 2, 4), middle=4):
        super().__init__()
        def stage(wide, count):
            return nn.Sequential(*(GatedBlock(wide) for _ in range(count)))
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        widths = [width << level for level in range(len(blocks))]
        self.down = nn.ModuleList(stage(wide, count) for wide, count in zip(widths, blocks))
        self.shrink = nn.ModuleList(nn.Conv2d(wide, 2 * wide, 2, 2) for wide in widths)
        self.middle = stage(2 * widths[-1], middle)
        self.grow = nn.ModuleList(nn.Sequential(nn.Conv2d(2 * wide, 4 * wide, 1, bias=False), nn.PixelShuffle(2)) for wide in reversed(widths))
        self.up = nn.ModuleList(stage(wide, 2) for wide in reversed(widths))

    def forward(self, image):
        x = self.first(image)
        kept = []
        for stage, shrink in zip(self.down, self.shrink):
            x = stage(x)
            kept.append(x)
            x = shrink(x)
        x = self.middle(x)
        for grow, stage in zip(self.grow, self.up):
            x = stage(grow(x) + kept.pop())
        return image + self.last(x)


def nafnet(batch, device, side=128):
    image, clean = (torch.randn(batch, 3, side, side, device=device) for _ in range(2))
    return Workload(NafNet().to(device), (image,), lambda out: F.l1_loss(out.float(), clean), ADAMW)


class StyledConv(nn.Module):
    """A convolution of StyleGAN 2: weights scaled by each picture's style and normed, so a group for each picture."""

    def __init__(self, before, after, told=512, window=3):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(after, before, window, window) / (before * window * window) ** 0.5)
        self.style = nn.Linear(told, before)
        self.strength = nn.Parameter(torch.zeros(1))
        self.bias = nn.Parameter(torch.zeros(1, after, 1, 1))

    def forward(self, x, told):
        batch, before, rows, columns = x.shape
        weight = self.weight * self.style(told).view(batch, 1, before, 1, 1)
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = F.conv2d(x.reshape(1, batch * before, rows, columns), weight.flatten(0, 1), padding=weight.shape[-1] // 2, groups=batch)
        y = y.view(batch, -1, rows, columns)
        return F.leaky_relu(y + self.strength * torch.randn(batch, 1, rows, columns, device=x.device) + self.bias, 0.2)


class StyledPicture(nn.Module):
    """A generator like StyleGAN 2's: from 4 x 4 to 64 x 64 pixels, two styled convolutions a level, colours added up."""

    def __init__(self, widths=(512, 512, 256, 128, 64), told=512):
        super().__init__()
        self.mapping = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(told, told), nn.LeakyReLU(0.2))])
        self.first = nn.Parameter(torch.randn(1, widths[0], 4, 4))
        self.pairs = nn.ModuleList(nn.ModuleList([StyledConv(before, after), StyledConv(after, after)])
                                   for before, after in zip((widths[0],) + widths, widths))
        self.colours = nn.ModuleList(nn.Conv2d(width, 3, 1) for width in widths)

    def forward(self, noise):
        told = self.mapping(noise)
        x, picture = self.first.expand(len(noise), -1, -1, -1), 0
        for level, (pair, colours) in enumerate(zip(self.pairs, self.colours)):
            if level:
                x = F.interpolate(x, scale_factor=2, mode="bilinear")
                picture = F.interpolate(picture, scale_factor=2, mode="bilinear")
            for conv in pair:
                x = conv(x, told)
            picture = picture + colours(x)
        return picture


def style(batch, device):
    noise = torch.randn(batch, 512, device=device)
    wanted = torch.randn(batch, 3, 64, 64, device=device)
    return Workload(StyledPicture().to(device), (noise,), lambda out: F.mse_loss(out.float(), wanted), ADAMW)


class Field(nn.Module):
    """NeRF: density and colour at points of rays, by eight layers of 256 on sines of the place; added up along each ray."""

    def __init__(self, width=256, octaves=10):
        super().__init__()
        self.register_buffer("rates", 2.0 ** torch.arange(octaves))
        seen = 3 + 6 * octaves
        self.before = nn.ModuleList(nn.Linear(seen if level == 0 else width, width) for level in range(4))
        self.after = nn.ModuleList(nn.Linear(width + seen if level == 0 else width, width) for level in range(4))
        self.density, self.colour = nn.Linear(width, 1), nn.Sequential(nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, 3))

    def forward(self, points):
        angles = (points.unsqueeze(-1) * self.rates).flatten(2)
        seen = torch.cat([points, angles.sin(), angles.cos()], dim=2)
        x = seen
        for layer in self.before:
            x = F.relu(layer(x))
        x = torch.cat([x, seen], dim=2)
        for layer in self.after:
            x = F.relu(layer(x))
        opaque = 1 - torch.exp(-F.relu(self.density(x).float().squeeze(-1)) * 0.05)
        through = torch.cumprod(torch.cat([torch.ones_like(opaque[:, :1]), 1 - opaque + 1e-10], dim=1), dim=1)[:, :-1]
        return ((opaque * through).unsqueeze(-1) * torch.sigmoid(self.colour(x).float())).sum(1)


def nerf(batch, device, samples=64):
    """NeRF on `batch` rays of 64 points."""
    points = torch.randn(batch, samples, 3, device=device)
    wanted = torch.rand(batch, 3, device=device)
    return Workload(Field().to(device), (points,), lambda out: F.mse_loss(out.float(), wanted), ADAMW)
