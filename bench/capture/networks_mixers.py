"""Networks whose words, fields or features meet otherwise than by softmax attention: long convolutions, decay, masks of features."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_own import of_words
from workload import ADAMW, Workload, class_loss


class LongConvolution(nn.Module):
    """Every word meets all before it by a convolution as long as the text, made by transforms, between two gates (Hyena)."""

    def __init__(self, width, positions):
        super().__init__()
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.near = nn.Conv1d(3 * width, 3 * width, 3, padding=2, groups=3 * width)
        self.filters = nn.Sequential(nn.Linear(33, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, width))
        at = torch.linspace(0, 1, positions).unsqueeze(1)
        waves = torch.arange(1, 17) * torch.pi * at
        self.register_buffer("at", torch.cat([at, waves.sin(), waves.cos()], 1))
        self.register_buffer("decay", torch.exp(-4 * at * torch.linspace(0.3, 1.5, width)))

    def forward(self, x):
        length = x.shape[1]
        first, second, value = self.near(self.into(x).transpose(1, 2))[..., :length].chunk(3, 1)
        kernel = (self.filters(self.at) * self.decay).t().float()
        mixed = torch.fft.irfft(torch.fft.rfft((value * first).float(), n=2 * length) * torch.fft.rfft(kernel, n=2 * length), n=2 * length)
        return self.out((mixed[..., :length].to(second.dtype) * second).transpose(1, 2))


class Decayed(nn.Module):
    """Scores without a softmax that fall with distance, each head at its pace, and a norm of every head (RetNet)."""

    def __init__(self, width, positions, heads=8):
        super().__init__()
        self.heads = heads
        self.into, self.gate, self.out = nn.Linear(width, 3 * width, False), nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.norm = nn.GroupNorm(heads, width)
        apart = torch.arange(positions).unsqueeze(1) - torch.arange(positions)
        pace = 1 - torch.exp2(-5.0 - torch.arange(heads))
        self.register_buffer("falls", torch.where(apart >= 0, pace.view(-1, 1, 1) ** apart, 0.0))

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.into(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) * self.falls.to(q.dtype)
        y = (scores @ v).transpose(1, 2).flatten(2)
        y = self.norm(y.flatten(0, 1)).view_as(x)
        return self.out(F.silu(self.gate(x)) * y)


class Linearised(nn.Module):
    """Keys and values are summed first, and every query reads the sum: positive features in the softmax's place."""

    def __init__(self, width, positions, heads=8):
        super().__init__()
        self.heads = heads
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)) for y in self.into(x).chunk(3, -1))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        read = torch.einsum("bshd,bshe->bhde", k, v)
        whole = torch.einsum("bshd,bhd->bsh", q, k.sum(1)) + 1e-6
        return self.out((torch.einsum("bshd,bhde->bshe", q, read) / whole.unsqueeze(-1)).flatten(2))


class Words(nn.Module):
    """Words, layers of one kind of mixer and a gated MLP each, and a score of every word."""

    def __init__(self, mixer, vocab=32000, width=512, layers=6, positions=512):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.mixers = nn.ModuleList(mixer(width, positions) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        for i, (mixer, up, down) in enumerate(zip(self.mixers, self.up, self.down)):
            x = x + mixer(self.norms[2 * i](x))
            x = x + down(F.glu(up(self.norms[2 * i + 1](x))))
        return self.head(x)


def words_by(mixer):
    def builder(batch, device):
        return of_words(Words(mixer).to(device), 32000, batch, device, 512)
    return builder


long_convolution, decayed, linearised = words_by(LongConvolution), words_by(Decayed), words_by(Linearised)


class MaskedFeatures(nn.Module):
    """A table is read in five steps, each of which sees the features that a sparse mask of it lets through (TabNet)."""

    def __init__(self, features=256, width=64, steps=5, classes=10):
        super().__init__()
        self.width = width
        self.norm = nn.BatchNorm1d(features)
        self.shared = nn.Linear(features, 4 * width, bias=False)
        self.own = nn.ModuleList(nn.Linear(2 * width, 4 * width, bias=False) for _ in range(steps + 1))
        self.norms = nn.ModuleList(nn.BatchNorm1d(4 * width) for _ in range(2 * (steps + 1)))
        self.masks = nn.ModuleList(nn.Sequential(nn.Linear(width, features, bias=False), nn.BatchNorm1d(features)) for _ in range(steps))
        self.last = nn.Linear(width, classes)

    def read(self, step, x):
        y = F.glu(self.norms[2 * step](self.shared(x)))
        return (y + F.glu(self.norms[2 * step + 1](self.own[step](y)))) * 0.5 ** 0.5

    def forward(self, table):
        x = self.norm(table)
        says, prior = self.read(0, x)[:, self.width:], torch.ones_like(x)
        out = 0
        for step, mask in enumerate(self.masks):
            scores = (mask(says) * prior).float()
            ranked, _ = scores.sort(1, descending=True)
            room = torch.arange(1, scores.shape[1] + 1, device=scores.device)
            above = ranked.cumsum(1) - 1
            kept = (room * ranked > above).sum(1, keepdim=True)
            seen = (scores - above.gather(1, kept - 1) / kept).clamp(min=0)
            prior = prior * (1.3 - seen)
            y = self.read(step + 1, seen * x)
            out = out + F.relu(y[:, :self.width])
            says = y[:, self.width:]
        return self.last(out)


def masked_features(batch, device):
    target = torch.randint(0, 10, (batch,), device=device)
    return Workload(MaskedFeatures().to(device), (torch.randn(batch, 256, device=device),), class_loss(target), ADAMW)


class Fields(nn.Module):
    """Thirty-nine fields of a row attend to each other, three layers with two heads (AutoInt)."""

    def __init__(self, rows=1_000_000, fields=39, width=64):
        super().__init__()
        self.rows = nn.Embedding(rows, width)
        self.layers = nn.ModuleList(nn.MultiheadAttention(width, 2, batch_first=True) for _ in range(3))
        self.beside = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.last = nn.Linear(fields * width, 1)

    def forward(self, ids):
        x = self.rows(ids)
        for layer, beside in zip(self.layers, self.beside):
            x = F.relu(layer(x, x, x, need_weights=False)[0] + beside(x))
        return self.last(x.flatten(1))


def fields(batch, device):
    ids = torch.randint(0, 1_000_000, (batch, 39), device=device)
    target = torch.rand(batch, 1, device=device).round()
    return Workload(Fields().to(device), (ids,), lambda scores: F.binary_cross_entropy_with_logits(scores.float(), target), ADAMW)
