"""Networks as people write them for other aims than classes: noise of pictures and texts, preferences, pictures twice as large, series, speech."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

from networks_libraries import towards
from workload import ADAMW, SGD, Workload, class_loss


class JointLayer(nn.Module):
    """Pictures and words keep weights of their own and attend to each other as one sequence (SD 3's MM-DiT)."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.shifts = nn.ModuleList(nn.Linear(width, 6 * width) for _ in range(2))
        self.into = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.alike = nn.ModuleList(nn.RMSNorm(width // heads) for _ in range(4))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)) for _ in range(2))

    def forward(self, both, time):
        parts = [shifts(F.silu(time)).unsqueeze(1).chunk(6, -1) for shifts in self.shifts]
        normed = [F.layer_norm(x, x.shape[-1:]) * (1 + p[1]) + p[0] for x, p in zip(both, parts)]
        rows = [into(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind() for into, x in zip(self.into, normed)]
        q = torch.cat([self.alike[i](r[0]) for i, r in enumerate(rows)], 2)
        k = torch.cat([self.alike[2 + i](r[1]) for i, r in enumerate(rows)], 2)
        v = torch.cat([r[2] for r in rows], 2)
        mixed = F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype)).transpose(1, 2).flatten(2)
        mixed = mixed.split([x.shape[1] for x in both], 1)
        both = [x + p[2] * out(y) for x, p, out, y in zip(both, parts, self.out, mixed)]
        return [x + p[5] * mlp(F.layer_norm(x, x.shape[-1:]) * (1 + p[4]) + p[3]) for x, p, mlp in zip(both, parts, self.mlps)]


class JointNoise(nn.Module):
    """Velocity of a latent picture at a time of noise, told by a text."""

    def __init__(self, width=512, heads=8, layers=8, told=768):
        super().__init__()
        self.patches = nn.Conv2d(16, width, 2, stride=2)
        self.words, self.time = nn.Linear(told, width), nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(JointLayer(width, heads) for _ in range(layers))
        self.last = nn.Linear(width, 64)

    def forward(self, latent, text, time):
        angles = time.unsqueeze(1) * torch.exp(-torch.arange(128, device=time.device) * 0.07)
        when = self.time(torch.cat([angles.cos(), angles.sin()], 1))
        tiles = self.patches(latent)
        both = [tiles.flatten(2).transpose(1, 2), self.words(text)]
        for layer in self.layers:
            both = layer(both, when)
        y = self.last(both[0]).transpose(1, 2).unflatten(2, tiles.shape[2:])
        return F.pixel_shuffle(y, 2)


def mmdit(batch, device, side=32, words=77):
    latent = torch.randn(batch, 16, side, side, device=device)
    inputs = (latent, torch.randn(batch, words, 768, device=device), torch.rand(batch, device=device))
    return towards(JointNoise(), inputs, latent.shape)


class SlowAndFast(nn.Module):
    """Few frames with many channels and many frames with few, which tell the first what moves (SlowFast)."""

    def __init__(self, classes=400, widths=((32, 8), (64, 8), (128, 16), (256, 32))):
        super().__init__()
        self.slow, self.fast, self.across = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        came = [3, 3]
        for i, (wide, thin) in enumerate(widths):
            step = (1, 2, 2)
            self.slow.append(self.layers(came[0], wide, (1 if i < 2 else 3, 3, 3), step))
            self.fast.append(self.layers(came[1], thin, (3, 3, 3), step))
            self.across.append(nn.Conv3d(thin, 2 * thin, (5, 1, 1), stride=(8, 1, 1), padding=(2, 0, 0), bias=False))
            came = [wide + 2 * thin, thin]
        self.last = nn.Linear(sum(came), classes)

    @staticmethod
    def layers(inputs, outputs, window, stride):
        around = tuple(side // 2 for side in window)
        return nn.Sequential(nn.Conv3d(inputs, outputs, window, stride, around, bias=False), nn.BatchNorm3d(outputs), nn.ReLU(),
                             nn.Conv3d(outputs, outputs, window, 1, around, bias=False), nn.BatchNorm3d(outputs), nn.ReLU())

    def forward(self, clip):
        slow, fast = clip[:, :, ::8], clip
        for one, other, across in zip(self.slow, self.fast, self.across):
            fast = other(fast)
            slow = torch.cat([one(slow), across(fast)], 1)
        return self.last(torch.cat([slow.mean((2, 3, 4)), fast.mean((2, 3, 4))], 1))


def slow_and_fast(batch, device, size=112, frames=32):
    target = torch.randint(0, 400, (batch,), device=device)
    return Workload(SlowAndFast().to(device), (torch.randn(batch, 3, frames, size, size, device=device),), class_loss(target), SGD)


class Blocks(nn.Module):
    """A series is explained block by block: each takes its part away and adds what it expects (N-BEATS)."""

    def __init__(self, past=96, ahead=24, width=512, blocks=12):
        super().__init__()
        self.past = past
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(past, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                                  nn.Linear(width, width), nn.ReLU(), nn.Linear(width, past + ahead)) for _ in range(blocks))

    def forward(self, series):
        level = series.abs().amax(1, keepdim=True)
        left, expected = series / level, 0
        for block in self.blocks:
            back, ahead = block(left).split([self.past, 24], 1)
            left, expected = F.relu(left - back), expected + ahead
        return expected * level


def n_beats(batch, device):
    return towards(Blocks(), (torch.randn(batch, 96, device=device),), (batch, 24))


class EdgeLayer(nn.Module):
    """A point is told by its twenty nearest, found anew among the features of each layer (DGCNN)."""

    def __init__(self, inputs, outputs, near=20):
        super().__init__()
        self.near = near
        self.layer = nn.Sequential(nn.Conv2d(2 * inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2))

    def forward(self, x):
        inner = -2 * x.transpose(1, 2) @ x
        square = (x ** 2).sum(1, keepdim=True)
        nearest = (-square - inner - square.transpose(1, 2)).topk(self.near, -1)[1]
        batch, width, points = x.shape
        rows = (nearest + torch.arange(batch, device=x.device).view(-1, 1, 1) * points).view(-1)
        others = x.transpose(1, 2).reshape(batch * points, width)[rows].view(batch, points, self.near, width)
        own = x.transpose(1, 2).unsqueeze(2).expand_as(others)
        return self.layer(torch.cat([others - own, own], 3).permute(0, 3, 1, 2)).amax(-1)


class Edges(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.layers = nn.ModuleList(EdgeLayer(i, o) for i, o in ((3, 64), (64, 64), (64, 128), (128, 256)))
        self.joined = nn.Sequential(nn.Conv1d(512, 1024, 1, bias=False), nn.BatchNorm1d(1024), nn.LeakyReLU(0.2))
        self.last = nn.Sequential(nn.Linear(2048, 512, bias=False), nn.BatchNorm1d(512), nn.LeakyReLU(0.2), nn.Dropout(), nn.Linear(512, classes))

    def forward(self, points):
        told, x = [], points
        for layer in self.layers:
            x = layer(x)
            told.append(x)
        x = self.joined(torch.cat(told, 1))
        return self.last(torch.cat([x.amax(-1), x.mean(-1)], 1))


def edges(batch, device, points=1024):
    target = torch.randint(0, 40, (batch,), device=device)
    return Workload(Edges().to(device), (torch.randn(batch, 3, points, device=device),), class_loss(target), SGD)


class Unchanged(nn.Module):
    """Two layers whose borders mirror the picture, each picture normed by itself."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width), nn.ReLU(),
                                    nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width))

    def forward(self, x):
        return x + self.layers(x)


def horses(batch, device, size=128):
    """CycleGAN's generator: mirrored borders, instance norms, six layers around nothing, transposed layers back."""
    def layer(kind, inputs, outputs, **how):
        return [kind(inputs, outputs, 3, 2, 1, **how), nn.InstanceNorm2d(outputs), nn.ReLU()]
    model = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, 64, 7), nn.InstanceNorm2d(64), nn.ReLU(),
                          *layer(nn.Conv2d, 64, 128), *layer(nn.Conv2d, 128, 256), *(Unchanged(256) for _ in range(6)),
                          *layer(nn.ConvTranspose2d, 256, 128, output_padding=1), *layer(nn.ConvTranspose2d, 128, 64, output_padding=1),
                          nn.ReflectionPad2d(3), nn.Conv2d(64, 3, 7), nn.Tanh())
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, 3, size, size))


class Sharper(nn.Module):
    """SRGAN's generator: eight layers with batch norm and learned slopes, channels shuffled into four times the pixels twice."""

    def __init__(self, width=64, layers=8):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, width, 9, padding=4), nn.PReLU())
        self.layers = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.PReLU(),
                                                  nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)) for _ in range(layers))
        self.around = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))
        self.larger = nn.Sequential(*(m for _ in range(2) for m in (nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())))
        self.last = nn.Conv2d(width, 3, 9, padding=4)

    def forward(self, picture):
        first = x = self.first(picture)
        for layer in self.layers:
            x = x + layer(x)
        return torch.tanh(self.last(self.larger(first + self.around(x))))


def sharper(batch, device, size=48):
    return towards(Sharper(), (torch.randn(batch, 3, size, size, device=device),), (batch, 3, 4 * size, 4 * size))


class Preferred(nn.Module):
    """How much more likely than to a frozen twin two answers are to a decoder, the better and the worse (DPO)."""

    def __init__(self, seq):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM
        config = LlamaConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12,
                             num_key_value_heads=4, max_position_embeddings=seq)
        self.model = LlamaForCausalLM(config)
        self.twin = copy.deepcopy(self.model).requires_grad_(False)

    @staticmethod
    def likely(model, words, asked):
        said = model(words, use_cache=False).logits[:, :-1].float().log_softmax(-1)
        each = said.gather(2, words[:, 1:].unsqueeze(2)).squeeze(2)
        return (each * asked[:, 1:]).sum(1)

    def forward(self, words, asked):
        with torch.no_grad():
            before = self.likely(self.twin, words, asked)
        return self.likely(self.model, words, asked) - before


def preferred(batch, device, seq=384):
    words = torch.randint(0, 32000, (2 * batch, seq), device=device)
    asked = (torch.arange(seq, device=device) > seq // 3).float().expand(2 * batch, -1)

    def loss(gains):
        better, worse = gains.chunk(2)
        return -F.logsigmoid(0.1 * (better - worse)).mean()
    return Workload(Preferred(seq).to(device), (words, asked), loss, ADAMW, {"seq": seq})


class Momentum(nn.Module):
    """Two views of a picture, one by a twin that follows slowly, against the views of many steps before (MoCo)."""

    def __init__(self, width=128, kept=16384):
        super().__init__()
        from torchvision.models import resnet18
        self.model = resnet18(num_classes=width)
        self.twin = copy.deepcopy(self.model).requires_grad_(False)
        self.register_buffer("kept", F.normalize(torch.randn(width, kept), dim=0))

    def forward(self, one, other):
        with torch.no_grad():
            torch._foreach_lerp_(list(self.twin.parameters()), list(self.model.parameters()), 0.001)
            key = F.normalize(self.twin(other).float(), dim=1)
        query = F.normalize(self.model(one).float(), dim=1)
        return torch.cat([(query * key).sum(1, keepdim=True), query @ self.kept], 1) / 0.07


def momentum(batch, device, size=128):
    views = tuple(torch.randn(batch, 3, size, size, device=device) for _ in range(2))
    return Workload(Momentum().to(device), views, class_loss(torch.zeros(batch, dtype=torch.long, device=device)), SGD)


class Spoken(nn.Module):
    """Frames of speech one after the other: two recurrent cells, and attention that knows where it has looked (Tacotron 2)."""

    def __init__(self, letters=80, width=512, bands=80):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.around = nn.Sequential(*(m for _ in range(3) for m in (nn.Conv1d(width, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU())))
        self.reads = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.before = nn.Sequential(nn.Linear(bands, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 256), nn.ReLU(), nn.Dropout())
        self.looks, self.says = nn.LSTMCell(256 + width, 1024), nn.LSTMCell(1024 + width, 1024)
        self.asks, self.keys = nn.Linear(1024, 128, bias=False), nn.Linear(width, 128, bias=False)
        self.place, self.score = nn.Conv1d(2, 128, 31, padding=15, bias=False), nn.Linear(128, 1, bias=False)
        self.frame = nn.Linear(1024 + width, bands)

    def forward(self, text, frames):
        told, _ = self.reads(self.around(self.letters(text).transpose(1, 2)).transpose(1, 2))
        keys, steps = self.keys(told), self.before(frames)
        batch, length, width = told.shape
        h, c, g, d = (told.new_zeros(batch, 1024) for _ in range(4))
        seen, weights, whole = told.new_zeros(batch, width), told.new_zeros(batch, length), told.new_zeros(batch, length)
        said = []
        for step in steps.unbind(1):
            h, c = self.looks(torch.cat([step, seen], 1), (h, c))
            where = self.place(torch.stack([weights, whole], 1)).transpose(1, 2)
            scores = self.score(torch.tanh(self.asks(h).unsqueeze(1) + keys + where)).squeeze(2)
            weights = scores.softmax(1)
            whole = whole + weights
            seen = torch.bmm(weights.unsqueeze(1), told).squeeze(1)
            g, d = self.says(torch.cat([h, seen], 1), (g, d))
            said.append(self.frame(torch.cat([g, seen], 1)))
        return torch.stack(said, 1)


def spoken(batch, device, letters=64, frames=24):
    target = torch.randn(batch, frames, 80, device=device)
    inputs = (torch.randint(0, 80, (batch, letters), device=device), torch.randn(batch, frames, 80, device=device))
    return Workload(Spoken().to(device), inputs, lambda out: F.l1_loss(out.float(), target), ADAMW)
