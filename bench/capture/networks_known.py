"""Networks in the forms in which well-known public repositories write them: decoders that state their own loss, experts, patches,
words beside pictures, items; and those of networks_drawn and networks_sensed."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from networks_answers import random_words
from networks_drawn import DRAWN
from networks_own import RmsNorm
from networks_sensed import SENSED
from workload import ADAMW, Workload, class_loss


def first_of(out):
    """The loss of a model that states it first."""
    return out[0]


def stated(model, ids, targets, seq):
    """A model of words on words and targets, drawn down the loss that it states."""
    return Workload(model.to(ids.device), (ids, targets), first_of, ADAMW, {"seq": seq})


def small_weights(module):
    """Weights of words and layers as GPT-2 begins with them."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)


class NanoLayer(nn.Module):
    """A layer of nanoGPT without biases: one product for queries, keys and values, attention by PyTorch's own function."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def attend(self, x):
        batch, seq, width = x.size()
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (y.view(batch, seq, self.heads, width // self.heads).transpose(1, 2) for y in (q, k, v))
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True)
        return self.out(seen.transpose(1, 2).contiguous().view(batch, seq, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class NanoGpt(nn.Module):
    """A decoder as nanoGPT: targets go in, and loss and scores come out; the head is the embedding."""

    def __init__(self, vocab=50304, seq=512, width=768, heads=12, layers=6, layer=NanoLayer):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.layers = nn.ModuleList(layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width, bias=False), nn.Linear(width, vocab, bias=False)
        self.words.weight = self.head.weight
        self.apply(small_weights)

    def forward(self, ids, targets):
        places = torch.arange(0, ids.size(1), dtype=torch.long, device=ids.device)
        x = self.words(ids) + self.places(places)
        for layer in self.layers:
            x = layer(x)
        scores = self.head(self.norm(x))
        return F.cross_entropy(scores.view(-1, scores.size(-1)), targets.view(-1), ignore_index=-1), scores


def nano_gpt(batch, device, vocab=50304, seq=512):
    """nanoGPT: six layers of 768, 512 words."""
    return stated(NanoGpt(vocab, seq), random_words(vocab, batch, seq, device), random_words(vocab, batch, seq, device), seq)


class LoneHead(nn.Module):
    """One head of causal attention with layers of its own, written out."""

    def __init__(self, width, size, seq, dropout):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(width, size, bias=False) for _ in range(3))
        self.register_buffer("seen", torch.tril(torch.ones(seq, seq)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        seq = x.shape[1]
        k, q = self.key(x), self.query(x)
        weights = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        weights = F.softmax(weights.masked_fill(self.seen[:seq, :seq] == 0, float("-inf")), dim=-1)
        return self.dropout(weights) @ self.value(x)


class LoneHeadsLayer(nn.Module):
    """Heads one after the other, put side by side, and a ReLU between two layers."""

    def __init__(self, width, heads, seq, dropout=0.2):
        super().__init__()
        self.heads = nn.ModuleList(LoneHead(width, width // heads, seq, dropout) for _ in range(heads))
        self.out, self.dropout = nn.Linear(width, width), nn.Dropout(dropout)
        self.step = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width), nn.Dropout(dropout))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.dropout(self.out(torch.cat([head(y) for head in self.heads], dim=-1)))
        return x + self.step(self.norm2(x))


class LetterGpt(nn.Module):
    """The decoder of letters that lectures write: each head a module, the loss in its forward pass."""

    def __init__(self, vocab=65, width=384, heads=6, layers=6, seq=256):
        super().__init__()
        self.letters, self.places = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.layers = nn.Sequential(*[LoneHeadsLayer(width, heads, seq) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab)

    def forward(self, ids, targets):
        batch, seq = ids.shape
        x = self.letters(ids) + self.places(torch.arange(seq, device=ids.device))
        scores = self.head(self.norm(self.layers(x)))
        return F.cross_entropy(scores.view(batch * seq, -1), targets.view(batch * seq)), scores


def lone_heads(batch, device, seq=256):
    """Letters through six layers of 384, six heads each computed alone."""
    return stated(LetterGpt(seq=seq), random_words(65, batch, seq, device), random_words(65, batch, seq, device), seq)


class GroupedLayer(nn.Module):
    """A layer as LitGPT writes Llama's: one product whose rows go by groups of queries, halves turned, a gated MLP."""

    def __init__(self, width, heads, groups, inner):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.size, bias=False)
        self.out, self.down = nn.Linear(width, width, bias=False), nn.Linear(inner, width, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)

    @staticmethod
    def turned(x, cos, sin):
        one, other = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
        return (x * cos + torch.cat((-other, one), dim=-1) * sin).to(x.dtype)

    def attend(self, x, cos, sin):
        batch, seq, width = x.shape
        each = self.heads // self.groups
        qkv = self.qkv(x).view(batch, seq, self.groups, each + 2, self.size).permute(0, 2, 3, 1, 4)
        q, k, v = qkv.split((each, 1, 1), dim=2)
        k, v = (y.expand(batch, self.groups, each, seq, self.size) for y in (k, v))
        q, k, v = (y.reshape(batch, -1, seq, self.size) for y in (q, k, v))
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        seen = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, scale=self.size ** -0.5, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, seq, width))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.norm1(x), cos, sin)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class GroupedLlama(nn.Module):
    """A decoder like Llama whose cosines and sines are buffers of two equal halves."""

    def __init__(self, vocab=32000, width=1024, heads=16, groups=4, inner=2816, layers=6, seq=1024):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(GroupedLayer(width, heads, groups, inner) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocab, bias=False)
        size = width // heads
        angles = torch.outer(torch.arange(seq), 10000.0 ** (-torch.arange(0, size, 2).float() / size)).repeat(1, 2)
        self.register_buffer("cos", torch.cos(angles), persistent=False)
        self.register_buffer("sin", torch.sin(angles), persistent=False)
        self.apply(small_weights)

    def forward(self, ids):
        seq = ids.size(1)
        x, cos, sin = self.words(ids), self.cos[:seq], self.sin[:seq]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def lit_llama(batch, device, vocab=32000, seq=1024):
    """LitGPT's Llama: six layers of 1024, sixteen heads in four groups; each word foretells the next."""
    ids = random_words(vocab, batch, seq, device)

    def loss(scores):
        return F.cross_entropy(scores[:, :-1].reshape(-1, vocab).float(), ids[:, 1:].reshape(-1))
    return Workload(GroupedLlama(vocab, seq=seq).to(device), (ids,), loss, ADAMW, {"seq": seq})


class RoomyExperts(nn.Module):
    """Eight experts with room for five quarters of their share: words are put into their rows by number, and those too many left out."""

    def __init__(self, width, experts=8):
        super().__init__()
        self.experts = experts
        self.choose = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(0.02 * torch.randn(experts, width, 4 * width))
        self.down = nn.Parameter(0.02 * torch.randn(experts, 4 * width, width))

    def places(self, chosen, room):
        """The row of each choice, the first choices of all words before the second ones; the last row for those left out."""
        order = chosen.t().reshape(-1)
        marks = F.one_hot(order, self.experts)
        rank = (marks.cumsum(dim=0) * marks).sum(dim=1) - 1
        return torch.where(rank < room, order * room + rank, self.experts * room)

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        room = rows.shape[0] * 2 * 5 // (4 * self.experts)
        scores = self.choose(rows)
        best, chosen = scores.topk(2, dim=-1)
        weights, places = F.softmax(best, dim=-1), self.places(chosen, room)
        spread = rows.new_zeros(self.experts * room + 1, rows.shape[1])
        spread[places] = rows.repeat(2, 1)
        inner = F.gelu(torch.bmm(spread[:-1].view(self.experts, room, -1), self.up))
        done = torch.bmm(inner, self.down).view(self.experts * room, -1)
        done = torch.cat([done, done.new_zeros(1, done.shape[1])])
        out = (done[places] * weights.t().reshape(-1, 1)).view(2, *rows.shape).sum(dim=0)
        share = F.one_hot(chosen, self.experts).float().sum(dim=1).mean(dim=0)
        even = self.experts * (share * F.softmax(scores, dim=-1).mean(dim=0)).sum() / 2
        return out.view_as(x), 0.01 * even + 0.001 * torch.logsumexp(scores, dim=-1).pow(2).mean()


class ExpertLayer(NanoLayer):
    """A layer of nanoGPT with experts in place of its MLP."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.up = self.down = None
        self.experts = RoomyExperts(width)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        y, even = self.experts(self.norm2(x))
        return x + y, even


class NanoMoe(nn.Module):
    """nanoGPT with experts in every other layer; how unevenly they are chosen counts in the loss."""

    def __init__(self, vocab=50304, seq=512, width=512, heads=8, layers=6):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.plain = nn.ModuleList(NanoLayer(width, heads) for _ in range(layers // 2))
        self.routed = nn.ModuleList(ExpertLayer(width, heads) for _ in range(layers // 2))
        self.norm, self.head = nn.LayerNorm(width, bias=False), nn.Linear(width, vocab, bias=False)
        self.words.weight = self.head.weight
        self.apply(small_weights)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(ids.size(1), device=ids.device))
        uneven = 0.0
        for plain, routed in zip(self.plain, self.routed):
            x, even = routed(plain(x))
            uneven = uneven + even
        scores = self.head(self.norm(x))
        return F.cross_entropy(scores.view(-1, scores.size(-1)), targets.view(-1), ignore_index=-1) + uneven, scores


def nano_moe(batch, device, vocab=50304, seq=512):
    """nanoMoE: six layers of 512, eight experts in three of them, two for each word."""
    return stated(NanoMoe(vocab, seq), random_words(vocab, batch, seq, device), random_words(vocab, batch, seq, device), seq)


class SimpleAttention(nn.Module):
    """Attention as lucidrains writes it: the norm inside, no biases, products and a softmax."""

    def __init__(self, width, heads=8, size=64):
        super().__init__()
        self.heads, self.scale = heads, size ** -0.5
        self.norm, self.attend = nn.LayerNorm(width), nn.Softmax(dim=-1)
        self.qkv, self.out = nn.Linear(width, 3 * heads * size, bias=False), nn.Linear(heads * size, width, bias=False)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, dim=-1))
        weights = self.attend(torch.matmul(q, k.transpose(-1, -2)) * self.scale)
        return self.out(torch.matmul(weights, v).transpose(1, 2).flatten(2))


def waves_2d(side, width):
    """Sines and cosines of rows and columns: [side * side, width]."""
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    rates = 1.0 / 10000 ** (torch.arange(width // 4) / (width // 4 - 1))
    y, x = y.flatten()[:, None] * rates, x.flatten()[:, None] * rates
    return torch.cat((x.sin(), x.cos(), y.sin(), y.cos()), dim=1)


class SimpleVit(nn.Module):
    """SimpleViT: patches through norm, layer and norm, waves for places, the mean of the last layer to classes."""

    def __init__(self, width=512, layers=8, size=224, patch=16, classes=1000):
        super().__init__()
        self.patch, cells = patch, 3 * patch * patch
        self.embed = nn.Sequential(nn.LayerNorm(cells), nn.Linear(cells, width), nn.LayerNorm(width))
        self.register_buffer("places", waves_2d(size // patch, width), persistent=False)
        self.attention = nn.ModuleList(SimpleAttention(width) for _ in range(layers))
        self.steps = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                                                 nn.Linear(4 * width, width)) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, pictures):
        batch, depth, high, wide = pictures.shape
        x = pictures.view(batch, depth, high // self.patch, self.patch, wide // self.patch, self.patch)
        x = self.embed(x.permute(0, 2, 4, 3, 5, 1).reshape(batch, -1, depth * self.patch ** 2))
        x = x + self.places
        for attention, step in zip(self.attention, self.steps):
            x = attention(x) + x
            x = step(x) + x
        return self.head(self.norm(x).mean(dim=1))


def simple_vit(batch, device):
    """SimpleViT: eight layers of 512 on 196 patches."""
    target = torch.randint(0, 1000, (batch,), device=device)
    return Workload(SimpleVit().to(device), (torch.randn(batch, 3, 224, 224, device=device),), class_loss(target), ADAMW)


class TypedNorm(nn.LayerNorm):
    """A norm that gives back the type that it was given."""

    def forward(self, x):
        return super().forward(x).to(x.dtype)


class ClipBlock(nn.Module):
    """A block of OpenCLIP around nn.MultiheadAttention."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = TypedNorm(width), TypedNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.step = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask=None):
        y = self.norm1(x)
        mask = mask.to(x.dtype) if mask is not None else None
        x = x + self.attention(y, y, y, need_weights=False, attn_mask=mask)[0]
        return x + self.step(self.norm2(x))


class ClipPictures(nn.Module):
    """Patches and a class before them; what stands at the class, in the common width."""

    def __init__(self, width, layers, shared, size=224, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch, bias=False)
        self.kind = nn.Parameter(width ** -0.5 * torch.randn(width))
        self.places = nn.Parameter(width ** -0.5 * torch.randn((size // patch) ** 2 + 1, width))
        self.before, self.after = TypedNorm(width), TypedNorm(width)
        self.blocks = nn.ModuleList(ClipBlock(width, width // 64) for _ in range(layers))
        self.shared = nn.Parameter(width ** -0.5 * torch.randn(width, shared))

    def forward(self, pictures):
        x = self.patches(pictures)
        x = x.reshape(x.shape[0], x.shape[1], -1).permute(0, 2, 1)
        kind = self.kind.view(1, 1, -1).expand(x.shape[0], -1, -1).to(x.dtype)
        x = self.before(torch.cat([kind, x], dim=1) + self.places.to(x.dtype))
        for block in self.blocks:
            x = block(x)
        return self.after(x)[:, 0] @ self.shared


class OpenClip(nn.Module):
    """OpenCLIP's two towers; words are taken where their highest number, the end, stands, and the scale is learnt."""

    def __init__(self, vocab=49408, seq=77, seen=(512, 8), told=(512, 6), shared=512):
        super().__init__()
        self.seen = ClipPictures(*seen, shared)
        width, layers = told
        self.words, self.places = nn.Embedding(vocab, width), nn.Parameter(0.01 * torch.randn(seq, width))
        self.blocks = nn.ModuleList(ClipBlock(width, width // 64) for _ in range(layers))
        self.norm, self.shared = TypedNorm(width), nn.Parameter(width ** -0.5 * torch.randn(width, shared))
        self.scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))
        self.register_buffer("mask", torch.full((seq, seq), float("-inf")).triu_(1), persistent=False)

    def told(self, ids):
        x = self.words(ids)
        x = x + self.places.to(x.dtype)
        for block in self.blocks:
            x = block(x, self.mask)
        return self.norm(x)[torch.arange(x.shape[0], device=x.device), ids.argmax(dim=-1)] @ self.shared

    def forward(self, pictures, ids):
        return F.normalize(self.seen(pictures), dim=-1), F.normalize(self.told(ids), dim=-1), self.scale.exp()


def open_clip(batch, device):
    """OpenCLIP: eight layers of 512 on 196 patches, six on 77 words; each picture finds its words and each text its picture."""
    own = torch.arange(batch, device=device)

    def loss(out):
        pictures, words, scale = out
        alike = scale * pictures @ words.T
        return (F.cross_entropy(alike, own) + F.cross_entropy(alike.T, own)) / 2
    inputs = torch.randn(batch, 3, 224, 224, device=device), random_words(49408, batch, 77, device)
    return Workload(OpenClip().to(device), inputs, loss, ADAMW, {"seq": 77})


class WrittenNorm(nn.Module):
    """A norm of mean and spread by tensors' own operations."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean, spread = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.weight * (x - mean) / (spread + 1e-6) + self.bias


class MaskedItemsLayer(nn.Module):
    """A layer of BERT4Rec: norms first, attention written out with what is empty hidden, a GELU by its tanh."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.projections, self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(3)), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = WrittenNorm(width), WrittenNorm(width)

    def attend(self, x, mask):
        batch = x.size(0)
        q, k, v = (layer(x).view(batch, -1, self.heads, x.size(-1) // self.heads).transpose(1, 2) for layer in self.projections)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        weights = self.dropout(F.softmax(scores.masked_fill(mask == 0, -1e4), dim=-1))
        return self.out(torch.matmul(weights, v).transpose(1, 2).contiguous().view(batch, -1, x.size(-1)))

    def forward(self, x, mask):
        x = x + self.dropout(self.attend(self.norm1(x), mask))
        y = self.up(self.norm2(x))
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3))))
        return self.dropout(x + self.dropout(self.down(self.dropout(y))))


class MaskedItems(nn.Module):
    """BERT4Rec: what a user chose, some of it hidden, through two layers to all items."""

    def __init__(self, items=26744, width=256, heads=4, layers=2, seq=100, dropout=0.1):
        super().__init__()
        self.items, self.places = nn.Embedding(items + 2, width, padding_idx=0), nn.Embedding(seq, width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(MaskedItemsLayer(width, heads, dropout) for _ in range(layers))
        self.head = nn.Linear(width, items + 1)

    def forward(self, ids):
        mask = (ids > 0).unsqueeze(1).repeat(1, ids.size(1), 1).unsqueeze(1)
        x = self.dropout(self.items(ids) + self.places.weight.unsqueeze(0).repeat(ids.size(0), 1, 1))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def masked_items(batch, device, items=26744, seq=100):
    """BERT4Rec: two layers of 256 over 100 of 26,744 items; the loss leaves out what was not hidden, which is four fifths."""
    ids = random_words(items, batch, seq, device)
    hidden = torch.rand(batch, seq, device=device) < 0.2
    labels = torch.where(hidden, ids, 0)

    def loss(scores):
        return F.cross_entropy(scores.view(-1, scores.size(-1)), labels.view(-1), ignore_index=0)
    return Workload(MaskedItems(items, seq=seq).to(device), (torch.where(hidden, items + 1, ids),), loss, ADAMW, {"seq": seq})


KNOWN = {
    "nano_gpt": nano_gpt, "lone_heads": lone_heads, "lit_llama": lit_llama, "nano_moe": nano_moe, "simple_vit": simple_vit,
    "open_clip": open_clip, "masked_items": masked_items, **DRAWN, **SENSED,
}
