"""Networks that join kinds of layers: attention to a history, recurrent convolutions, two networks, splines, masks of queries."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_images import segmentation
from networks_libraries import Applied, sounds_of, towards
from networks_tables import perceptron
from workload import ADAMW, SGD, Hidden, Workload, class_loss


class Interests(nn.Module):
    """A deep interest network: how much each of the last hundred things matters for the one in question is learnt."""

    def __init__(self, things=200_000, groups=1000, width=64):
        super().__init__()
        self.things = nn.Embedding(things, width)
        self.groups = nn.Embedding(groups, width)
        self.weigh = nn.Sequential(nn.Linear(8 * width, 80), nn.PReLU(), nn.Linear(80, 40), nn.PReLU(), nn.Linear(40, 1))
        self.top = nn.Sequential(nn.BatchNorm1d(6 * width), nn.Linear(6 * width, 200), nn.PReLU(), nn.Linear(200, 80), nn.PReLU(),
                                 nn.Linear(80, 1))

    def forward(self, thing, group, past_things, past_groups, length):
        asked = torch.cat([self.things(thing), self.groups(group)], 1)
        past = torch.cat([self.things(past_things), self.groups(past_groups)], 2)
        beside = asked.unsqueeze(1).expand(-1, past.shape[1], -1)
        scores = self.weigh(torch.cat([beside, past, beside - past, beside * past], 2)).squeeze(2)
        seen = torch.arange(past.shape[1], device=length.device) < length.unsqueeze(1)
        weights = torch.softmax(scores.masked_fill(~seen, -1e4), 1)
        interest = torch.bmm(weights.unsqueeze(1).to(past.dtype), past).squeeze(1)
        return self.top(torch.cat([asked, interest, asked * interest], 1))


def interests(batch, device, past=100):
    thing = torch.randint(0, 200_000, (batch,), device=device)
    group = torch.randint(0, 1000, (batch,), device=device)
    past_things = torch.randint(0, 200_000, (batch, past), device=device)
    past_groups = torch.randint(0, 1000, (batch, past), device=device)
    length = torch.randint(1, past, (batch,), device=device)
    target = torch.rand(batch, 1, device=device).round()

    def loss(scores):
        return F.binary_cross_entropy_with_logits(scores.float(), target)
    return Workload(Interests().to(device), (thing, group, past_things, past_groups, length), loss, ADAMW)


class RecurrentConvolution(nn.Module):
    """A cell like an LSTM's whose gates are convolutions over the picture and over what it kept."""

    def __init__(self, inputs, kept):
        super().__init__()
        self.gates = nn.Conv2d(inputs + kept, 4 * kept, 3, padding=1)

    def forward(self, picture, kept, cell):
        into, forget, out, new = self.gates(torch.cat([picture, kept], 1)).chunk(4, 1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(new)
        return torch.sigmoid(out) * torch.tanh(cell), cell


class Weather(nn.Module):
    """Two recurrent convolutions over eight pictures of rain; the last state says the next picture."""

    def __init__(self, width=64):
        super().__init__()
        self.width = width
        self.first = RecurrentConvolution(1, width)
        self.second = RecurrentConvolution(width, width)
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, pictures):
        batch, steps, _, height, wide = pictures.shape
        zeros = pictures.new_zeros(batch, self.width, height, wide)
        below, cell, above, higher = zeros, zeros, zeros, zeros
        for step in range(steps):
            below, cell = self.first(pictures[:, step], below, cell)
            above, higher = self.second(below, above, higher)
        return self.last(above)


def weather(batch, device, size=64):
    return towards(Weather(), (torch.randn(batch, 8, 1, size, size, device=device),), (batch, 1, size, size))


def down(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2))


def up(inputs, outputs):
    return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Translated(nn.Module):
    """A picture into another by a small U-Net of strided layers, judged patch by patch by a second network (pix2pix)."""

    def __init__(self, width=64):
        super().__init__()
        self.downs = nn.ModuleList([down(3, width), down(width, 2 * width), down(2 * width, 4 * width), down(4 * width, 8 * width)])
        self.ups = nn.ModuleList([up(8 * width, 4 * width), up(8 * width, 2 * width), up(4 * width, width)])
        self.last = nn.ConvTranspose2d(2 * width, 3, 4, 2, 1)
        self.judge = nn.Sequential(nn.Conv2d(6, width, 4, 2, 1), nn.LeakyReLU(0.2), down(width, 2 * width), down(2 * width, 4 * width),
                                   nn.Conv2d(4 * width, 1, 4, 1, 1))

    def forward(self, picture):
        kept, x = [], picture
        for layer in self.downs:
            x = layer(x)
            kept.append(x)
        x = self.ups[0](x)
        for layer, beside in zip(self.ups[1:], kept[2:0:-1]):
            x = layer(torch.cat([x, beside], 1))
        made = torch.tanh(self.last(torch.cat([x, kept[0]], 1)))
        return made, self.judge(torch.cat([picture, made], 1))


def translated(batch, device, size=256):
    wanted = torch.rand(batch, 3, size, size, device=device)

    def loss(out):
        made, judged = out
        return 100 * F.l1_loss(made.float(), wanted) + F.binary_cross_entropy_with_logits(judged.float(), torch.ones_like(judged).float())
    return Workload(Translated().to(device), (torch.randn(batch, 3, size, size, device=device),), loss, ADAMW)


class Splines(nn.Module):
    """A layer whose every weight is a curve: cubic splines of each input, summed by one product, beside SiLU (KAN)."""

    def __init__(self, inputs, outputs, intervals=8, order=3):
        super().__init__()
        self.order = order
        points = torch.arange(-order, intervals + order + 1) * (2.0 / intervals) - 1.0
        self.register_buffer("points", points.expand(inputs, -1).contiguous())
        self.base = nn.Linear(inputs, outputs, bias=False)
        self.curves = nn.Linear(inputs * (intervals + order), outputs, bias=False)

    def forward(self, x):
        at, points = x.unsqueeze(2), self.points
        bases = ((at >= points[:, :-1]) & (at < points[:, 1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            left = (at - points[:, :-(k + 1)]) / (points[:, k:-1] - points[:, :-(k + 1)])
            right = (points[:, k + 1:] - at) / (points[:, k + 1:] - points[:, 1:-k])
            bases = left * bases[:, :, :-1] + right * bases[:, :, 1:]
        return self.base(F.silu(x)) + self.curves(bases.flatten(1))


def splines(batch, device):
    model = nn.Sequential(Splines(784, 256), Splines(256, 256), Splines(256, 10)).to(device)
    target = torch.randint(0, 10, (batch,), device=device)
    return Workload(model, (torch.rand(batch, 784, device=device) * 2 - 1,), class_loss(target), ADAMW)


class Stacks(nn.Module):
    """N-BEATS: nine blocks of four layers, each of which takes what it explains from the series and adds to the forecast."""

    def __init__(self, past=512, ahead=96, width=512, blocks=9):
        super().__init__()
        self.past = past
        self.blocks = nn.ModuleList(perceptron(past, width, width, width, width) for _ in range(blocks))
        self.says = nn.ModuleList(nn.Linear(width, past + ahead) for _ in range(blocks))

    def forward(self, series):
        forecast = 0
        for block, says in zip(self.blocks, self.says):
            explained, ahead = says(block(series)).split([self.past, says.out_features - self.past], 1)
            series = series - explained
            forecast = forecast + ahead
        return forecast


def stacks(batch, device):
    return towards(Stacks(), (torch.randn(batch, 512, device=device),), (batch, 96))


def parakeet(batch, device, frames=800):
    """The encoder of a small Parakeet: eight seconds of sound, an eighth as many positions, six Conformer blocks."""
    from transformers import ParakeetEncoder, ParakeetEncoderConfig
    config = ParakeetEncoderConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, layerdrop=0.0)
    target = torch.randint(0, 512, (batch,), device=device)
    sound = torch.randn(batch, frames, config.num_mel_bins, device=device)
    return Workload(Hidden(ParakeetEncoder(config)).to(device), (sound,), class_loss(target), ADAMW)


def unispeech(batch, device):
    """The encoder of a UniSpeech-SAT of six layers: wav2vec's convolutions with group norms."""
    from transformers import UniSpeechSatConfig, UniSpeechSatModel
    config = UniSpeechSatConfig(num_hidden_layers=6, mask_time_prob=0.0, layerdrop=0.0)
    return sounds_of(UniSpeechSatModel(config), config.hidden_size, batch, device)


def yolos(batch, device):
    """A small YOLOS: a ViT of eight layers with a hundred tokens that ask for things."""
    from transformers import YolosConfig, YolosModel
    config = YolosConfig(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, intermediate_size=1536, image_size=[320, 320])
    target = torch.randint(0, 384, (batch,), device=device)
    return Workload(Hidden(YolosModel(config)).to(device), (torch.randn(batch, 3, 320, 320, device=device),), class_loss(target), ADAMW)


def mask2former(batch, device, size=256):
    """Mask2Former on a small Swin: attention to computed places of three sizes, masks of fifty queries."""
    from transformers import Mask2FormerConfig, Mask2FormerModel, SwinConfig
    backbone = SwinConfig(image_size=size, embed_dim=64, depths=[2, 2, 4, 2], num_heads=[2, 4, 8, 16],
                          out_features=["stage1", "stage2", "stage3", "stage4"])
    config = Mask2FormerConfig(backbone_config=backbone, num_queries=50, decoder_layers=4, encoder_layers=3)
    model = Applied(Mask2FormerModel(config), lambda out: out.masks_queries_logits[-1])
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, 50, size // 4, size // 4))


def depth_anything(batch, device, size=224):
    """Depth Anything: DPT's reassembled features of a small DINOv2."""
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config
    backbone = Dinov2Config(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, image_size=size, out_indices=[2, 4, 6, 8],
                            apply_layernorm=True, reshape_hidden_states=False)
    config = DepthAnythingConfig(backbone_config=backbone, reassemble_hidden_size=384, neck_hidden_sizes=[48, 96, 192, 384],
                                 fusion_hidden_size=64)
    model = Applied(DepthAnythingForDepthEstimation(config), lambda out: out.predicted_depth)
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, size, size))


def data2vec(batch, device):
    """data2vec's vision model of eight layers: relative positions of BEiT, segmented by a pooled token."""
    from transformers import Data2VecVisionConfig, Data2VecVisionModel
    config = Data2VecVisionConfig(num_hidden_layers=8, use_relative_position_bias=True, drop_path_rate=0.0)
    target = torch.randint(0, 768, (batch,), device=device)
    return Workload(Hidden(Data2VecVisionModel(config)).to(device), (torch.randn(batch, 3, 224, 224, device=device),), class_loss(target),
                    ADAMW)


def mobilenet_unet(batch, device, size=256):
    """A U-Net on MobileNetV3's features: five sizes, upsampled by interpolation and joined."""
    import timm

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = timm.create_model("mobilenetv3_large_100", features_only=True)
            channels = self.body.feature_info.channels()
            self.joins = nn.ModuleList()
            below = channels[-1]
            for beside, outputs in zip(channels[-2::-1], (256, 128, 64, 32)):
                self.joins.append(nn.Sequential(nn.Conv2d(below + beside, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
                                                nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                                                nn.BatchNorm2d(outputs), nn.ReLU()))
                below = outputs
            self.last = nn.Conv2d(below, 21, 1)

        def forward(self, picture):
            *kept, x = self.body(picture)
            for join in self.joins:
                x = join(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
            return F.interpolate(self.last(x), scale_factor=2, mode="bilinear")
    return segmentation(Net(), lambda out: out, 21, size, SGD, batch, device, size)
