"""Networks that people try out: equations, spectra, flows, teachers and critics, written by hand and in one file."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from networks_own import of_words
from workload import ADAMW, SGD, Workload, class_loss


class Critic(nn.Module):
    """Tells pictures from made ones; its loss bounds the slope of its answer, so it differentiates a gradient (WGAN-GP)."""

    def __init__(self, width=64):
        super().__init__()
        widths = [3, width, 2 * width, 4 * width, 8 * width]
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 4, 2, 1) for a, b in zip(widths, widths[1:]))
        self.last = nn.Linear(8 * width * 16, 1)

    def score(self, x):
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
        return self.last(x.flatten(1))

    def forward(self, real, made):
        share = torch.rand(len(real), 1, 1, 1, device=real.device)
        between = (share * real + (1 - share) * made).requires_grad_()
        slope, = torch.autograd.grad(self.score(between).sum(), between, create_graph=True)
        return self.score(made).mean() - self.score(real).mean() + 10 * ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


def critic(batch, device):
    real, made = (torch.randn(batch, 3, 64, 64, device=device) for _ in range(2))
    return Workload(Critic().to(device), (real, made), lambda loss: loss.float(), ADAMW)


class Taught(nn.Module):
    """A small classifier beside a large one that only answers (distillation)."""

    def __init__(self):
        super().__init__()
        import torchvision
        self.teacher = torchvision.models.resnet50(weights=None).eval().requires_grad_(False)
        self.pupil = torchvision.models.resnet18(weights=None)

    def train(self, on=True):
        super().train(on)
        self.teacher.eval()
        return self

    def forward(self, images):
        with torch.no_grad():
            wanted = self.teacher(images)
        return self.pupil(images), wanted


def taught(batch, device, heat=4):
    images = torch.randn(batch, 3, 224, 224, device=device)
    target = torch.randint(0, 1000, (batch,), device=device)

    def loss(out):
        said, wanted = (x.float() for x in out)
        soft = F.kl_div(F.log_softmax(said / heat, 1), F.softmax(wanted / heat, 1), reduction="batchmean")
        return F.cross_entropy(said, target) + heat * heat * soft
    model = Taught().to(device)
    workload = Workload(model, (images,), loss, SGD)
    workload.model.parameters = lambda recurse=True: model.pupil.parameters()
    return workload


class Spectral(nn.Module):
    """Fields to fields: a few waves of each are mixed by complex weights, beside 1x1 layers (Fourier neural operator)."""

    def __init__(self, width=48, waves=16, layers=4):
        super().__init__()
        self.waves = waves
        self.lift, self.last = nn.Conv2d(3, width, 1), nn.Sequential(nn.Conv2d(width, 128, 1), nn.GELU(), nn.Conv2d(128, 1, 1))
        self.low = nn.ParameterList(nn.Parameter(torch.randn(width, width, waves, waves, dtype=torch.cfloat) / width ** 2) for _ in range(layers))
        self.high = nn.ParameterList(nn.Parameter(torch.randn(width, width, waves, waves, dtype=torch.cfloat) / width ** 2) for _ in range(layers))
        self.near = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(layers))

    def mixed(self, x, low, high):
        n = self.waves
        seen = torch.fft.rfft2(x)
        out = torch.zeros_like(seen)
        out[:, :, :n, :n] = torch.einsum("bixy,ioxy->boxy", seen[:, :, :n, :n], low)
        out[:, :, -n:, :n] = torch.einsum("bixy,ioxy->boxy", seen[:, :, -n:, :n], high)
        return torch.fft.irfft2(out, s=x.shape[-2:])

    def forward(self, fields):
        x = self.lift(fields)
        for low, high, near in zip(self.low, self.high, self.near):
            x = F.gelu(self.mixed(x, low, high) + near(x))
        return self.last(x)


def spectral(batch, device, side=128):
    fields, wanted = torch.randn(batch, 3, side, side, device=device), torch.randn(batch, 1, side, side, device=device)
    return Workload(Spectral().to(device), (fields,), lambda out: F.mse_loss(out.float(), wanted), ADAMW)


class DenseExperts(nn.Module):
    """A decoder whose experts all see every word and are weighed after (a soft mixture), products of three indices."""

    def __init__(self, vocab=32000, width=512, layers=4, experts=8, inner=512, positions=256):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Parameter(torch.zeros(1, positions, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.gate = nn.ModuleList(nn.Linear(width, experts) for _ in range(layers))
        self.first = nn.ParameterList(nn.Parameter(torch.randn(experts, width, inner) / 30) for _ in range(layers))
        self.second = nn.ParameterList(nn.Parameter(torch.randn(experts, inner, width) / 30) for _ in range(layers))
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places
        for i, (qkv, out, gate, first, second) in enumerate(zip(self.qkv, self.out, self.gate, self.first, self.second)):
            q, k, v = (y.unflatten(-1, (8, -1)).transpose(1, 2) for y in qkv(self.norms[2 * i](x)).chunk(3, -1))
            x = x + out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            y = self.norms[2 * i + 1](x)
            inner = F.gelu(torch.einsum("bsd,edf->besf", y, first))
            x = x + torch.einsum("besf,efd,bse->bsd", inner, second, F.softmax(gate(y), -1))
        return self.head(x)


def dense_experts(batch, device):
    return of_words(DenseExperts().to(device), 32000, batch, device, 256)


class Flowing(nn.Module):
    """A picture's features that follow an equation, four steps of Runge and Kutta (neural ODE)."""

    def __init__(self, width=64, steps=4, classes=10):
        super().__init__()
        self.steps = steps
        self.first = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.GroupNorm(32, width), nn.ReLU())
        self.norm1, self.norm2 = nn.GroupNorm(32, width), nn.GroupNorm(32, width)
        self.conv1, self.conv2 = nn.Conv2d(width + 1, width, 3, padding=1), nn.Conv2d(width + 1, width, 3, padding=1)
        self.last = nn.Linear(width, classes)

    def slope(self, time, x):
        now = torch.full_like(x[:, :1], time)
        x = self.conv1(torch.cat([F.relu(self.norm1(x)), now], 1))
        return self.conv2(torch.cat([F.relu(self.norm2(x)), now], 1))

    def forward(self, images):
        x, d = self.first(images), 1 / self.steps
        for k in range(self.steps):
            t = k * d
            a = self.slope(t, x)
            b = self.slope(t + d / 2, x + d / 2 * a)
            c = self.slope(t + d / 2, x + d / 2 * b)
            x = x + d / 6 * (a + 2 * b + 2 * c + self.slope(t + d, x + d * c))
        return self.last(x.mean((2, 3)))


def flowing(batch, device):
    images, target = torch.randn(batch, 3, 64, 64, device=device), torch.randint(0, 10, (batch,), device=device)
    return Workload(Flowing().to(device), (images,), class_loss(target), SGD)


class Coupled(nn.Module):
    """Halves that scale and shift each other, invertible (RealNVP), on rows."""

    def __init__(self, width=64, inner=512, layers=8):
        super().__init__()
        half = width // 2
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(half, inner), nn.LeakyReLU(), nn.Linear(inner, inner), nn.LeakyReLU(),
                                                nn.Linear(inner, width)) for _ in range(layers))
        self.register_buffer("order", torch.randperm(width))

    def forward(self, x):
        grown = x.new_zeros(len(x))
        for net in self.nets:
            kept, moved = x[:, self.order].chunk(2, 1)
            scale, shift = net(kept).chunk(2, 1)
            scale = torch.tanh(scale)
            x = torch.cat([kept, moved * scale.exp() + shift], 1)
            grown = grown + scale.sum(1)
        return x, grown


def coupled(batch, device):
    rows = torch.randn(batch, 64, device=device)

    def loss(out):
        x, grown = (y.float() for y in out)
        return (0.5 * (x ** 2).sum(1) - grown).mean()
    return Workload(Coupled().to(device), (rows,), loss, ADAMW)


class Towers(nn.Module):
    """Who asks and what is offered, a tower each; every other item of the batch is a wrong answer."""

    def __init__(self, users=500_000, items=200_000, width=128):
        super().__init__()
        self.user, self.item, self.seen = nn.Embedding(users, width), nn.Embedding(items, width), nn.EmbeddingBag(items, width, mode="mean")
        def tower(before):
            return nn.Sequential(nn.Linear(before, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width))
        self.asks, self.offers = tower(2 * width), tower(width)

    def forward(self, user, seen, item):
        asks = F.normalize(self.asks(torch.cat([self.user(user), self.seen(seen)], 1)), dim=1)
        offers = F.normalize(self.offers(self.item(item)), dim=1)
        return asks @ offers.t() / 0.05


def towers(batch, device, history=20):
    user, item = torch.randint(0, 500_000, (batch,), device=device), torch.randint(0, 200_000, (batch,), device=device)
    seen = torch.randint(0, 200_000, (batch, history), device=device)
    right = torch.arange(batch, device=device)
    return Workload(Towers().to(device), (user, seen, item), lambda scores: F.cross_entropy(scores.float(), right), SGD)


class Summed(nn.Module):
    """A decoder whose attention is a running sum over chunks of 64 words (linear attention with decay)."""

    def __init__(self, vocab=32000, width=512, heads=8, layers=6, chunk=64):
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.words = nn.Embedding(vocab, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * layers))
        self.qkvg = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.gated = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * width, width, bias=False) for _ in range(layers))
        self.head = nn.Linear(width, vocab, bias=False)
        fade = 1 - 2.0 ** (-5 - torch.arange(heads))
        place = torch.arange(chunk)
        apart = place[:, None] - place
        self.register_buffer("within", torch.where(apart >= 0, fade[:, None, None] ** apart.clamp(min=0), 0.0))
        self.register_buffer("since", fade[:, None] ** (place + 1))
        self.register_buffer("until", fade[:, None] ** (chunk - 1 - place))
        self.register_buffer("whole", fade ** chunk)

    def attend(self, x, qkvg):
        q, k, v, g = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2).unflatten(2, (-1, self.chunk)) for y in qkvg(x).chunk(4, -1))
        k = k / math.sqrt(k.shape[-1])
        own = ((q @ k.transpose(-1, -2)) * self.within[:, None]) @ v
        told = (k * self.until[:, None, :, None]).transpose(-1, -2) @ v
        state, before = torch.zeros_like(told[:, :, 0]), []
        for c in range(told.shape[2]):
            before.append(state)
            state = state * self.whole[:, None, None] + told[:, :, c]
        out = own + (q * self.since[:, None, :, None]) @ torch.stack(before, 2)
        return (F.silu(g) * out).flatten(2, 3).transpose(1, 2).flatten(2)

    def forward(self, ids):
        x = self.words(ids)
        for i, (qkvg, out, gated, down) in enumerate(zip(self.qkvg, self.out, self.gated, self.down)):
            x = x + out(self.attend(self.norms[2 * i](x), qkvg))
            a, b = gated(self.norms[2 * i + 1](x)).chunk(2, -1)
            x = x + down(F.silu(a) * b)
        return self.head(x)


def summed(batch, device):
    return of_words(Summed().to(device), 32000, batch, device, 512)


class Vocoder(nn.Module):
    """Sound from its spectrum: grown by transposed layers, dilated ones beside each other, weights with norms (HiFi-GAN)."""

    def __init__(self, bands=80, width=256):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.first = norm(nn.Conv1d(bands, width, 7, padding=3))
        self.grow, self.beside = nn.ModuleList(), nn.ModuleList()
        for rate, window in ((8, 16), (8, 16), (2, 4), (2, 4)):
            self.grow.append(norm(nn.ConvTranspose1d(width, width // 2, window, rate, (window - rate) // 2)))
            width //= 2
            self.beside.append(nn.ModuleList(
                nn.ModuleList(norm(nn.Conv1d(width, width, taps, padding=taps // 2 * step, dilation=step)) for step in (1, 3, 5))
                for taps in (3, 7, 11)))
        self.last = norm(nn.Conv1d(width, 1, 7, padding=3))

    def forward(self, bands):
        x = self.first(bands)
        for grow, beside in zip(self.grow, self.beside):
            x = grow(F.leaky_relu(x, 0.1))
            total = 0
            for ways in beside:
                y = x
                for conv in ways:
                    y = y + conv(F.leaky_relu(y, 0.1))
                total = total + y
            x = total / len(beside)
        return torch.tanh(self.last(F.leaky_relu(x)))


def vocoder(batch, device, frames=32):
    bands, sound = torch.randn(batch, 80, frames, device=device), torch.randn(batch, 1, 256 * frames, device=device)
    return Workload(Vocoder().to(device), (bands,), lambda out: F.l1_loss(out.float(), sound), ADAMW)


class Latents(nn.Module):
    """A few latent rows that look at many pixels, then at each other (Perceiver)."""

    def __init__(self, width=512, rows=256, looks=4, classes=1000, heads=8, inputs=67):
        super().__init__()
        self.heads = heads
        self.rows = nn.Parameter(0.02 * torch.randn(1, rows, width))
        self.norm_in = nn.LayerNorm(inputs)
        self.ask, self.answer = nn.Linear(width, width), nn.Linear(inputs, 2 * width)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
                                    for _ in range(looks))
        self.last = nn.Linear(width, classes)

    def forward(self, pixels):
        x = self.rows.expand(len(pixels), -1, -1)
        k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.answer(self.norm_in(pixels)).chunk(2, -1))
        for block in self.blocks:
            q = self.ask(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            x = block(x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return self.last(x.mean(1))


def latents(batch, device, side=64):
    pixels, target = torch.randn(batch, side * side, 67, device=device), torch.randint(0, 1000, (batch,), device=device)
    return Workload(Latents().to(device), (pixels,), class_loss(target), ADAMW)


class Noise(nn.Module):
    """A U-Net that removes noise, told how much there is, with attention where pictures are small (DDPM)."""

    class Block(nn.Module):
        def __init__(self, before, after, told=256):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(32, before), nn.GroupNorm(32, after)
            self.conv1, self.conv2 = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
            self.told = nn.Linear(told, after)
            self.same = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

        def forward(self, x, told):
            y = self.conv1(F.silu(self.norm1(x))) + self.told(F.silu(told))[:, :, None, None]
            return self.same(x) + self.conv2(F.dropout(F.silu(self.norm2(y)), 0.1, self.training))

    class Look(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.qkv, self.out = nn.GroupNorm(32, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
            weights = F.softmax(torch.bmm(q.transpose(1, 2), k) * q.shape[1] ** -0.5, -1)
            return x + self.out(torch.bmm(v, weights.transpose(1, 2)).view_as(x))

    def __init__(self, width=96, growth=(1, 2, 2, 4)):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, 256), nn.SiLU(), nn.Linear(256, 256))
        widths = [width * g for g in growth]
        self.first, self.down, self.up = nn.Conv2d(3, width, 3, padding=1), nn.ModuleList(), nn.ModuleList()
        kept, w = [width], width
        for level, wide in enumerate(widths):
            for _ in range(2):
                self.down.append(nn.ModuleList([self.Block(w, wide), self.Look(wide) if level == 2 else nn.Identity()]))
                w = wide
                kept.append(w)
            if level < 3:
                self.down.append(nn.ModuleList([nn.Conv2d(w, w, 3, 2, 1)]))
                kept.append(w)
        self.middle1, self.middle2, self.look = self.Block(w, w), self.Block(w, w), self.Look(w)
        for level, wide in reversed(list(enumerate(widths))):
            for _ in range(3):
                self.up.append(nn.ModuleList([self.Block(w + kept.pop(), wide), self.Look(wide) if level == 2 else nn.Identity()]))
                w = wide
            if level > 0:
                self.up.append(nn.ModuleList([nn.Conv2d(w, w, 3, padding=1)]))
        self.norm, self.last = nn.GroupNorm(32, w), nn.Conv2d(w, 3, 3, padding=1)

    def forward(self, x, time):
        wave = torch.exp(torch.arange(self.width // 2, device=x.device) * (-math.log(10000) / (self.width // 2 - 1)))
        told = time[:, None].float() * wave
        told = self.time(torch.cat([told.sin(), told.cos()], 1))
        x = self.first(x)
        kept = [x]
        for part in self.down:
            x = part[1](part[0](x, told)) if len(part) == 2 else part[0](x)
            kept.append(x)
        x = self.middle2(self.look(self.middle1(x, told)), told)
        for part in self.up:
            x = part[1](part[0](torch.cat([x, kept.pop()], 1), told)) if len(part) == 2 else part[0](F.interpolate(x, scale_factor=2.0))
        return self.last(F.silu(self.norm(x)))


def noise(batch, device, side=64):
    pictures, wanted = (torch.randn(batch, 3, side, side, device=device) for _ in range(2))
    time = torch.randint(0, 1000, (batch,), device=device)
    return Workload(Noise().to(device), (pictures, time), lambda out: F.mse_loss(out.float(), wanted), ADAMW)


class Equation(nn.Module):
    """A network of two coordinates whose second derivatives should obey an equation (PINN: Burgers')."""

    def __init__(self, width=256, layers=6):
        super().__init__()
        sides = [2, *[width] * layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sides, sides[1:]))
        self.last = nn.Linear(width, 1)

    def forward(self, place, time):
        place, time = place.requires_grad_(), time.requires_grad_()
        x = torch.cat([place, time], 1)
        for layer in self.layers:
            x = torch.tanh(layer(x))
        u = self.last(x)
        over_place, over_time = torch.autograd.grad(u.sum(), (place, time), create_graph=True)
        twice, = torch.autograd.grad(over_place.sum(), place, create_graph=True)
        return over_time + u * over_place - 0.01 / math.pi * twice


def equation(batch, device):
    place, time = torch.rand(batch, 1, device=device), torch.rand(batch, 1, device=device)
    return Workload(Equation().to(device), (place, time), lambda left: (left.float() ** 2).mean(), ADAMW)
