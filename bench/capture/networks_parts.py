"""Networks whose parts are seldom seen: pairs of residues, sparse choices of columns, neighbours in space, flows that are integrated,
messages that keep angles, gates between variables; and of the libraries those that no other file builds."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_images import video, vision
from networks_libraries import Applied, pictures_of, towards
from networks_own import of_words
from workload import ADAMW, SGD, Logits, Workload, class_loss


class Triangle(nn.Module):
    """Attention of pairs along one side, biased by the third side (AlphaFold 2, algorithm 13)."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.joined = nn.Linear(width, 3 * width, bias=False)
        self.bias = nn.Linear(width, heads, bias=False)
        self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, pairs):
        x = self.norm(pairs)
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in self.joined(x).chunk(3, -1))
        scores = torch.einsum("bijhd,bikhd->bhijk", q, k) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores + self.bias(x).permute(0, 3, 1, 2).unsqueeze(2), -1)
        found = torch.einsum("bhijk,bikhd->bijhd", weights, v).flatten(-2)
        return pairs + self.out(torch.sigmoid(self.gate(x)) * found)


class TriangleProduct(nn.Module):
    """The third side from products of the other two (AlphaFold 2, algorithm 11)."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.left, self.right = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, pairs):
        x = self.norm(pairs)
        a, b = F.glu(self.left(x)), F.glu(self.right(x))
        joined = self.behind(torch.einsum("bikc,bjkc->bijc", a, b))
        return pairs + torch.sigmoid(self.gate(x)) * self.out(joined)


class PairBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.product, self.sides = TriangleProduct(width), Triangle(width, heads)
        self.step = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, pairs):
        pairs = self.sides(self.product(pairs))
        pairs = self.sides(pairs.transpose(1, 2)).transpose(1, 2)
        return pairs + self.step(pairs)


def residue_pairs(batch, device, residues=96, width=64, layers=4):
    """The pairs of a small Evoformer."""
    model = nn.Sequential(*(PairBlock(width, 4) for _ in range(layers)), nn.Linear(width, 64))
    pairs = torch.randn(batch, residues, residues, width, device=device)
    return towards(model, (pairs,), (batch, residues, residues, 64))


def sparsemax(x):
    """Weights that sum to one, most of them zero."""
    x = x - x.amax(-1, keepdim=True)
    ordered, _ = x.sort(-1, descending=True)
    sums = ordered.cumsum(-1) - 1
    places = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    kept = (places * ordered > sums).sum(-1, keepdim=True)
    return F.relu(x - sums.gather(-1, kept - 1) / kept.to(x.dtype))


class TabNet(nn.Module):
    """Columns of a table chosen step by step, by masks that remember what was chosen."""

    def __init__(self, columns=128, width=128, steps=4, classes=8):
        super().__init__()
        self.norm = nn.BatchNorm1d(columns)
        self.shared = nn.Linear(columns, 4 * width)
        self.own = nn.ModuleList(nn.Linear(2 * width, 4 * width) for _ in range(steps))
        self.norms = nn.ModuleList(nn.BatchNorm1d(4 * width) for _ in range(steps))
        self.choice = nn.ModuleList(nn.Sequential(nn.Linear(width, columns, bias=False), nn.BatchNorm1d(columns)) for _ in range(steps))
        self.first = nn.Linear(columns, width)
        self.head = nn.Linear(width, classes)

    def forward(self, rows):
        x = self.norm(rows)
        prior, told, total = torch.ones_like(x), self.first(x), 0
        for own, norm, choice in zip(self.own, self.norms, self.choice):
            mask = sparsemax(choice(told) * prior)
            prior = prior * (1.5 - mask)
            decided, told = F.glu(norm(own(F.glu(self.shared(mask * x))))).chunk(2, -1)
            total = total + F.relu(decided)
        return self.head(total)


def tabnet(batch, device, columns=128):
    rows = torch.randn(batch, columns, device=device)
    return Workload(TabNet(columns).to(device), (rows,), class_loss(torch.randint(0, 8, (batch,), device=device)), ADAMW)


class PointLayer(nn.Module):
    """Each point attends to its nearest ones with weights for every channel (Point Transformer)."""

    def __init__(self, width, near):
        super().__init__()
        self.near = near
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.place = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width))
        self.weigh = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x, at):
        nearest = torch.cdist(at, at).topk(self.near, largest=False).indices
        rows = torch.arange(len(x), device=x.device)[:, None, None]
        moved = self.place((at[:, :, None] - at[rows, nearest]).to(x.dtype))
        weights = self.weigh(self.q(x)[:, :, None] - self.k(x)[rows, nearest] + moved).softmax(2)
        return self.norm(x + (weights * (self.v(x)[rows, nearest] + moved)).sum(2))


class Points(nn.Module):
    def __init__(self, width=96, layers=4, near=16, classes=40):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.layers = nn.ModuleList(PointLayer(width, near) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, at):
        x = self.first(at)
        for layer in self.layers:
            x = layer(x, at)
        return self.head(x.amax(1))


def points(batch, device, number=1024):
    at = torch.randn(batch, number, 3, device=device)
    return Workload(Points().to(device), (at,), class_loss(torch.randint(0, 40, (batch,), device=device)), ADAMW)


class Integrated(nn.Module):
    """A picture carried along a learned flow by steps of Runge and Kutta (a neural ODE)."""

    def __init__(self, width=64, steps=6, classes=10):
        super().__init__()
        self.steps = steps
        self.first = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.GroupNorm(16, width), nn.ReLU())
        self.flow = nn.Sequential(nn.GroupNorm(16, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(16, width),
                                  nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))
        self.head = nn.Linear(width, classes)

    def forward(self, pictures):
        x, h = self.first(pictures), 1 / self.steps
        for _ in range(self.steps):
            a = self.flow(x)
            b = self.flow(x + h / 2 * a)
            c = self.flow(x + h / 2 * b)
            d = self.flow(x + h * c)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return self.head(x.mean((2, 3)))


def integrated(batch, device):
    pictures = torch.randn(batch, 3, 64, 64, device=device)
    return Workload(Integrated().to(device), (pictures,), class_loss(torch.randint(0, 10, (batch,), device=device)), SGD)


class Mover(nn.Module):
    """Particles that move each other (EGNN): messages from distances of all pairs, places changed along them."""

    def __init__(self, width):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.push = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1, bias=False))
        self.change = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, x, at):
        between = at[:, :, None] - at[:, None]
        far = between.square().sum(-1, keepdim=True)
        n = x.shape[1]
        sides = [x[:, :, None].expand(-1, -1, n, -1), x[:, None].expand(-1, n, -1, -1)]
        told = self.message(torch.cat([*sides, far.to(x.dtype)], -1))
        at = at + (between / (far.sqrt() + 1) * torch.tanh(self.push(told))).mean(2)
        return x + self.change(torch.cat([x, told.sum(2)], -1)), at


class Particles(nn.Module):
    def __init__(self, width=64, layers=4):
        super().__init__()
        self.first = nn.Linear(16, width)
        self.layers = nn.ModuleList(Mover(width) for _ in range(layers))

    def forward(self, kinds, at):
        x = self.first(kinds)
        for layer in self.layers:
            x, at = layer(x, at)
        return at


def particles(batch, device, number=64):
    kinds, at = torch.randn(batch, number, 16, device=device), torch.randn(batch, number, 3, device=device)
    return towards(Particles(), (kinds, at), (batch, number, 3))


class Gated(nn.Module):
    """A residual network behind a gate (temporal fusion)."""

    def __init__(self, inside, width, out):
        super().__init__()
        self.a, self.b, self.gate = nn.Linear(inside, width), nn.Linear(width, width), nn.Linear(width, 2 * out)
        self.by = nn.Linear(inside, out) if inside != out else nn.Identity()
        self.norm = nn.LayerNorm(out)

    def forward(self, x):
        return self.norm(self.by(x) + F.glu(self.gate(self.b(F.elu(self.a(x))))))


class Fusion(nn.Module):
    """Variables of a series weighed, remembered by an LSTM, and attended to (temporal fusion transformer)."""

    def __init__(self, variables=12, width=96):
        super().__init__()
        self.width = width
        self.embed = nn.ModuleList(nn.Linear(1, width) for _ in range(variables))
        self.each = nn.ModuleList(Gated(width, width, width) for _ in range(variables))
        self.weigh = Gated(variables * width, width, variables)
        self.memory = nn.LSTM(width, width, batch_first=True)
        self.attend = nn.MultiheadAttention(width, 4, batch_first=True)
        self.last = Gated(width, width, width)
        self.head = nn.Linear(width, 3)

    def forward(self, series):
        parts = [embed(series[..., i:i + 1]) for i, embed in enumerate(self.embed)]
        weights = self.weigh(torch.cat(parts, -1)).softmax(-1).unsqueeze(-2)
        x = (torch.stack([g(p) for g, p in zip(self.each, parts)], -1) * weights).sum(-1)
        x = x + self.memory(x)[0]
        x = x + self.attend(x, x, x, need_weights=False)[0]
        return self.head(self.last(x))


def fusion(batch, device, length=192, variables=12):
    series = torch.randn(batch, length, variables, device=device)
    return towards(Fusion(variables), (series,), (batch, length, 3))


def vivit(batch, device, size=112, frames=16):
    """ViViT: tubes of a clip as words of twelve narrow layers."""
    from transformers import VivitConfig, VivitModel
    config = VivitConfig(image_size=size, num_frames=frames, hidden_size=512, num_attention_heads=8, intermediate_size=2048,
                         num_hidden_layers=8)
    model = Applied(VivitModel(config), lambda out: out.last_hidden_state[:, 0])
    return towards(model, (torch.randn(batch, frames, 3, size, size, device=device),), (batch, 512))


def imagegpt(batch, device, seq=784):
    """ImageGPT: colours of a picture of 28 x 28 one by one."""
    from transformers import ImageGPTConfig, ImageGPTForCausalImageModeling
    model = Logits(ImageGPTForCausalImageModeling(ImageGPTConfig(n_positions=seq, n_layer=8, use_cache=False)))
    return of_words(model.to(device), 512, batch, device, seq)


def conditional_detr(batch, device, size=256, queries=100):
    """Conditional DETR on a ResNet-18."""
    from transformers import ConditionalDetrConfig, ConditionalDetrModel, ResNetConfig
    trunk = ResNetConfig(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic",
                         out_features=["stage4"])
    config = ConditionalDetrConfig(backbone_config=trunk, num_queries=queries, encoder_layers=3, decoder_layers=3)
    model = Applied(ConditionalDetrModel(config), lambda out: out.last_hidden_state)
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, queries, 256))


def patchtsmixer(batch, device, length=512, channels=16):
    """PatchTSMixer: patches of many series mixed by MLPs along time, features and channels."""
    from transformers import PatchTSMixerConfig, PatchTSMixerForPrediction
    config = PatchTSMixerConfig(context_length=length, prediction_length=96, num_input_channels=channels, patch_length=16, patch_stride=8,
                                d_model=64, num_layers=6, mode="mix_channel")
    model = Applied(PatchTSMixerForPrediction(config), lambda out: out.prediction_outputs)
    return towards(model, (torch.randn(batch, length, channels, device=device),), (batch, 96, channels))


def clap(batch, device, frames=1001):
    """CLAP's ear: a Swin on spectrograms of ten seconds."""
    from transformers import ClapAudioConfig, ClapAudioModel
    model = Applied(ClapAudioModel(ClapAudioConfig(depths=[2, 2, 4, 2], drop_path_rate=0.0)), lambda out: out.pooler_output)
    return towards(model, (torch.randn(batch, 1, frames, 64, device=device),), (batch, 768))


def ctrl(batch, device, seq=256):
    """CTRL of eight layers: attention by products, positions of sines."""
    from transformers import CTRLConfig, CTRLLMHeadModel
    config = CTRLConfig(vocab_size=32000, n_positions=seq, n_embd=1024, dff=4096, n_layer=8, n_head=16, use_cache=False)
    return of_words(Logits(CTRLLMHeadModel(config)).to(device), 32000, batch, device, seq)


def mimi(batch, device, samples=48000):
    """Mimi: a sound as codes of 12.5 Hz, with a transformer on both sides of the codebooks."""
    from transformers import MimiConfig, MimiModel
    model = Applied(MimiModel(MimiConfig(num_hidden_layers=4, num_quantizers=8)), lambda out: out.audio_values)
    return towards(model, (torch.randn(batch, 1, samples, device=device),), (batch, 1, samples))


PARTS = {
    "residue_pairs": residue_pairs, "tabnet": tabnet, "points": points, "integrated": integrated, "particles": particles,
    "fusion": fusion, "vivit": vivit, "imagegpt": imagegpt, "conditional_detr": conditional_detr, "patchtsmixer": patchtsmixer,
    "clap": clap, "ctrl": ctrl, "mimi": mimi,
    # Clips by convolutions that see time first and later do not.
    "mc3": video("mc3_18"),
    "lamhalobotnet50ts_256": pictures_of("lamhalobotnet50ts_256", 256), "mobilenetv4_hybrid_medium": vision("mobilenetv4_hybrid_medium", SGD),
    "cs3sedarknet_l": vision("cs3sedarknet_l", SGD), "vit_medium_patch16_gap_256": pictures_of("vit_medium_patch16_gap_256", 256),
}
