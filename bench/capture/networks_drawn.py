"""Networks of pictures in the forms in which well-known public repositories write them: made from noise, coded, made by a style,
and networks that find things and joints in them."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, SGD, Workload


class TimedBlock(nn.Module):
    """Two convolutions with group norms; the first is scaled and moved by the time."""

    def __init__(self, before, after, time):
        super().__init__()
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, 2 * after))
        self.one, self.two = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(8, after), nn.GroupNorm(8, after)
        self.beside = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time):
        scale, shift = self.time(time)[:, :, None, None].chunk(2, dim=1)
        y = F.silu(self.norm1(self.one(x)) * (scale + 1) + shift)
        return F.silu(self.norm2(self.two(y))) + self.beside(x)


class CheapAttention(nn.Module):
    """Linear attention over the places of a map: keys and values are multiplied first."""

    def __init__(self, width, heads=4, size=32):
        super().__init__()
        self.heads, self.scale = heads, size ** -0.5
        self.norm, self.qkv = nn.GroupNorm(1, width), nn.Conv2d(width, 3 * heads * size, 1, bias=False)
        self.out = nn.Sequential(nn.Conv2d(heads * size, width, 1), nn.GroupNorm(1, width))

    def forward(self, x):
        batch, _, high, wide = x.shape
        q, k, v = (y.reshape(batch, self.heads, -1, high * wide) for y in self.qkv(self.norm(x)).chunk(3, dim=1))
        q, k = q.softmax(dim=-2) * self.scale, k.softmax(dim=-1)
        told = torch.einsum("bhdn,bhen->bhde", k, v / (high * wide))
        return x + self.out(torch.einsum("bhde,bhdn->bhen", told, q).reshape(batch, -1, high, wide))


class FullAttention(nn.Module):
    """Attention over all places of a small map."""

    def __init__(self, width, heads=4, size=32):
        super().__init__()
        self.heads, self.scale = heads, size ** -0.5
        self.norm, self.qkv = nn.GroupNorm(1, width), nn.Conv2d(width, 3 * heads * size, 1, bias=False)
        self.out = nn.Conv2d(heads * size, width, 1)

    def forward(self, x):
        batch, _, high, wide = x.shape
        q, k, v = (y.reshape(batch, self.heads, -1, high * wide) for y in self.qkv(self.norm(x)).chunk(3, dim=1))
        weights = torch.einsum("bhdi,bhdj->bhij", q * self.scale, k).softmax(dim=-1)
        y = torch.einsum("bhij,bhdj->bhid", weights, v).permute(0, 1, 3, 2)
        return x + self.out(y.reshape(batch, -1, high, wide))


class DenoisingUnet(nn.Module):
    """lucidrains' U-Net of DDPM: two blocks and linear attention at each size, full attention at the smallest."""

    def __init__(self, width=64, factors=(1, 2, 4, 8)):
        super().__init__()
        widths = [width, *[width * f for f in factors]]
        time = 4 * width
        self.register_buffer("rates", torch.exp(torch.arange(width // 2) * -(math.log(10000) / (width // 2 - 1))), persistent=False)
        self.time = nn.Sequential(nn.Linear(width, time), nn.GELU(), nn.Linear(time, time))
        self.first, self.last = nn.Conv2d(3, width, 7, padding=3), nn.Conv2d(width, 3, 1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        pairs = list(zip(widths, widths[1:]))
        for place, (a, b) in enumerate(pairs):
            narrower = nn.Conv2d(a, b, 4, 2, 1) if place + 1 < len(pairs) else nn.Conv2d(a, b, 3, padding=1)
            self.down.append(nn.ModuleList([TimedBlock(a, a, time), TimedBlock(a, a, time), CheapAttention(a), narrower]))
        end = widths[-1]
        self.mid1, self.mid, self.mid2 = TimedBlock(end, end, time), FullAttention(end), TimedBlock(end, end, time)
        for place, (a, b) in enumerate(reversed(pairs)):
            conv = nn.Conv2d(b, a, 3, padding=1)
            wider = nn.Sequential(nn.Upsample(scale_factor=2), conv) if place + 1 < len(pairs) else conv
            self.up.append(nn.ModuleList([TimedBlock(a + b, b, time), TimedBlock(a + b, b, time), CheapAttention(b), wider]))
        self.end = TimedBlock(2 * width, width, time)

    def forward(self, x, times):
        waves = times[:, None] * self.rates[None, :]
        time = self.time(torch.cat((waves.sin(), waves.cos()), dim=-1))
        x = self.first(x)
        begin, kept = x.clone(), []
        for one, two, attention, narrower in self.down:
            x = one(x, time)
            kept.append(x)
            x = attention(two(x, time))
            kept.append(x)
            x = narrower(x)
        x = self.mid2(self.mid(self.mid1(x, time)), time)
        for one, two, attention, wider in self.up:
            x = one(torch.cat((x, kept.pop()), dim=1), time)
            x = wider(attention(two(torch.cat((x, kept.pop()), dim=1), time)))
        return self.last(self.end(torch.cat((x, begin), dim=1), time))


class Denoiser(nn.Module):
    """DDPM: in training, noise is put on pictures by their times and foretold, and how far off states the loss."""

    def __init__(self, steps=1000):
        super().__init__()
        self.net = DenoisingUnet()
        kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, steps), dim=0)
        self.register_buffer("kept", kept.sqrt())
        self.register_buffer("noised", (1 - kept).sqrt())

    def forward(self, pictures, times):
        if not self.training:
            return self.net(pictures, times)
        noise = torch.randn_like(pictures)
        kept, noised = (table.gather(-1, times).reshape(-1, 1, 1, 1) for table in (self.kept, self.noised))
        told = self.net(kept * pictures + noised * noise, times)
        return F.mse_loss(told, noise, reduction="none").flatten(1).mean(dim=1).mean()


def denoiser(batch, device, size=64):
    """DDPM with a U-Net of 64 to 512 channels on pictures of 64 x 64."""
    inputs = torch.randn(batch, 3, size, size, device=device), torch.randint(0, 1000, (batch,), device=device)
    return Workload(Denoiser().to(device), inputs, lambda loss: loss, ADAMW)


def swish(x):
    """SiLU by two operations."""
    return x * torch.sigmoid(x)


class CodedBlock(nn.Module):
    """A block of VQGAN: norms of 32 groups and swish before each convolution."""

    def __init__(self, before, after):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, before, eps=1e-6), nn.GroupNorm(32, after, eps=1e-6)
        self.one, self.two = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.dropout = nn.Dropout(0.0)
        self.beside = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x):
        y = self.one(swish(self.norm1(x)))
        return self.beside(x) + self.two(self.dropout(swish(self.norm2(y))))


class CodedAttention(nn.Module):
    """One head over all places of a map, as batched products."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, eps=1e-6)
        self.q, self.k, self.v, self.out = (nn.Conv2d(width, width, 1) for _ in range(4))

    def forward(self, x):
        batch, width, high, wide = x.shape
        y = self.norm(x)
        q = self.q(y).reshape(batch, width, high * wide).permute(0, 2, 1)
        k, v = self.k(y).reshape(batch, width, high * wide), self.v(y).reshape(batch, width, high * wide)
        weights = F.softmax(torch.bmm(q, k) * width ** -0.5, dim=2)
        return x + self.out(torch.bmm(v, weights.permute(0, 2, 1)).reshape(batch, width, high, wide))


class Halved(nn.Module):
    """A convolution of stride 2 with zeros at two sides only."""

    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, stride=2)

    def forward(self, x):
        return self.conv(F.pad(x, (0, 1, 0, 1)))


class Codebook(nn.Module):
    """The nearest of the codes to each place; gradients go straight through."""

    def __init__(self, codes, width):
        super().__init__()
        self.codes = nn.Embedding(codes, width)
        nn.init.uniform_(self.codes.weight, -1 / codes, 1 / codes)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1).contiguous()
        flat = x.view(-1, x.shape[-1])
        far = torch.sum(flat ** 2, dim=1, keepdim=True) + torch.sum(self.codes.weight ** 2, dim=1)
        far = far - 2 * torch.einsum("bd,dn->bn", flat, self.codes.weight.t())
        code = self.codes(torch.argmin(far, dim=1)).view(x.shape)
        apart = torch.mean((code.detach() - x) ** 2) + 0.25 * torch.mean((code - x.detach()) ** 2)
        return (x + (code - x).detach()).permute(0, 3, 1, 2).contiguous(), apart


class VqGan(nn.Module):
    """VQGAN's encoder, codebook and decoder: 64 to 256 channels, attention where maps are smallest."""

    def __init__(self, width=64, factors=(1, 2, 4), codes=1024):
        super().__init__()
        widths = [width * f for f in factors]
        end = widths[-1]
        encoder = [nn.Conv2d(3, width, 3, padding=1)]
        for a, b in zip([width, *widths], widths):
            encoder += [CodedBlock(a, b), CodedBlock(b, b), *([Halved(b)] if b != end else [])]
        middle = [CodedBlock(end, end), CodedAttention(end), CodedBlock(end, end)]
        self.encoder = nn.Sequential(*encoder, *middle, nn.GroupNorm(32, end, eps=1e-6), nn.SiLU(), nn.Conv2d(end, end, 3, padding=1))
        self.into, self.back, self.codebook = nn.Conv2d(end, end, 1), nn.Conv2d(end, end, 1), Codebook(codes, end)
        decoder = [nn.Conv2d(end, end, 3, padding=1), CodedBlock(end, end), CodedAttention(end), CodedBlock(end, end)]
        for a, b in zip([end, *widths[::-1]], widths[::-1]):
            wider = [nn.Upsample(scale_factor=2.0, mode="nearest"), nn.Conv2d(b, b, 3, padding=1)] if b != width else []
            decoder += [CodedBlock(a, b), CodedBlock(b, b), CodedBlock(b, b), *wider]
        self.decoder = nn.Sequential(*decoder, nn.GroupNorm(32, width, eps=1e-6), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, pictures):
        code, apart = self.codebook(self.into(self.encoder(pictures)))
        return self.decoder(self.back(code)), apart


def vq_gan(batch, device, size=128):
    """VQGAN's autoencoder on pictures of 128 x 128, a code for each 4 x 4."""
    pictures = torch.rand(batch, 3, size, size, device=device) * 2 - 1
    return Workload(VqGan().to(device), (pictures,), lambda out: torch.abs(pictures - out[0].float()).mean() + out[1].float(), ADAMW)


class EvenLinear(nn.Module):
    """A layer whose weights are scaled as it runs, then a leaky unit of gain sqrt(2) if asked."""

    def __init__(self, before, after, bias=0.0, rate=1.0, active=False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(after, before) / rate)
        self.bias = nn.Parameter(torch.full((after,), float(bias)))
        self.scale, self.rate, self.active = rate / math.sqrt(before), rate, active

    def forward(self, x):
        if not self.active:
            return F.linear(x, self.weight * self.scale, bias=self.bias * self.rate)
        return F.leaky_relu(F.linear(x, self.weight * self.scale) + self.bias * self.rate, 0.2) * math.sqrt(2)


class Blur(nn.Module):
    """Each channel blurred by 1, 3, 3, 1 both ways, channels taken as pictures."""

    def __init__(self, pad, gain=1):
        super().__init__()
        line = torch.tensor([1.0, 3.0, 3.0, 1.0])
        self.register_buffer("kernel", (line[:, None] * line / line.sum() ** 2 * gain)[None, None])
        self.pad = pad

    def forward(self, x):
        batch, width, high, wide = x.shape
        y = F.pad(x.reshape(-1, 1, high, wide), (*self.pad, *self.pad))
        y = F.conv2d(y, self.kernel)
        return y.view(batch, width, y.shape[2], y.shape[3])


class Modulated(nn.Module):
    """A convolution with weights of its own for each picture, made by its style: pictures become groups."""

    def __init__(self, before, after, kernel, style, even=True, wider=False):
        super().__init__()
        self.even, self.wider, self.kernel = even, wider, kernel
        self.weight = nn.Parameter(torch.randn(1, after, before, kernel, kernel))
        self.style, self.scale = EvenLinear(style, before, bias=1.0), 1 / math.sqrt(before * kernel ** 2)
        self.blur = Blur((1, 1), gain=4) if wider else None

    def forward(self, x, style):
        batch, before, high, wide = x.shape
        after, kernel = self.weight.shape[1], self.kernel
        weight = self.scale * self.weight * self.style(style).view(batch, 1, before, 1, 1)
        if self.even:
            weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8).view(batch, after, 1, 1, 1)
        x = x.reshape(1, batch * before, high, wide)
        if self.wider:
            weight = weight.transpose(1, 2).reshape(batch * before, after, kernel, kernel)
            y = F.conv_transpose2d(x, weight, padding=0, stride=2, groups=batch)
            return self.blur(y.view(batch, after, y.shape[2], y.shape[3]))
        y = F.conv2d(x, weight.view(batch * after, before, kernel, kernel), padding=kernel // 2, groups=batch)
        return y.view(batch, after, high, wide)


class StyledConv(nn.Module):
    """A modulated convolution, noise, and a leaky unit."""

    def __init__(self, before, after, style, wider=False):
        super().__init__()
        self.conv = Modulated(before, after, 3, style, wider=wider)
        self.noise, self.bias = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1, after, 1, 1))

    def forward(self, x, style):
        y = self.conv(x, style)
        y = y + self.noise * y.new_empty(y.shape[0], 1, y.shape[2], y.shape[3]).normal_()
        return F.leaky_relu(y + self.bias, 0.2) * math.sqrt(2)


class StyleGenerator(nn.Module):
    """StyleGAN2's generator: eight layers make a style, colours are added up over sizes from 4 x 4."""

    def __init__(self, widths=(512, 512, 512, 256, 128), style=512):
        super().__init__()
        self.styles = nn.Sequential(*[EvenLinear(style, style, rate=0.01, active=True) for _ in range(8)])
        self.start = nn.Parameter(torch.randn(1, widths[0], 4, 4))
        self.first = StyledConv(widths[0], widths[0], style)
        self.colour = nn.ModuleList(Modulated(width, 3, 1, style, even=False) for width in widths)
        self.wider = nn.ModuleList(StyledConv(a, b, style, wider=True) for a, b in zip(widths, widths[1:]))
        self.convs = nn.ModuleList(StyledConv(width, width, style) for width in widths[1:])
        self.blur = Blur((2, 1), gain=4)

    def larger(self, colours):
        """Zeros between pixels, then blurred."""
        batch, _, high, wide = colours.shape
        spread = F.pad(colours.view(batch, 3, high, 1, wide, 1), (0, 1, 0, 0, 0, 1))
        return self.blur(spread.view(batch, 3, 2 * high, 2 * wide))

    def forward(self, codes):
        style = self.styles(codes * torch.rsqrt(torch.mean(codes ** 2, dim=1, keepdim=True) + 1e-8))
        x = self.first(self.start.repeat(codes.shape[0], 1, 1, 1), style)
        colours = self.colour[0](x, style)
        for wider, conv, colour in zip(self.wider, self.convs, self.colour[1:]):
            x = conv(wider(x, style), style)
            colours = colour(x, style) + self.larger(colours)
        return colours


class Judged(nn.Module):
    """A residual block of StyleGAN2's discriminator, half the size."""

    def __init__(self, before, after):
        super().__init__()
        self.one, self.blur, self.two = nn.Conv2d(before, before, 3, padding=1), Blur((2, 2)), nn.Conv2d(before, after, 3, stride=2)
        self.thin, self.beside = Blur((1, 1)), nn.Conv2d(before, after, 1, stride=2, bias=False)

    def forward(self, x):
        y = F.leaky_relu(self.one(x), 0.2) * math.sqrt(2)
        y = F.leaky_relu(self.two(self.blur(y)), 0.2) * math.sqrt(2)
        return (y + self.beside(self.thin(x))) / math.sqrt(2)


class StyleStep(nn.Module):
    """A generator and the frozen discriminator that judges its pictures, each alone."""

    def __init__(self):
        super().__init__()
        widths = (128, 256, 512, 512, 512)
        self.generator = StyleGenerator()
        self.judge = nn.Sequential(nn.Conv2d(3, widths[0], 1), nn.LeakyReLU(0.2),
                                   *[Judged(a, b) for a, b in zip(widths, widths[1:])])
        self.last = nn.Sequential(nn.Conv2d(widths[-1], 512, 3, padding=1), nn.LeakyReLU(0.2), nn.Flatten(),
                                  EvenLinear(512 * 16, 512, active=True), EvenLinear(512, 1))
        self.judge.requires_grad_(False)
        self.last.requires_grad_(False)

    def forward(self, codes):
        pictures = self.generator(codes)
        return self.last(self.judge(pictures)), pictures


def style_gan(batch, device):
    """StyleGAN2: the generator's step on pictures of 64 x 64."""
    codes = torch.randn(batch, 512, device=device)
    return Workload(StyleStep().to(device), (codes,), lambda out: F.softplus(-out[0]).mean(), ADAMW)


def conv_norm(before, after, kernel=1, stride=1, pad=None):
    """YOLOv5's convolution: batch norm, SiLU in place."""
    pad = kernel // 2 if pad is None else pad
    norm = nn.BatchNorm2d(after, eps=1e-3, momentum=0.03)
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, pad, bias=False), norm, nn.SiLU(inplace=True))


class Stage(nn.Module):
    """YOLOv5's C3: two branches, one through bottlenecks, joined."""

    def __init__(self, before, after, times=1, add=True):
        super().__init__()
        inner, self.add = after // 2, add
        self.one, self.other, self.join = conv_norm(before, inner), conv_norm(before, inner), conv_norm(2 * inner, after)
        self.blocks = nn.ModuleList(nn.Sequential(conv_norm(inner, inner), conv_norm(inner, inner, 3)) for _ in range(times))

    def forward(self, x):
        y = self.one(x)
        for block in self.blocks:
            y = y + block(y) if self.add else block(y)
        return self.join(torch.cat((y, self.other(x)), dim=1))


class FastPyramid(nn.Module):
    """YOLOv5's SPPF: the same maximum taken three times in a row."""

    def __init__(self, width):
        super().__init__()
        self.one, self.join = conv_norm(width, width // 2), conv_norm(2 * width, width)
        self.pool = nn.MaxPool2d(5, stride=1, padding=2)

    def forward(self, x):
        x = self.one(x)
        y = self.pool(x)
        z = self.pool(y)
        return self.join(torch.cat((x, y, z, self.pool(z)), dim=1))


ANCHORS = [[[10, 13], [16, 30], [33, 23]], [[30, 61], [62, 45], [59, 119]], [[116, 90], [156, 198], [373, 326]]]


class Yolov5(nn.Module):
    """YOLOv5s: a backbone of C3 stages, maps joined upwards and downwards, three heads of three boxes a place."""

    def __init__(self, classes=80, width=32, size=320):
        super().__init__()
        w = width
        self.kinds, self.strides = classes + 5, (8, 16, 32)
        self.start = conv_norm(3, w, 6, 2, 2)
        self.down8 = nn.Sequential(conv_norm(w, 2 * w, 3, 2), Stage(2 * w, 2 * w), conv_norm(2 * w, 4 * w, 3, 2), Stage(4 * w, 4 * w, 2))
        self.down16 = nn.Sequential(conv_norm(4 * w, 8 * w, 3, 2), Stage(8 * w, 8 * w, 3))
        self.down32 = nn.Sequential(conv_norm(8 * w, 16 * w, 3, 2), Stage(16 * w, 16 * w), FastPyramid(16 * w))
        self.lead = nn.ModuleList([conv_norm(16 * w, 8 * w), conv_norm(8 * w, 4 * w)])
        self.up = nn.ModuleList([Stage(16 * w, 8 * w, add=False), Stage(8 * w, 4 * w, add=False)])
        self.back = nn.ModuleList([conv_norm(4 * w, 4 * w, 3, 2), conv_norm(8 * w, 8 * w, 3, 2)])
        self.down = nn.ModuleList([Stage(8 * w, 8 * w, add=False), Stage(16 * w, 16 * w, add=False)])
        self.larger = nn.Upsample(scale_factor=2, mode="nearest")
        self.heads = nn.ModuleList(nn.Conv2d(f * w, 3 * self.kinds, 1) for f in (4, 8, 16))
        self.register_buffer("anchors", torch.tensor(ANCHORS, dtype=torch.float32))
        for place, stride in enumerate(self.strides):
            y, x = torch.meshgrid(torch.arange(size // stride), torch.arange(size // stride), indexing="ij")
            self.register_buffer(f"grid{place}", torch.stack((x, y), dim=2).float()[None, None] - 0.5, persistent=False)

    def maps(self, pictures):
        eighth = self.down8(self.start(pictures))
        half = self.down16(eighth)
        top = self.lead[0](self.down32(half))
        mid = self.lead[1](self.up[0](torch.cat((self.larger(top), half), dim=1)))
        fine = self.up[1](torch.cat((self.larger(mid), eighth), dim=1))
        medium = self.down[0](torch.cat((self.back[0](fine), mid), dim=1))
        return fine, medium, self.down[1](torch.cat((self.back[1](medium), top), dim=1))

    def boxes(self, y, place):
        """Centres and sizes in pixels, then how likely each class is."""
        grid, stride = getattr(self, f"grid{place}"), self.strides[place]
        centre, size, rest = y.sigmoid().split((2, 2, self.kinds - 4), dim=4)
        size = (size * 2) ** 2 * self.anchors[place].view(1, 3, 1, 1, 2)
        return torch.cat(((centre * 2 + grid) * stride, size, rest), dim=4).view(y.shape[0], -1, self.kinds)

    def forward(self, pictures):
        out = []
        for head, x in zip(self.heads, self.maps(pictures)):
            x = head(x)
            out.append(x.view(x.shape[0], 3, self.kinds, *x.shape[2:]).permute(0, 1, 3, 4, 2).contiguous())
        return out if self.training else torch.cat([self.boxes(y, place) for place, y in enumerate(out)], dim=1)


def overlap(told, true):
    """CIoU of boxes by centre and size."""
    (x1, y1, w1, h1), (x2, y2, w2, h2) = told.chunk(4, 1), true.chunk(4, 1)
    wide = (torch.min(x1 + w1 / 2, x2 + w2 / 2) - torch.max(x1 - w1 / 2, x2 - w2 / 2)).clamp(0)
    high = (torch.min(y1 + h1 / 2, y2 + h2 / 2) - torch.max(y1 - h1 / 2, y2 - h2 / 2)).clamp(0)
    both = wide * high
    share = both / (w1 * h1 + w2 * h2 - both + 1e-7)
    whole = (torch.max(x1 + w1 / 2, x2 + w2 / 2) - torch.min(x1 - w1 / 2, x2 - w2 / 2)) ** 2
    whole = whole + (torch.max(y1 + h1 / 2, y2 + h2 / 2) - torch.min(y1 - h1 / 2, y2 - h2 / 2)) ** 2 + 1e-7
    form = (4 / math.pi ** 2) * (torch.atan(w2 / (h2 + 1e-7)) - torch.atan(w1 / (h1 + 1e-7))).pow(2)
    with torch.no_grad():
        factor = form / (form - share + (1 + 1e-7))
    return (share - (((x2 - x1) ** 2 + (y2 - y1) ** 2) / whole + form * factor)).squeeze(1)


def box_loss(y, where, true, kinds, anchors):
    """The loss of one of YOLOv5's heads, given which places should find something."""
    found = y[where]
    centre, size = found[:, :2].sigmoid() * 2 - 0.5, (found[:, 2:4].sigmoid() * 2) ** 2 * anchors[where[1]]
    share = overlap(torch.cat((centre, size), dim=1), true)
    there = torch.zeros_like(y[..., 0])
    there[where] = share.detach().clamp(0).type(there.dtype)
    marks = torch.zeros_like(found[:, 5:])
    marks[torch.arange(len(kinds), device=y.device), kinds] = 1.0
    kind = F.binary_cross_entropy_with_logits(found[:, 5:], marks)
    return 0.05 * (1.0 - share).mean() + F.binary_cross_entropy_with_logits(y[..., 4], there) + 0.5 * kind


def yolov5(batch, device, size=320, things=8):
    """YOLOv5s on pictures of 320 x 320, eight things a picture and head, their places given."""
    count, heads = things * batch, []
    for place, stride in enumerate((8, 16, 32)):
        ranges = (batch, 3, size // stride, size // stride)
        where = tuple(torch.randint(0, most, (count,), device=device) for most in ranges)
        anchors = torch.tensor(ANCHORS[place], device=device, dtype=torch.float32) / stride
        heads.append((where, 4 * torch.rand(count, 4, device=device) + 0.1, torch.randint(0, 80, (count,), device=device), anchors))

    def loss(out):
        return sum(box_loss(y.float(), *head) for y, head in zip(out, heads))
    return Workload(Yolov5(size=size).to(device), (torch.rand(batch, 3, size, size, device=device),), loss, SGD)


class PoseBlock(nn.Module):
    """A residual block of an hourglass: norms and ReLUs before three convolutions."""

    def __init__(self, before, after):
        super().__init__()
        half = after // 2
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in (before, half, half))
        self.convs = nn.ModuleList([nn.Conv2d(before, half, 1), nn.Conv2d(half, half, 3, padding=1), nn.Conv2d(half, after, 1)])
        self.beside = nn.Conv2d(before, after, 1) if before != after else None
        self.relu = nn.ReLU()

    def forward(self, x):
        y = x
        for norm, conv in zip(self.norms, self.convs):
            y = conv(self.relu(norm(y)))
        return y + (x if self.beside is None else self.beside(x))


class Hourglass(nn.Module):
    """A map halved and brought back, within it a smaller hourglass."""

    def __init__(self, depth, width):
        super().__init__()
        self.beside, self.pool, self.low1 = PoseBlock(width, width), nn.MaxPool2d(2, 2), PoseBlock(width, width)
        self.low2 = Hourglass(depth - 1, width) if depth > 1 else PoseBlock(width, width)
        self.low3, self.back = PoseBlock(width, width), nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        return self.beside(x) + self.back(self.low3(self.low2(self.low1(self.pool(x)))))


class Hourglasses(nn.Module):
    """Two hourglasses, each with maps of joints of its own, which the second one sees."""

    def __init__(self, stacks=2, width=256, joints=16):
        super().__init__()
        self.start = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), PoseBlock(64, 128), nn.MaxPool2d(2, 2),
                                   PoseBlock(128, 128), PoseBlock(128, width))
        self.glasses = nn.ModuleList(nn.Sequential(Hourglass(4, width), PoseBlock(width, width), nn.Conv2d(width, width, 1),
                                                   nn.BatchNorm2d(width), nn.ReLU()) for _ in range(stacks))
        self.heads = nn.ModuleList(nn.Conv2d(width, joints, 1) for _ in range(stacks))
        self.seen = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(stacks - 1))
        self.told = nn.ModuleList(nn.Conv2d(joints, width, 1) for _ in range(stacks - 1))

    def forward(self, pictures):
        x, out = self.start(pictures), []
        for place, (glass, head) in enumerate(zip(self.glasses, self.heads)):
            y = glass(x)
            maps = head(y)
            out.append(maps)
            if place + 1 < len(self.glasses):
                x = x + self.told[place](maps) + self.seen[place](y)
        return torch.stack(out, dim=1)


def hourglass(batch, device, size=256, joints=16):
    """Stacked hourglasses: two of depth four and width 256 on maps of 64 x 64."""
    target = torch.rand(batch, joints, size // 4, size // 4, device=device)

    def loss(out):
        return torch.stack([((out[:, place].float() - target) ** 2).mean(dim=(1, 2, 3)) for place in range(2)], dim=1).mean()
    return Workload(Hourglasses().to(device), (torch.rand(batch, 3, size, size, device=device),), loss, ADAMW)


DRAWN = {"denoiser": denoiser, "vq_gan": vq_gan, "style_gan": style_gan, "yolov5": yolov5, "hourglass": hourglass}
