"""Attention as people write it out by hand, and as Transformers does where it is asked to: products, softmax, products."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from networks_language import causal, of_two_classes
from networks_libraries import towards
from networks_read import of_classes, random_pictures
from workload import ADAMW, Logits, Workload


def heads_of(x, heads):
    """(batch, places, width) as (batch, heads, places, width of a head)."""
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


class ScaledAttention(nn.Module):
    """One projection for queries, keys and values; scores are scaled behind their product (as vit-pytorch has it)."""

    def __init__(self, width, heads, dropout=0.0):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(dropout)
        self.to_qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def parts(self, x):
        return [heads_of(part, self.heads) for part in self.to_qkv(self.norm(x)).chunk(3, dim=-1)]

    def forward(self, x):
        q, k, v = self.parts(x)
        weights = self.dropout((torch.matmul(q, k.transpose(-1, -2)) * self.scale).softmax(dim=-1))
        return self.out(torch.matmul(weights, v).transpose(1, 2).reshape(x.shape))


class QueriesScaled(ScaledAttention):
    """Queries are scaled before the product (as timm writes it where it fuses nothing)."""

    def forward(self, x):
        batch, places, width = x.shape
        q, k, v = self.to_qkv(self.norm(x)).reshape(batch, places, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        weights = self.dropout(((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1))
        return self.out((weights @ v).transpose(1, 2).reshape(batch, places, width))


class SumsAttention(ScaledAttention):
    """Both products are einsums."""

    def forward(self, x):
        q, k, v = self.parts(x)
        weights = self.dropout((torch.einsum("bhid,bhjd->bhij", q, k) * self.scale).softmax(dim=-1))
        return self.out(torch.einsum("bhij,bhjd->bhid", weights, v).transpose(1, 2).reshape(x.shape))


class CausalAttention(nn.Module):
    """As minGPT has it: scores divided by a root, what lies ahead filled, dropout."""

    def __init__(self, width, heads, seq, dropout):
        super().__init__()
        self.heads = heads
        self.norm, self.dropout, self.behind = nn.LayerNorm(width), nn.Dropout(dropout), nn.Dropout(dropout)
        self.to_qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("seen", torch.tril(torch.ones(seq, seq)).view(1, 1, seq, seq))

    def forward(self, x):
        q, k, v = (heads_of(part, self.heads) for part in self.to_qkv(self.norm(x)).split(x.shape[-1], dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.seen[:, :, :x.shape[1], :x.shape[1]] == 0, float("-inf"))
        y = self.dropout(F.softmax(scores, dim=-1)) @ v
        return self.behind(self.out(y.transpose(1, 2).contiguous().view(x.shape)))


class MaskedAttention(nn.Module):
    """Queries, keys and values of layers of their own; scores divided by a root, a mask added (as the first BERTs in PyTorch)."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width)

    def forward(self, x, mask):
        y = self.norm(x)
        q, k, v = (layer(y).view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3) for layer in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(k.shape[-1]) + mask
        seen = torch.matmul(self.dropout(nn.Softmax(dim=-1)(scores)), v)
        return self.out(seen.permute(0, 2, 1, 3).contiguous().view(x.shape))


class Step(nn.Module):
    """What lies between two layers of attention."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return self.layers(x)


class PlainPatches(nn.Module):
    """Patches of a picture through layers of such attention to classes."""

    def __init__(self, attention, width, layers, size=224, patch=16, classes=1000):
        super().__init__()
        self.patches, self.patch = nn.Linear(3 * patch * patch, width), patch
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.ModuleList(nn.ModuleList((attention(width), Step(width))) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, pictures):
        batch, colours, size, _ = pictures.shape
        x = pictures.view(batch, colours, size // self.patch, self.patch, size // self.patch, self.patch)
        x = self.patches(x.permute(0, 2, 4, 3, 5, 1).reshape(batch, -1, colours * self.patch ** 2))
        x = torch.cat((self.first.expand(batch, -1, -1), x), dim=1) + self.places
        for attention, step in self.layers:
            x = x + attention(x)
            x = x + step(x)
        return self.head(x[:, 0])


def patches(attention, width, layers, **sizes):
    def builder(batch, device):
        return of_classes(PlainPatches(attention, width, layers, **sizes), (random_pictures(batch, device),), 1000)
    return builder


class PlainWords(nn.Module):
    """Words through layers of causal attention to words."""

    def __init__(self, vocab, width, heads, layers, seq, dropout=0.1):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.layers = nn.ModuleList(nn.ModuleList((CausalAttention(width, heads, seq, dropout), Step(width))) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for attention, step in self.layers:
            x = x + attention(x)
            x = x + step(x)
        return self.head(self.norm(x))


def plain_gpt(batch, device, vocab=32000, seq=384):
    model = PlainWords(vocab, 512, 8, 8, seq).to(device)
    ids = torch.randint(0, vocab, (batch, seq), device=device)
    target = torch.randint(0, vocab, (batch * seq,), device=device)
    return Workload(model, (ids,), lambda out: F.cross_entropy(out.view(-1, vocab).float(), target), ADAMW, {"seq": seq})


class MaskedWords(nn.Module):
    """Words, those of padding masked, to two classes."""

    def __init__(self, vocab, width, heads, layers, seq, dropout=0.1):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Parameter(0.02 * torch.randn(seq, width))
        self.layers = nn.ModuleList(nn.ModuleList((MaskedAttention(width, heads, dropout), Step(width))) for _ in range(layers))
        self.head = nn.Linear(width, 2)

    def forward(self, ids):
        x = self.words(ids) + self.places
        mask = (1.0 - (ids > 0)[:, None, None, :].to(x.dtype)) * -10000.0
        for attention, step in self.layers:
            x = x + attention(x, mask)
            x = x + step(x)
        return self.head(x[:, 0])


def plain_bert(batch, device, vocab=30522, seq=320):
    return of_two_classes(MaskedWords(vocab, 640, 10, 8, seq).to(device), vocab, batch, device, seq)


class PlainDetection(nn.Module):
    """As DETR has it: nn.MultiheadAttention as it is by default, places added to queries and keys alone, norms behind."""

    def __init__(self, width=256, heads=8, layers=4, asked=100, places=625, classes=92):
        super().__init__()
        self.heads = heads
        self.first, self.places = nn.Linear(512, width), nn.Parameter(torch.randn(places, 1, width))
        self.asked = nn.Parameter(torch.randn(asked, 1, width))
        self.seen = nn.ModuleList(self.layer(width) for _ in range(layers))
        self.told = nn.ModuleList(self.layer(width) for _ in range(layers))
        self.across = nn.ModuleList(self.layer(width) for _ in range(layers))
        self.classes, self.boxes = nn.Linear(width, classes), nn.Linear(width, 4)

    def layer(self, width):
        return nn.ModuleDict({"attention": nn.MultiheadAttention(width, self.heads, dropout=0.1), "norm": nn.LayerNorm(width),
                              "step": nn.Sequential(nn.Linear(width, 8 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8 * width, width)),
                              "behind": nn.LayerNorm(width), "dropout": nn.Dropout(0.1)})

    def run(self, layer, x, places, other, other_places, step):
        x = layer["norm"](x + layer["dropout"](layer["attention"](x + places, other + other_places, other)[0]))
        return layer["behind"](x + layer["step"](x)) if step else x

    def forward(self, features):
        x = self.first(features).transpose(0, 1)
        for layer in self.seen:
            x = self.run(layer, x, self.places, x, self.places, True)
        asked = self.asked.expand(-1, x.shape[1], -1)
        y = torch.zeros_like(asked)
        for layer, across in zip(self.told, self.across):
            y = self.run(layer, y, asked, y, asked, False)
            y = self.run(across, y, asked, x, self.places, True)
        y = y.transpose(0, 1)
        return torch.cat((self.classes(y), self.boxes(y).sigmoid()), -1)


def plain_detection(batch, device):
    return towards(PlainDetection(), (torch.randn(batch, 625, 512, device=device),), (batch, 100, 96))


class AttendedMap(nn.Module):
    """Attention over the pixels of a map, one head, channels first (as the first diffusion networks have it)."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(32, channels)
        self.q, self.k, self.v, self.out = (nn.Conv2d(channels, channels, 1) for _ in range(4))

    def forward(self, x):
        batch, channels, height, width = x.shape
        y = self.norm(x)
        q = self.q(y).reshape(batch, channels, height * width).permute(0, 2, 1)
        k = self.k(y).reshape(batch, channels, height * width)
        weights = (torch.bmm(q, k) * channels ** -0.5).softmax(dim=2)
        seen = torch.bmm(self.v(y).reshape(batch, channels, height * width), weights.permute(0, 2, 1))
        return x + self.out(seen.reshape(x.shape))


class Maps(nn.Module):
    """Maps through convolutions and such attention and back."""

    def __init__(self, width=128, depth=3):
        super().__init__()
        def block(inputs, outputs):
            return nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), block(width, 3)
        self.down = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.layers = nn.ModuleList(nn.ModuleList((block(2 * width, 2 * width), AttendedMap(2 * width))) for _ in range(depth))
        self.up = nn.Conv2d(2 * width, width, 3, padding=1)

    def forward(self, x):
        x = self.first(x)
        y = self.down(x)
        for block, attention in self.layers:
            y = attention(y + block(y))
        return self.last(x + self.up(F.interpolate(y, scale_factor=2.0)))


def attended_maps(batch, device, size=64):
    return towards(Maps(), (torch.randn(batch, 3, size, size, device=device),), (batch, 3, size, size))


def eager_bert(batch, device, seq=384):
    """BERT of Transformers that is asked for its plain attention, six layers."""
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(num_hidden_layers=6)
    config._attn_implementation = "eager"
    return of_two_classes(Logits(BertForSequenceClassification(config)).to(device), config.vocab_size, batch, device, seq)


PLAIN = {
    "plain_vit": patches(lambda width: ScaledAttention(width, 6, 0.1), 384, 10),
    "plain_timm": patches(lambda width: QueriesScaled(width, 8), 512, 8),
    "plain_sums": patches(lambda width: SumsAttention(width, 4), 384, 8),
    "plain_gpt": plain_gpt, "plain_bert": plain_bert, "plain_detection": plain_detection, "attended_maps": attended_maps,
    "eager_bert": eager_bert,
    # GPT-2 of Transformers, asked for its plain attention, six layers.
    "eager_gpt2": causal("gpt2", 512, attn_implementation="eager", n_layer=6),
}
