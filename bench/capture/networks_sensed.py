"""Networks of points, molecules, frames, sounds, scans and speech in the forms in which well-known public repositories write them."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_answers import random_words
from networks_libraries import towards
from workload import ADAMW, Workload


def beside_each(points, near):
    """Rows of `points` by given numbers: [batch, places, neighbours, width]."""
    rows = near.flatten(1).unsqueeze(-1).expand(-1, -1, points.shape[-1])
    return torch.gather(points, 1, rows).view(*near.shape, -1)


class SetAbstraction(nn.Module):
    """A layer of PointNet++: neighbours relative to their centre through 1 x 1 convolutions, and the highest of them."""

    def __init__(self, before, widths):
        super().__init__()
        pairs = list(zip([before, *widths], widths))
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 1) for a, b in pairs)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b in pairs)

    def forward(self, places, centres, near, features):
        group = beside_each(places, near) - centres.unsqueeze(2)
        if features is not None:
            group = torch.cat([group, beside_each(features, near)], dim=-1)
        return self.highest(group)

    def highest(self, group):
        x = group.permute(0, 3, 2, 1)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x)))
        return torch.max(x, 2)[0].permute(0, 2, 1)


class NearPoints(nn.Module):
    """PointNet++ for classes of things; which points are centres and which neighbours is given."""

    def __init__(self, classes=40):
        super().__init__()
        self.one, self.two = SetAbstraction(3, (64, 64, 128)), SetAbstraction(131, (128, 128, 256))
        self.all = SetAbstraction(259, (256, 512, 1024))
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.4), nn.Linear(512, 256),
                                  nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.4), nn.Linear(256, classes))

    def forward(self, places, first, near, second, nearer):
        some = beside_each(places, first.unsqueeze(-1)).squeeze(2)
        x = self.one(places, some, near, None)
        few = beside_each(some, second.unsqueeze(-1)).squeeze(2)
        x = self.two(some, few, nearer, x)
        x = self.all.highest(torch.cat([few, x], dim=-1).unsqueeze(1))
        return F.log_softmax(self.head(x.flatten(1)), dim=-1)


def near_points(batch, device, points=1024):
    """PointNet++: 512 centres with 32 neighbours of 1024 points, then 128 with 64."""
    def numbers(most, *sizes):
        return torch.randint(0, most, (batch, *sizes), device=device)
    inputs = (torch.rand(batch, points, 3, device=device), numbers(points, 512), numbers(points, 512, 32), numbers(512, 128),
              numbers(512, 128, 64))
    target = numbers(40)
    return Workload(NearPoints().to(device), inputs, lambda out: F.nll_loss(out.float(), target), ADAMW)


class IsomorphismLayer(nn.Module):
    """A layer of a graph isomorphism network: what neighbours tell through their edges is added up."""

    def __init__(self, width, kinds):
        super().__init__()
        self.edges = nn.ModuleList(nn.Embedding(most, width) for most in kinds)
        self.own = nn.Parameter(torch.zeros(1))
        self.step = nn.Sequential(nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x, pairs, edges):
        edge = sum(kind(edges[:, place]) for place, kind in enumerate(self.edges))
        told = F.relu(x.index_select(0, pairs[0]) + edge)
        heard = told.new_zeros(x.shape).index_add_(0, pairs[1], told)
        return self.norm(self.step((1 + self.own) * x + heard))


class Isomorphism(nn.Module):
    """Five layers of 300 over atoms, the mean of each molecule to tasks, as Open Graph Benchmark's example."""

    def __init__(self, kinds, bonds, width=300, layers=5, tasks=128):
        super().__init__()
        self.atoms = nn.ModuleList(nn.Embedding(most, width) for most in kinds)
        self.layers = nn.ModuleList(IsomorphismLayer(width, bonds) for _ in range(layers))
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(width, tasks)

    def forward(self, atoms, pairs, edges, molecule, sizes):
        x = sum(kind(atoms[:, place]) for place, kind in enumerate(self.atoms))
        for place, layer in enumerate(self.layers):
            x = layer(x, pairs, edges)
            x = self.dropout(F.relu(x) if place + 1 < len(self.layers) else x)
        total = x.new_zeros(sizes.shape[0], x.shape[1]).index_add_(0, molecule, x)
        return self.head(total / sizes.unsqueeze(1))


def isomorphism(batch, device, atoms=26, bonds=56):
    """A graph isomorphism network on molecules of 26 atoms and 56 directed bonds, 128 tasks."""
    kinds, edges = (119, 5, 12, 12, 10, 6, 6, 2, 2), (5, 6, 2)
    x = torch.stack([torch.randint(0, most, (batch * atoms,), device=device) for most in kinds], dim=1)
    bond = torch.stack([torch.randint(0, most, (batch * bonds,), device=device) for most in edges], dim=1)
    first = atoms * torch.arange(batch, device=device).repeat_interleave(bonds)
    pairs = first + torch.randint(0, atoms, (2, batch * bonds), device=device)
    molecule = torch.arange(batch, device=device).repeat_interleave(atoms)
    target = torch.randint(0, 2, (batch, 128), device=device).float()
    inputs = x, pairs, bond, molecule, torch.full((batch,), float(atoms), device=device)

    def loss(out):
        return F.binary_cross_entropy_with_logits(out.float(), target)
    return Workload(Isomorphism(kinds, edges).to(device), inputs, loss, ADAMW)


class ConvCell(nn.Module):
    """A cell of an LSTM whose gates are one convolution of what is seen and what is kept."""

    def __init__(self, seen, width):
        super().__init__()
        self.width, self.conv = width, nn.Conv2d(seen + width, 4 * width, 3, padding=1)

    def forward(self, x, state):
        kept, cell = state
        i, f, o, g = torch.split(self.conv(torch.cat([x, kept], dim=1)), self.width, dim=1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell


class ConvLstm(nn.Module):
    """Two layers of such cells over frames, one layer after the other; the next frame from what the last one keeps."""

    def __init__(self, seen=1, width=64, layers=2):
        super().__init__()
        self.width, self.last = width, nn.Conv2d(width, seen, 1)
        self.cells = nn.ModuleList(ConvCell(seen if place == 0 else width, width) for place in range(layers))

    def forward(self, frames):
        batch, count, _, high, wide = frames.size()
        for cell in self.cells:
            state = tuple(torch.zeros(batch, self.width, high, wide, device=frames.device, dtype=frames.dtype) for _ in range(2))
            out = []
            for place in range(count):
                state = cell(frames[:, place], state)
                out.append(state[0])
            frames = torch.stack(out, dim=1)
        return torch.sigmoid(self.last(frames[:, -1]))


def conv_lstm(batch, device, frames=8, size=64):
    """ConvLSTM: two layers of 64 over eight frames of 64 x 64."""
    clips = torch.rand(batch, frames, 1, size, size, device=device)
    return towards(ConvLstm(), (clips,), (batch, 1, size, size))


class Demucs(nn.Module):
    """Demucs: sounds through five strided convolutions and gated ones, an LSTM both ways, and back; compiled, the graph breaks at
    the LSTM."""

    def __init__(self, width=48, depth=5, sources=4, channels=2):
        super().__init__()
        widths = [channels, *[width << level for level in range(depth)]]
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for place, (a, b) in enumerate(zip(widths, widths[1:])):
            self.encoder.append(nn.Sequential(nn.Conv1d(a, b, 8, 4), nn.ReLU(), nn.Conv1d(b, 2 * b, 1), nn.GLU(dim=1)))
            last = [nn.ConvTranspose1d(b, a if place else sources * channels, 8, 4), *([nn.ReLU()] if place else [])]
            self.decoder.insert(0, nn.Sequential(nn.Conv1d(b, 2 * b, 3, padding=1), nn.GLU(dim=1), *last))
        end = widths[-1]
        self.lstm, self.joined = nn.LSTM(end, end, 2, bidirectional=True), nn.Linear(2 * end, end)
        self.sources, self.channels = sources, channels

    def forward(self, sounds):
        x, kept = sounds, []
        for layer in self.encoder:
            x = layer(x)
            kept.append(x)
        x = self.joined(self.lstm(x.permute(2, 0, 1))[0]).permute(1, 2, 0)
        for layer in self.decoder:
            x = layer(x + kept.pop())
        return x.view(x.size(0), self.sources, self.channels, x.size(-1))


def demucs(batch, device, samples=66900):
    """Demucs, 48 to 768 channels, on a second and a half in stereo, into four sources."""
    return towards(Demucs(), (torch.randn(batch, 2, samples, device=device),), (batch, 4, 2, samples))


def volume_pair(before, after):
    """Two convolutions of volumes with instance norms and leaky units."""
    layers = []
    for a in (before, after):
        layers += [nn.Conv3d(a, after, 3, padding=1), nn.InstanceNorm3d(after, affine=True), nn.LeakyReLU(0.01, inplace=True)]
    return nn.Sequential(*layers)


class VolumeUnet(nn.Module):
    """A 3-D U-Net: maxima halve the volume, transposed convolutions bring it back, and what was kept is put beside."""

    def __init__(self, seen=4, classes=3, width=32, levels=4):
        super().__init__()
        widths = [width << level for level in range(levels)]
        self.down = nn.ModuleList(volume_pair(a, b) for a, b in zip([seen, *widths], widths))
        self.pool = nn.MaxPool3d(2)
        self.grow = nn.ModuleList(nn.ConvTranspose3d(2 * a, a, 2, 2) for a in widths[-2::-1])
        self.up = nn.ModuleList(volume_pair(2 * a, a) for a in widths[-2::-1])
        self.last = nn.Conv3d(width, classes, 1)

    def forward(self, x):
        kept = []
        for place, level in enumerate(self.down):
            x = level(self.pool(x) if place else x)
            kept.append(x)
        kept.pop()
        for grow, up in zip(self.grow, self.up):
            x = up(torch.cat((kept.pop(), grow(x)), dim=1))
        return self.last(x)


def volume_unet(batch, device, size=64):
    """A 3-D U-Net of 32 to 256 channels on four scans of 64 x 64 x 64; shares that overlap and cross entropy of each class."""
    truth = torch.randint(0, 2, (batch, 3, size, size, size), device=device).float()

    def loss(scores):
        scores = scores.float()
        share = torch.sigmoid(scores)
        both, all_ = (share * truth).sum(dim=(2, 3, 4)), (share * share).sum(dim=(2, 3, 4)) + truth.sum(dim=(2, 3, 4))
        return F.binary_cross_entropy_with_logits(scores, truth) + 1 - (2 * both / all_.clamp(min=1e-6)).mean()
    return Workload(VolumeUnet().to(device), (torch.randn(batch, 4, size, size, size, device=device),), loss, ADAMW)


class SpeechLayer(nn.Module):
    """FastSpeech 2's layer: heads as further examples, dropout, norms behind, convolutions of nine and one between words."""

    def __init__(self, width=256, heads=2, inner=1024, dropout=0.2):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.one, self.two = nn.Conv1d(width, inner, 9, padding=4), nn.Conv1d(inner, width, 1)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x, mask):
        batch, seq, width = x.size()
        size = width // self.heads
        q, k, v = (layer(x).view(batch, seq, self.heads, size) for layer in (self.q, self.k, self.v))
        q, k, v = (y.permute(2, 0, 1, 3).contiguous().view(-1, seq, size) for y in (q, k, v))
        scores = torch.bmm(q, k.transpose(1, 2)) / size ** 0.5
        weights = torch.softmax(scores.masked_fill(mask.repeat(self.heads, 1, 1), float("-inf")), dim=2)
        y = torch.bmm(weights, v).view(self.heads, batch, seq, size)
        return self.out(y.permute(1, 2, 0, 3).contiguous().view(batch, seq, -1))

    def forward(self, x, empty):
        mask = empty.unsqueeze(1).expand(-1, empty.shape[1], -1)
        x = self.norm1(self.dropout(self.attend(x, mask)) + x).masked_fill(empty.unsqueeze(-1), 0)
        y = self.two(F.relu(self.one(x.transpose(1, 2)))).transpose(1, 2)
        return self.norm2(self.dropout(y) + x).masked_fill(empty.unsqueeze(-1), 0)


class Turned(nn.Module):
    """A module over [batch, places, width] with places last."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x.transpose(1, 2)).transpose(1, 2)


def foreteller(width=256):
    """FastSpeech 2's guess of a number a phoneme: two convolutions with norms."""
    layers = []
    for _ in range(2):
        layers += [Turned(nn.Conv1d(width, width, 3, padding=1)), nn.ReLU(), nn.LayerNorm(width), nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.Linear(width, 1))


class FastSpeech(nn.Module):
    """FastSpeech 2: phonemes through four layers, their lengths, pitch and loudness, frames through six, five convolutions last."""

    def __init__(self, vocab=360, width=256, mels=80, most=1000):
        super().__init__()
        self.words = nn.Embedding(vocab, width, padding_idx=0)
        angles = torch.arange(most)[:, None] / 10000 ** (2 * (torch.arange(width) // 2) / width)
        waves = torch.stack((angles[:, 0::2].sin(), angles[:, 1::2].cos()), dim=-1).flatten(1)
        self.register_buffer("waves", waves[None], persistent=False)
        self.encoder = nn.ModuleList(SpeechLayer(width) for _ in range(4))
        self.decoder = nn.ModuleList(SpeechLayer(width) for _ in range(6))
        self.length, self.pitch, self.loudness = (foreteller(width) for _ in range(3))
        self.register_buffer("bins", torch.linspace(-2, 2, 255))
        self.pitches, self.loudnesses = nn.Embedding(256, width), nn.Embedding(256, width)
        self.mel = nn.Linear(width, mels)
        widths = [mels, 512, 512, 512, 512, mels]
        self.after = nn.Sequential(*[nn.Sequential(nn.Conv1d(a, b, 5, padding=2), nn.BatchNorm1d(b),
                                                   *([nn.Tanh()] if place < 4 else []), nn.Dropout(0.5))
                                     for place, (a, b) in enumerate(zip(widths, widths[1:]))])

    def guess(self, predictor, x, empty):
        return predictor(x).squeeze(-1).masked_fill(empty, 0.0)

    def forward(self, ids, lengths, pitch, loudness, source, frames):
        empty = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0) >= lengths.unsqueeze(1)
        x = self.words(ids) + self.waves[:, :ids.shape[1]]
        for layer in self.encoder:
            x = layer(x, empty)
        guesses = [self.guess(self.length, x, empty), self.guess(self.pitch, x, empty)]
        x = x + self.pitches(torch.bucketize(pitch, self.bins))
        guesses.append(self.guess(self.loudness, x, empty))
        x = x + self.loudnesses(torch.bucketize(loudness, self.bins))
        x = torch.gather(x, 1, source.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        x = x + self.waves[:, :x.shape[1]]
        empty = torch.arange(x.shape[1], device=ids.device).unsqueeze(0) >= frames.unsqueeze(1)
        for layer in self.decoder:
            x = layer(x, empty)
        mel = self.mel(x)
        return mel, self.after(mel.transpose(1, 2)).transpose(1, 2) + mel, *guesses


def fast_speech(batch, device, phonemes=96, frames=512):
    """FastSpeech 2: 96 phonemes to 512 frames of 80 mels, layers of 256; which phoneme a frame belongs to is given."""
    def numbers(*sizes):
        return torch.randn(batch, *sizes, device=device)
    source = torch.randint(0, phonemes, (batch, frames), device=device).sort(dim=1)[0]
    full, filled = (torch.full((batch,), most, device=device) for most in (phonemes, frames))
    inputs = random_words(360, batch, phonemes, device), full, numbers(phonemes), numbers(phonemes), source, filled
    mel, values = numbers(frames, 80), [numbers(phonemes) for _ in range(3)]

    def loss(out):
        near = sum(F.l1_loss(told.float(), mel) for told in out[:2])
        return near + sum(F.mse_loss(guess.float(), value) for guess, value in zip(out[2:], values))
    return Workload(FastSpeech().to(device), inputs, loss, ADAMW)


SENSED = {
    "near_points": near_points, "isomorphism": isomorphism, "conv_lstm": conv_lstm, "demucs": demucs, "volume_unet": volume_unet,
    "fast_speech": fast_speech,
}
