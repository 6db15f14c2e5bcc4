"""Networks as people write them themselves: by hand and in one file, from tensors' own operations."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, SGD, Workload, class_loss, words_loss


class WrittenAttention(nn.Module):
    """Causal attention as its formula: scores, a mask, softmax, dropout, values."""

    def __init__(self, width, heads, positions):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("seen", torch.tril(torch.ones(positions, positions)).view(1, 1, positions, positions))

    def forward(self, x):
        batch, positions, width = x.shape
        q, k, v = (part.view(batch, positions, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(self.seen[:, :, :positions, :positions] == 0, float("-inf"))
        seen = self.dropout(F.softmax(scores, dim=-1)) @ v
        return self.out(seen.transpose(1, 2).contiguous().view(batch, positions, width))


class WrittenLayer(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = WrittenAttention(width, heads, positions)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class WrittenGpt(nn.Module):
    """A decoder like GPT, as tutorials write it; the head is the embedding."""

    def __init__(self, vocab=50304, width=512, heads=8, layers=8, positions=256):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.layers = nn.ModuleList(WrittenLayer(width, heads, positions) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def of_words(model, vocab, batch, device, seq):
    ids, target = (torch.randint(0, vocab, (batch, seq), device=device) for _ in range(2))
    return Workload(model, (ids,), words_loss(vocab, target), ADAMW, {"seq": seq})


def written_gpt(batch, device):
    return of_words(WrittenGpt().to(device), 50304, batch, device, 256)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


class RotatedLayer(nn.Module):
    """A layer like Llama's: heads that share keys, turned as complex numbers, and a gated MLP."""

    def __init__(self, width, heads, shared, inner):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, shared * self.size, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def turned(self, x, angles):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * angles[None, :, None]).flatten(3).type_as(x)

    def attend(self, x, angles):
        batch, positions, width = x.shape
        q = self.turned(self.q(x).view(batch, positions, self.heads, self.size), angles)
        k = self.turned(self.k(x).view(batch, positions, self.shared, self.size), angles)
        v = self.v(x).view(batch, positions, self.shared, self.size)
        k, v = (y.repeat_interleave(self.heads // self.shared, dim=2).transpose(1, 2) for y in (k, v))
        seen = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, positions, width))

    def forward(self, x, angles):
        x = x + self.attend(self.norm1(x), angles)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class PureLlama(nn.Module):
    """A decoder like Llama with all numbers, those of the optimizer too, in BF16: no autocast."""

    def __init__(self, vocab=32000, width=1024, heads=16, shared=4, inner=2816, layers=8, positions=512):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(RotatedLayer(width, heads, shared, inner) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocab, bias=False)
        rates = 10000.0 ** (-torch.arange(0, width // heads, 2) / (width // heads))
        angles = torch.outer(torch.arange(positions), rates)
        self.angles = torch.polar(torch.ones_like(angles), angles)

    def forward(self, ids):
        x, angles = self.words(ids), self.angles[:ids.shape[1]].to(ids.device, non_blocking=True)
        for layer in self.layers:
            x = layer(x, angles)
        return self.head(self.norm(x))


def pure_llama(batch, device):
    return of_words(PureLlama().to(device=device, dtype=torch.bfloat16), 32000, batch, device, 512)


class Adapted(nn.Module):
    """A frozen layer and a narrow one beside it that learns (LoRA)."""

    def __init__(self, layer, rank=16):
        super().__init__()
        self.layer = layer
        self.narrow, self.wide = nn.Linear(layer.in_features, rank, bias=False), nn.Linear(rank, layer.out_features, bias=False)
        nn.init.zeros_(self.wide.weight)

    def forward(self, x):
        return self.layer(x) + 2 * self.wide(self.narrow(x))


def adapted_llama(batch, device):
    """A decoder like Llama in BF16, frozen but for narrow layers beside those of queries, values and outputs."""
    model = PureLlama().requires_grad_(False)
    for layer in model.layers:
        layer.q, layer.v, layer.out = Adapted(layer.q), Adapted(layer.v), Adapted(layer.out)
    return of_words(model.to(device=device, dtype=torch.bfloat16), 32000, batch, device, 512)


class Vae(nn.Module):
    """A variational autoencoder of images: means, spreads, and what is drawn from them."""

    def __init__(self, width=48, code=128):
        super().__init__()
        def down(before, after):
            return nn.Sequential(nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.LeakyReLU())

        def up(before, after):
            return nn.Sequential(nn.ConvTranspose2d(before, after, 3, stride=2, padding=1, output_padding=1),
                                 nn.BatchNorm2d(after), nn.LeakyReLU())
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.narrower = nn.Sequential(down(3, width), *[down(a, b) for a, b in zip(widths, widths[1:])])
        self.mean, self.spread = nn.Linear(widths[-1] * 16, code), nn.Linear(widths[-1] * 16, code)
        self.back = nn.Linear(code, widths[-1] * 16)
        self.wider = nn.Sequential(*[up(b, a) for a, b in zip(widths[-2::-1], widths[:0:-1])], up(width, width),
                                   nn.Conv2d(width, 3, 3, padding=1), nn.Tanh())

    def forward(self, images):
        x = self.narrower(images).flatten(1)
        mean, spread = self.mean(x), self.spread(x)
        drawn = mean + torch.randn_like(spread) * torch.exp(0.5 * spread)
        return self.wider(self.back(drawn).view(-1, self.back.out_features // 16, 4, 4)), mean, spread


def vae(batch, device):
    images = torch.rand(batch, 3, 64, 64, device=device)

    def loss(out):
        again, mean, spread = (x.float() for x in out)
        near = torch.mean(-0.5 * torch.sum(1 + spread - mean ** 2 - spread.exp(), dim=1))
        return F.mse_loss(again, images) + 0.00025 * near
    return Workload(Vae().to(device), (images,), loss, ADAMW)


class Compared(nn.Module):
    """ResNet-18 with two views of each image: which view belongs to which (SimCLR)."""

    def __init__(self, code=128):
        super().__init__()
        from torchvision.models import resnet18
        self.encoder = resnet18()
        self.encoder.fc = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, code))

    def forward(self, one, other):
        return F.normalize(self.encoder(torch.cat([one, other])).float(), dim=1)


def simclr(batch, device, side=96):
    one, other = (torch.randn(batch, 3, side, side, device=device) for _ in range(2))
    own = torch.arange(2 * batch, device=device)
    mate = (own + batch) % (2 * batch)

    def loss(codes):
        alike = codes @ codes.T / 0.1
        return F.cross_entropy(alike.masked_fill(torch.eye(len(codes), dtype=torch.bool, device=device), float("-inf")), mate)
    return Workload(Compared().to(device), (one, other), loss, SGD)


class StateLayer(nn.Module):
    """A gated layer whose heads keep a state that fades (as Mamba 2), computed in pieces of 64 positions."""

    def __init__(self, width, heads=16, state=64, piece=64):
        super().__init__()
        self.heads, self.state, self.piece = heads, state, piece
        self.norm = RmsNorm(width)
        self.into = nn.Linear(width, 4 * width + 2 * state + heads, bias=False)
        self.near = nn.Conv1d(2 * width + 2 * state, 2 * width + 2 * state, 4, padding=3, groups=2 * width + 2 * state)
        self.fade = nn.Parameter(torch.zeros(heads))
        self.norm_out, self.out = RmsNorm(2 * width), nn.Linear(2 * width, width, bias=False)

    @staticmethod
    def between(faded):
        """Sums of faded over i..j, minus infinity above the diagonal: [..., piece, piece]."""
        sums = torch.cumsum(faded, dim=-1)
        apart = sums[..., :, None] - sums[..., None, :]
        return apart.masked_fill(~torch.ones_like(apart, dtype=torch.bool).tril(), float("-inf"))

    def scan(self, x, faded, b, c):
        pieces = x.shape[1] // self.piece
        x, b, c = (y.unflatten(1, (pieces, self.piece)) for y in (x, b, c))
        faded = faded.unflatten(1, (pieces, self.piece)).permute(0, 3, 1, 2)
        sums = torch.cumsum(faded, dim=-1)
        inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, torch.exp(self.between(faded)), x)
        states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, torch.exp(sums[..., -1:] - sums), x)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)
        over = torch.exp(self.between(F.pad(sums[..., -1], (1, 0))))
        states = torch.einsum("bhzc,bchpn->bzhpn", over, states)[:, :-1]
        return (inside + torch.einsum("bcln,bchpn,bhcl->bclhp", c, states, torch.exp(sums))).flatten(1, 2)

    def forward(self, x):
        width, positions = x.shape[2], x.shape[1]
        gate, mixed, step = self.into(self.norm(x)).split([2 * width, 2 * width + 2 * self.state, self.heads], dim=2)
        mixed = F.silu(self.near(mixed.transpose(1, 2))[..., :positions].transpose(1, 2))
        value, b, c = mixed.split([2 * width, self.state, self.state], dim=2)
        step = F.softplus(step)
        value = value.unflatten(2, (self.heads, -1))
        y = self.scan(value * step[..., None], -step * self.fade.exp(), b, c).flatten(2)
        return x + self.out(self.norm_out(y * F.silu(gate)))


class StateSpace(nn.Module):
    def __init__(self, vocab=32000, width=512, layers=6):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.layers = nn.Sequential(*[StateLayer(width) for _ in range(layers)])
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.words(ids))))


def state_space(batch, device):
    return of_words(StateSpace().to(device), 32000, batch, device, 512)


class Sines(nn.Module):
    """Points of a picture to its colours through sines (SIREN)."""

    def __init__(self, width=512, layers=5):
        super().__init__()
        widths = [2] + [width] * layers
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.last = nn.Linear(width, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sin(30 * layer(x))
        return self.last(x)


def sines(batch, device):
    """A batch is thousand points."""
    points = torch.rand(1024 * batch, 2, device=device)
    colours = torch.rand(1024 * batch, 3, device=device)
    return Workload(Sines().to(device), (points,), lambda out: F.mse_loss(out.float(), colours), ADAMW)


class Quantized(nn.Module):
    """An autoencoder whose code is the nearest of 1024 (VQ-VAE)."""

    def __init__(self, width=128, codes=1024, size=64):
        super().__init__()
        def block():
            return nn.Sequential(nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1))
        self.narrower = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1))
        self.blocks, self.more = nn.ModuleList([block(), block()]), nn.ModuleList([block(), block()])
        self.into, self.back = nn.Conv2d(width, size, 1), nn.Conv2d(size, width, 3, padding=1)
        self.codes = nn.Embedding(codes, size)
        self.wider = nn.Sequential(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def forward(self, images):
        x = self.narrower(images)
        for block in self.blocks:
            x = x + block(x)
        x = self.into(x).permute(0, 2, 3, 1)
        flat = x.reshape(-1, x.shape[-1])
        far = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.weight.t() + self.codes.weight.pow(2).sum(1)
        code = self.codes(far.argmin(1)).view_as(x)
        kept = F.mse_loss(code, x.detach()) + 0.25 * F.mse_loss(x, code.detach())
        y = self.back((x + (code - x).detach()).permute(0, 3, 1, 2))
        for block in self.more:
            y = y + block(y)
        return self.wider(y), kept


def quantized(batch, device):
    images = torch.rand(batch, 3, 96, 96, device=device)
    return Workload(Quantized().to(device), (images,), lambda out: F.mse_loss(out[0].float(), images) + out[1].float(), ADAMW)


class Routed(nn.Module):
    """Eight experts, of which each word asks two, each found by which words chose it: the host waits for their number."""

    def __init__(self, width=512, inner=1024, experts=8):
        super().__init__()
        self.choose = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
                                     for _ in range(experts))

    def forward(self, x):
        flat = x.flatten(0, 1)
        weights, chosen = F.softmax(self.choose(flat).float(), dim=-1).topk(2)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            row, place = torch.where(chosen == number)
            out.index_add_(0, row, (expert(flat[row]) * weights[row, place, None]).to(out.dtype))
        return x + out.view_as(x)


class RoutedGpt(nn.Module):
    def __init__(self, vocab=16000, width=512, layers=4, positions=256):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Parameter(torch.zeros(1, positions, width))
        self.attention = nn.ModuleList(WrittenAttention(width, 8, positions) for _ in range(layers))
        self.routed = nn.ModuleList(Routed(width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.words(ids) + self.places
        for norm, attention, routed in zip(self.norms, self.attention, self.routed):
            x = routed(x + attention(norm(x)))
        return self.head(x)


def routed(batch, device):
    return of_words(RoutedGpt().to(device), 16000, batch, device, 256)


class Messages(nn.Module):
    """Atoms that tell their neighbours within reach, by distance (as SchNet)."""

    def __init__(self, width=128, layers=4, basis=50):
        super().__init__()
        self.kinds = nn.Embedding(100, width)
        self.register_buffer("centres", torch.linspace(0, 5, basis))
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(basis, width), nn.Softplus(), nn.Linear(width, width))
                                     for _ in range(layers))
        self.before = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.after = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width))
                                   for _ in range(layers))
        self.last = nn.Sequential(nn.Linear(width, width // 2), nn.Softplus(), nn.Linear(width // 2, 1))

    def forward(self, kinds, places, pairs, molecule):
        x = self.kinds(kinds)
        apart = (places[pairs[0]] - places[pairs[1]]).norm(dim=1)
        near = torch.exp(-10 * (apart[:, None] - self.centres) ** 2)
        fade = 0.5 * (torch.cos(apart * math.pi / 5) + 1)
        for filters, before, after in zip(self.filters, self.before, self.after):
            told = before(x)[pairs[1]] * filters(near) * fade[:, None]
            x = x + after(torch.zeros_like(x).index_add_(0, pairs[0], told.to(x.dtype)))
        energy = self.last(x)
        molecules = len(kinds) // 20
        return torch.zeros(molecules, 1, device=x.device, dtype=energy.dtype).index_add_(0, molecule, energy)


def messages(batch, device, atoms=20, neighbours=12):
    kinds = torch.randint(1, 20, (batch * atoms,), device=device)
    places = 5 * torch.rand(batch * atoms, 3, device=device)
    molecule = torch.arange(batch, device=device).repeat_interleave(atoms)
    own = torch.arange(batch * atoms, device=device).repeat_interleave(neighbours)
    other = own // atoms * atoms + torch.randint(0, atoms, (len(own),), device=device)
    energy = torch.randn(batch, 1, device=device)
    return Workload(Messages().to(device), (kinds, places, torch.stack([own, other]), molecule),
                    lambda out: F.mse_loss(out.float(), energy), ADAMW)


class Translator(nn.Module):
    """Words read by two LSTM layers both ways, written one by one by a cell that looks at all of them."""

    def __init__(self, vocab=16000, width=512, words=24):
        super().__init__()
        self.width, self.steps = width, words
        self.read, self.write = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
        self.encoder = nn.LSTM(width, width // 2, 2, batch_first=True, bidirectional=True)
        self.cell = nn.LSTMCell(2 * width, width)
        self.query, self.mix = nn.Linear(width, width, bias=False), nn.Linear(2 * width, width)
        self.head = nn.Linear(width, vocab)

    def forward(self, source, target):
        seen, _ = self.encoder(self.read(source))
        state = cell = fed = seen.mean(1)
        written = []
        for place in range(self.steps):
            state, cell = self.cell(torch.cat([self.write(target[:, place]), fed], 1), (state, cell))
            weights = F.softmax(torch.bmm(seen, self.query(state).unsqueeze(2)).squeeze(2), dim=1)
            heard = torch.bmm(weights.unsqueeze(1), seen).squeeze(1)
            fed = torch.tanh(self.mix(torch.cat([state, heard], 1)))
            written.append(fed)
        return self.head(torch.stack(written, 1))


def translator(batch, device, seq=32, words=24):
    source = torch.randint(0, 16000, (batch, seq), device=device)
    target = torch.randint(0, 16000, (batch, words), device=device)
    return Workload(Translator(words=words).to(device), (source, target), words_loss(16000, target), ADAMW, {"seq": seq})


class Overlaps(nn.Module):
    """A U-Net of volumes' slices with instance norms and leaky units, four outputs (as nnU-Net)."""

    def __init__(self, width=32, levels=5):
        super().__init__()
        def pair(before, after, stride=1):
            layers = []
            for a, s in ((before, stride), (after, 1)):
                layers += [nn.Conv2d(a, after, 3, stride=s, padding=1), nn.InstanceNorm2d(after, affine=True), nn.LeakyReLU(0.01, inplace=True)]
            return nn.Sequential(*layers)
        widths = [min(width << level, 320) for level in range(levels)]
        self.down = nn.ModuleList([pair(1, width), *[pair(a, b, 2) for a, b in zip(widths, widths[1:])]])
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(pair(2 * a, a) for a in widths[:-1])
        self.last = nn.Conv2d(width, 4, 1)

    def forward(self, x):
        kept = []
        for level in self.down:
            x = level(x)
            kept.append(x)
        for level in range(len(self.up) - 1, -1, -1):
            x = self.up[level](torch.cat([self.grow[level](x), kept[level]], 1))
        return self.last(x)


def slices(batch, device, side=192):
    images = torch.randn(batch, 1, side, side, device=device)
    target = torch.randint(0, 4, (batch, side, side), device=device)

    def loss(scores):
        scores = scores.float()
        share = F.softmax(scores, 1)
        truth = F.one_hot(target, 4).permute(0, 3, 1, 2).float()
        both, all_ = (share * truth).sum((0, 2, 3)), (share + truth).sum((0, 2, 3))
        return F.cross_entropy(scores, target) + 1 - (2 * both / (all_ + 1e-5)).mean()
    return Workload(Overlaps().to(device), (images,), loss, SGD)


class Policy(nn.Module):
    """What to do and how good a state is, from two small networks (PPO)."""

    def __init__(self, seen=376, acts=17, width=256):
        super().__init__()
        def net(out):
            return nn.Sequential(nn.Linear(seen, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, out))
        self.act, self.value = net(acts), net(1)
        self.spread = nn.Parameter(torch.zeros(acts))

    def forward(self, seen, acts):
        spread = torch.distributions.Normal(self.act(seen), self.spread.exp(), validate_args=False)
        return spread.log_prob(acts).sum(1), spread.entropy().sum(1), self.value(seen).squeeze(1)


def policy(batch, device):
    seen, acts = torch.randn(batch, 376, device=device), torch.randn(batch, 17, device=device)
    before, gain, back = (torch.randn(batch, device=device) for _ in range(3))

    def loss(out):
        likely, wide, value = (x.float() for x in out)
        ratio = (likely - before).clamp(-5, 5).exp()
        better = (gain - gain.mean()) / (gain.std() + 1e-8)
        clipped = torch.min(better * ratio, better * ratio.clamp(0.8, 1.2))
        return -clipped.mean() + 0.5 * (back - value).pow(2).mean() - 0.01 * wide.mean()
    return Workload(Policy().to(device), (seen, acts), loss, ADAMW)


class Patches(nn.Module):
    """Keys and values of a cheap attention (of features: each image as one matrix), mixed with convolutions over depth."""

    def __init__(self, width=256, layers=8, classes=100):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 8, 8)
        self.qkv = nn.ModuleList(nn.Conv2d(width, 3 * width, 1) for _ in range(layers))
        self.near = nn.ModuleList(nn.Conv2d(width, width, 5, padding=2, groups=width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.GroupNorm(1, width) for _ in range(layers))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Conv2d(width, 2 * width, 1), nn.Hardswish(), nn.Conv2d(2 * width, width, 1))
                                 for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        x = self.embed(images)
        for qkv, near, norm, mlp in zip(self.qkv, self.near, self.norms, self.mlp):
            q, k, v = (y.flatten(2) for y in qkv(norm(x)).chunk(3, 1))
            mixed = torch.bmm(torch.bmm(v, F.softmax(k, -1).transpose(1, 2)), F.softmax(q, 1))
            x = x + near(mixed.view_as(x))
            x = x + mlp(x)
        return self.head(x.mean((2, 3)))


def patches(batch, device):
    images, target = torch.randn(batch, 3, 192, 192, device=device), torch.randint(0, 100, (batch,), device=device)
    return Workload(Patches().to(device), (images,), class_loss(target), ADAMW)
