"""Networks whose parts lie otherwise than those of other sets: prefixes that see each other, groups, patches at several sizes, sound beside
its spectrum, extremes of neighbours, tables of hashes, views that are warped, losses over all labellings, attention of channels."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from networks_answers import BoxesOfAll, random_words
from networks_language import causal
from networks_libraries import Applied, towards
from networks_read import Named, of_classes, random_pictures
from networks_varied import word_loss
from workload import ADAMW, SGD, Workload, class_loss


class PrefixFirst(nn.Module):
    """PaliGemma on patches and a question, which see each other, and an answer, whose words see what came before."""

    def __init__(self, model, answer):
        super().__init__()
        self.model, self.answer = model, answer

    def forward(self, pictures, ids):
        inner = self.model.model
        seen = inner.multi_modal_projector(inner.vision_tower(pictures).last_hidden_state)
        x = torch.cat([seen, self.model.get_input_embeddings()(ids)], 1)
        kinds = torch.zeros(x.shape[:2], dtype=torch.int64, device=x.device)
        kinds[:, -self.answer:] = 1
        return self.model(inputs_embeds=x, token_type_ids=kinds, use_cache=False, logits_to_keep=self.answer).logits


def prefix_first(batch, device, question=32, answer=64, size=224):
    """PaliGemma, small: six layers of SigLIP of 512 see 196 patches, six layers of Gemma of 768 read them and words."""
    from transformers import GemmaConfig, PaliGemmaConfig, PaliGemmaForConditionalGeneration, SiglipVisionConfig
    vision = SiglipVisionConfig(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8, patch_size=16,
                                image_size=size, vision_use_head=False)
    text = GemmaConfig(vocab_size=32768, hidden_size=768, intermediate_size=3072, num_hidden_layers=6, num_attention_heads=8,
                       num_key_value_heads=1, head_dim=96, use_cache=False)
    config = PaliGemmaConfig(vision_config=vision, text_config=text, image_token_index=32767, projection_dim=768, hidden_size=768)
    model = PrefixFirst(PaliGemmaForConditionalGeneration(config), answer).to(device)
    ids = random_words(32000, batch, question + answer, device)
    return Workload(model, (random_pictures(batch, device, size), ids), word_loss(random_words(32000, batch, answer, device)), ADAMW,
                    {"seq": question + answer})


def grouped_patches(batch, device, seq=77, size=224):
    """GroupViT, small: patches choose one of 64 groups, these one of 8, by hard choices with noise; six layers for words."""
    from transformers import GroupViTConfig, GroupViTModel
    vision = {"hidden_size": 384, "depths": [4, 2, 2], "num_hidden_layers": 8, "image_size": size}
    text = {"hidden_size": 256, "num_hidden_layers": 6}
    config = GroupViTConfig(vision_config=vision, text_config=text)
    model = Named(GroupViTModel(config), ("input_ids", "pixel_values"), lambda out: out.logits_per_text).to(device)
    inputs = random_words(49406, batch, seq, device), random_pictures(batch, device, size)
    return Workload(model, inputs, class_loss(torch.arange(batch, device=device)), ADAMW, {"seq": seq})


def refined_boxes(batch, device, size=320, queries=100):
    """D-FINE on a small HGNetV2: three layers tell where each side of a box may lie, as weights of 33 places, and refine these."""
    from transformers import DFineConfig, DFineForObjectDetection, HGNetV2Config
    backbone = HGNetV2Config(stem_channels=[3, 24, 32], stage_in_channels=[32, 64, 256, 512], stage_mid_channels=[32, 32, 64, 128],
                             stage_out_channels=[64, 256, 512, 1024], hidden_sizes=[64, 256, 512, 1024],
                             stage_num_blocks=[1, 1, 2, 1], stage_numb_of_layers=[3, 3, 3, 3], use_learnable_affine_block=True,
                             out_features=["stage2", "stage3", "stage4"])
    config = DFineConfig(backbone_config=backbone, encoder_in_channels=[256, 512, 1024], decoder_layers=3, num_queries=queries,
                         num_denoising=0, freeze_backbone_batch_norms=False)
    model = Applied(DFineForObjectDetection(config), lambda out: torch.cat([out.logits, out.pred_boxes], -1))
    return towards(model, (random_pictures(batch, device, size),), (batch, queries, config.num_labels + 4))


def depths_of_scales(batch, device, size=512, patch=128):
    """Depth Pro, small: one encoder of DINOv2 sees overlapping patches of three sizes of a picture, another all of it at once."""
    from transformers import DepthProConfig, DepthProForDepthEstimation
    encoder = {"model_type": "dinov2", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 6, "patch_size": 16,
               "image_size": patch}
    config = DepthProConfig(patch_size=patch, image_model_config=encoder, patch_model_config=dict(encoder), fusion_hidden_size=128,
                            intermediate_hook_ids=[5, 2], intermediate_feature_dims=[128, 128], scaled_images_feature_dims=[256, 256, 128],
                            merge_padding_value=1)
    model = Applied(DepthProForDepthEstimation(config), lambda out: out.predicted_depth)
    return towards(model, (random_pictures(batch, device, size),), (batch, size, size))


def dialogue(batch, device, letters=256, frames=192):
    """Dia, small: four layers read bytes, six of 768 write nine books of codes a frame, all of whose scores are made at once."""
    from transformers import DiaConfig, DiaForConditionalGeneration
    reads = {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64,
             "intermediate_size": 2048}
    writes = {"hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 12, "num_key_value_heads": 3, "head_dim": 64,
              "intermediate_size": 3072, "cross_num_attention_heads": 12, "cross_num_key_value_heads": 12, "cross_head_dim": 64,
              "cross_hidden_size": 512, "use_cache": False}
    config = DiaConfig(encoder_config=reads, decoder_config=writes, use_cache=False)
    model = Named(DiaForConditionalGeneration(config), ("input_ids", "decoder_input_ids")).to(device)
    codes = torch.randint(0, 1024, (batch, frames, 9), device=device)
    return Workload(model, (random_words(256, batch, letters, device), codes), word_loss(random_words(1024, 9 * batch, frames, device)),
                    ADAMW, {"seq": frames})


def bridged(batch, device, seq=48, size=224):
    """BridgeTower, small: six layers for pictures and six for words, whose last four are each added to one of four crossed layers."""
    from transformers import BridgeTowerConfig, BridgeTowerForImageAndTextRetrieval
    vision = {"hidden_size": 512, "num_hidden_layers": 6, "image_size": size}
    text = {"hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048}
    config = BridgeTowerConfig(vision_config=vision, text_config=text, hidden_size=512, num_attention_heads=8, num_hidden_layers=4)
    names = ("input_ids", "pixel_values", "attention_mask", "pixel_mask")
    model = Named(BridgeTowerForImageAndTextRetrieval(config), names)
    inputs = (random_words(50000, batch, seq, device) + 2, random_pictures(batch, device, size),
              torch.ones(batch, seq, dtype=torch.int64, device=device), torch.ones(batch, size, size, dtype=torch.int64, device=device))
    return of_classes(model, inputs, 2)


class SingleShot(BoxesOfAll):
    """SSD without its choice of boxes: the scores and places of all of them."""

    def __init__(self):
        from torchvision.models.detection import ssd300_vgg16
        nn.Module.__init__(self)
        whole = ssd300_vgg16(weights=None, weights_backbone=None, trainable_backbone_layers=5)
        self.trunk, self.head = whole.backbone, whole.head


def single_shot(batch, device, boxes=8732, classes=91):
    """SSD300 on VGG-16: of boxes that hold nothing, those three times as many as the others that were least seen are learnt from."""
    held = torch.rand(batch, boxes, device=device) > 0.99
    labels = torch.where(held, torch.randint(1, classes, (batch, boxes), device=device), 0)
    moved = torch.randn(batch, boxes, 4, device=device)

    def loss(out):
        scores, told = out.float().split([classes, 4], -1)
        lost = F.cross_entropy(scores.reshape(-1, classes), labels.reshape(-1), reduction="none").view(batch, boxes)
        empty = torch.where(held, -float("inf"), lost.detach())
        rank = empty.sort(1, descending=True)[1].sort(1)[1]
        kept = held | (rank < 3 * held.sum(1, keepdim=True))
        apart = F.smooth_l1_loss(told, moved, reduction="none").sum(-1)
        return ((apart * held).sum() + (lost * kept).sum()) / held.sum()
    return Workload(SingleShot().to(device), (random_pictures(batch, device, 300),), loss, SGD)


def sound_of(spectrum, length, hop=256):
    """Frames turned back and added where they lie, for torch.istft asks the device whether its windows leave a gap."""
    size, start = 4 * hop, 2 * hop + hop // 2 * 3
    spectrum = F.pad(spectrum, (2, 2, 0, 1)).flatten(0, 2)
    window = torch.hann_window(size, device=spectrum.device).view(1, -1, 1)
    frames = math.sqrt(size) * torch.fft.irfft(spectrum, dim=1) * window
    whole, weight = (F.fold(x, (1, size + hop * (x.shape[2] - 1)), (1, size), stride=(1, hop))[..., start:start + length]
                     for x in (frames, window.square().expand(-1, -1, frames.shape[2])))
    return whole / weight


def sound_and_spectrum(batch, device, samples=24000):
    """Hybrid Demucs of torchaudio at 8 kHz: a sound and its spectrum by convolutions of their own, joined at the deepest, four sources."""
    from torchaudio.models import hdemucs_low
    model = hdemucs_low(["drums", "bass", "other", "voice"])
    model._ispec = lambda spectrum, length: sound_of(spectrum, length).view(batch, 4, 2, length)
    return towards(model, (torch.randn(batch, 2, samples, device=device),), (batch, 4, 2, samples))


class ExtremesOfNeighbours(nn.Module):
    """Principal neighbourhood aggregation of PyG: mean, extremes and spread of what neighbours tell, scaled by how many tell it."""

    def __init__(self, degrees, width=80, layers=4):
        super().__init__()
        from torch_geometric.nn import BatchNorm, PNAConv
        self.atoms, self.bonds = nn.Embedding(21, width), nn.Embedding(4, 50)
        self.layers = nn.ModuleList(PNAConv(width, width, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], degrees,
                                            edge_dim=50, towers=5) for _ in range(layers))
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(width, 50), nn.ReLU(), nn.Linear(50, 25), nn.ReLU(), nn.Linear(25, 1))

    def forward(self, atoms, pairs, bonds, molecule, target):
        from torch_geometric.nn import global_add_pool
        x, edges = self.atoms(atoms), self.bonds(bonds)
        for layer, norm in zip(self.layers, self.norms):
            x = F.relu(norm(layer(x, pairs, edges)))
        return (self.head(global_add_pool(x, molecule, len(target))).squeeze(1).float() - target).abs().mean()


def extremes_of_neighbours(batch, device, atoms=24, bonds=50):
    """PNA: four layers of 80 and five towers on molecules of 24 atoms and 50 directed bonds."""
    pairs = torch.randint(0, atoms, (2, batch * bonds), device=device)
    pairs = pairs + atoms * torch.arange(batch, device=device).repeat_interleave(bonds)
    inputs = (torch.randint(0, 21, (batch * atoms,), device=device), pairs, torch.randint(0, 4, (batch * bonds,), device=device),
              torch.arange(batch, device=device).repeat_interleave(atoms), torch.randn(batch, device=device))
    with torch.device("cpu"):
        degrees = torch.tensor([300, 1500, 2500, 1800, 600, 100])
        model = ExtremesOfNeighbours(degrees)
    return Workload(model.to(device), inputs, lambda loss: loss, ADAMW)


class HashedFeatures(nn.Module):
    """A grid's corners around each point, found by a hash of their places; what the table holds there, weighed by nearness."""

    def __init__(self, cells, rows=2 ** 19, features=2):
        super().__init__()
        self.cells, self.table = cells, nn.Embedding(rows, features)
        nn.init.uniform_(self.table.weight, -1e-4, 1e-4)
        self.register_buffer("corners", torch.tensor([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]))

    def forward(self, at):
        low = torch.floor(at * self.cells)
        part = (at * self.cells - low).unsqueeze(1)
        corners = low.long().unsqueeze(1) + self.corners
        x, y, z = corners.unbind(-1)
        hashed = (x ^ (y * 2654435761) ^ (z * 805459861)) & (len(self.table.weight) - 1)
        near = torch.where(self.corners == 1, part, 1 - part).prod(-1, keepdim=True)
        return (self.table(hashed) * near).sum(1)


class HashedField(nn.Module):
    """Sixteen grids of hashes, a density and a colour of each point, and what a ray sees of its points."""

    def __init__(self, levels=16, coarse=16, fine=512):
        super().__init__()
        growth = math.exp((math.log(fine) - math.log(coarse)) / (levels - 1))
        self.grids = nn.ModuleList(HashedFeatures(int(coarse * growth ** level)) for level in range(levels))
        self.thick = nn.Sequential(nn.Linear(2 * levels, 64), nn.ReLU(), nn.Linear(64, 16))
        self.colour = nn.Sequential(nn.Linear(16 + 9, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    @staticmethod
    def directions(v):
        """Spherical harmonics up to the second degree."""
        x, y, z = v.unbind(-1)
        return torch.stack([torch.ones_like(x), y, z, x, x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y], -1)

    def forward(self, start, way, depths):
        at = start.unsqueeze(1) + way.unsqueeze(1) * depths.unsqueeze(-1)
        flat = at.reshape(-1, 3).clamp(0, 1)
        told = self.thick(torch.cat([grid(flat) for grid in self.grids], -1))
        ways = self.directions(way).unsqueeze(1).expand(-1, depths.shape[1], -1).reshape(len(flat), -1)
        colour = torch.sigmoid(self.colour(torch.cat([told, ways], -1))).view(*depths.shape, 3)
        apart = F.pad(depths[:, 1:] - depths[:, :-1], (0, 1), value=1e10)
        held = 1 - torch.exp(-F.relu(told[:, 0]).view_as(depths).float() * apart)
        through = torch.cumprod(torch.cat([torch.ones_like(held[:, :1]), 1 - held + 1e-10], -1), -1)[:, :-1]
        return ((held * through).unsqueeze(-1) * colour).sum(1)


def hashed_field(batch, device, points=32):
    """Instant NGP in plain PyTorch: `batch` rays of 32 points, sixteen tables of 2^19 rows."""
    way = F.normalize(torch.randn(batch, 3, device=device), dim=-1)
    depths = torch.linspace(0.1, 0.9, points, device=device).expand(batch, points).contiguous()
    return towards(HashedField(), (torch.rand(batch, 3, device=device), way, depths), (batch, 3))


def padded_conv(before, after):
    """Monodepth2's layer: the borders mirrored, a 3 x 3 convolution."""
    return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(before, after, 3))


def seen_at_sizes(model, pictures):
    """What the five stages of a ResNet see."""
    maps = [model.relu(model.bn1(model.conv1(pictures)))]
    x = model.maxpool(maps[0])
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        x = stage(x)
        maps.append(x)
    return maps


class DepthOfOne(nn.Module):
    """Monodepth2's depth of a picture: a ResNet-18, and five steps up, each beside what the ResNet saw at that size."""
    WIDTHS, SEEN = (16, 32, 64, 128, 256), (64, 64, 128, 256, 512)

    def __init__(self):
        super().__init__()
        from torchvision.models import resnet18
        self.model = resnet18()
        self.model.fc = nn.Identity()
        before = [*self.WIDTHS[1:], self.SEEN[-1]]
        self.first = nn.ModuleList(padded_conv(wide, width) for wide, width in zip(before, self.WIDTHS))
        self.second = nn.ModuleList(padded_conv(width + seen, width) for width, seen in zip(self.WIDTHS, (0, *self.SEEN)))
        self.head = padded_conv(self.WIDTHS[0], 1)

    def forward(self, pictures):
        maps = seen_at_sizes(self.model, (pictures - 0.45) / 0.225)
        x = maps[-1]
        for level in reversed(range(5)):
            x = F.interpolate(F.elu(self.first[level](x)), scale_factor=2, mode="nearest")
            if level:
                x = torch.cat([x, maps[level - 1]], 1)
            x = F.elu(self.second[level](x))
        return 1 / (0.01 + 9.99 * torch.sigmoid(self.head(x)))


class MovedBetween(nn.Module):
    """How the camera moved between two pictures: a ResNet-18 over both, three convolutions, an axis with an angle and a shift."""

    def __init__(self):
        super().__init__()
        from torchvision.models import resnet18
        self.model = resnet18()
        self.model.conv1, self.model.fc = nn.Conv2d(6, 64, 7, 2, 3, bias=False), nn.Identity()
        self.steps = nn.Sequential(nn.Conv2d(512, 256, 1), nn.ReLU(), nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(), nn.Conv2d(256, 6, 1))

    def forward(self, one, other):
        told = 0.01 * self.steps(seen_at_sizes(self.model, torch.cat([one, other], 1))[-1]).mean((2, 3)).float()
        turned, shift = told.split(3, 1)
        angle = turned.norm(dim=1, keepdim=True)
        x, y, z = (turned / (angle + 1e-7)).unbind(1)
        s, c = torch.sin(angle[:, 0]), torch.cos(angle[:, 0])
        rows = [x * x * (1 - c) + c, x * y * (1 - c) - z * s, z * x * (1 - c) + y * s, x * y * (1 - c) + z * s, y * y * (1 - c) + c,
                y * z * (1 - c) - x * s, z * x * (1 - c) - y * s, y * z * (1 - c) + x * s, z * z * (1 - c) + c]
        return torch.cat([torch.stack(rows, 1).view(-1, 3, 3), shift.unsqueeze(2)], 2)


def unlikeness(one, other):
    """Means, spreads and shared spread of windows of 3 x 3 (SSIM), beside plain differences."""
    a, b = (F.pad(x, (1, 1, 1, 1), mode="reflect") for x in (one, other))
    mean, other_mean = F.avg_pool2d(a, 3, 1), F.avg_pool2d(b, 3, 1)
    spread, other_spread = F.avg_pool2d(a ** 2, 3, 1) - mean ** 2, F.avg_pool2d(b ** 2, 3, 1) - other_mean ** 2
    both = F.avg_pool2d(a * b, 3, 1) - mean * other_mean
    like = (2 * mean * other_mean + 1e-4) * (2 * both + 9e-4) / ((mean ** 2 + other_mean ** 2 + 1e-4) * (spread + other_spread + 9e-4))
    return 0.85 * torch.clamp((1 - like) / 2, 0, 1).mean(1, True) + 0.15 * (one - other).abs().mean(1, True)


class WarpedViews(nn.Module):
    """Monodepth2: the depth of a picture and how the camera moved bring two other views to it; how unlike they are is the loss."""

    def __init__(self, height, width):
        super().__init__()
        self.depth, self.moved = DepthOfOne(), MovedBetween()
        rows, columns = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
        self.register_buffer("places", torch.stack([columns.flatten(), rows.flatten(), torch.ones(height * width)]))
        self.register_buffer("ends", torch.tensor([width - 1.0, height - 1.0]))

    def warped(self, view, depth, pose, camera, inverse):
        points = depth.flatten(2) * (inverse @ self.places)
        seen = camera @ (pose[:, :, :3] @ points + pose[:, :, 3:])
        flat = (seen[:, :2] / (seen[:, 2:] + 1e-7)).view(len(view), 2, *view.shape[2:]).permute(0, 2, 3, 1)
        return F.grid_sample(view, (flat / self.ends - 0.5) * 2, padding_mode="border", align_corners=True)

    def forward(self, past, now, future, camera, inverse):
        depth = self.depth(now).float()
        losses = []
        for view in (past, future):
            pose = self.moved(now, view)
            losses += [unlikeness(self.warped(view, depth, pose, camera, inverse), now), unlikeness(view, now)]
        far = 1 / depth
        far = far / (far.mean((2, 3), True) + 1e-7)
        across = (far[..., 1:] - far[..., :-1]).abs() * torch.exp(-(now[..., 1:] - now[..., :-1]).abs().mean(1, True))
        down = (far[:, :, 1:] - far[:, :, :-1]).abs() * torch.exp(-(now[:, :, 1:] - now[:, :, :-1]).abs().mean(1, True))
        return torch.cat(losses, 1).min(1)[0].mean() + 1e-3 * (across.mean() + down.mean())


def warped_views(batch, device, height=192, width=320):
    """Monodepth2 on three pictures of 192 x 320: depth and motion from a ResNet-18 each, the other views warped to the middle one."""
    camera = torch.tensor([[0.58 * width, 0, width / 2], [0, 1.92 * height, height / 2], [0, 0, 1]], device=device).repeat(batch, 1, 1)
    inverse = torch.tensor([[1 / (0.58 * width), 0, -0.5 / 0.58], [0, 1 / (1.92 * height), -0.5 / 1.92], [0, 0, 1]],
                           device=device).repeat(batch, 1, 1)
    views = tuple(torch.rand(batch, 3, height, width, device=device) for _ in range(3))
    return Workload(WarpedViews(height, width).to(device), (*views, camera, inverse), lambda loss: loss, ADAMW)


def heard(before, after, window=1, spread=1):
    """ECAPA's layer over time: convolution, ReLU, norm."""
    return nn.Sequential(nn.Conv1d(before, after, window, padding=spread * (window // 2), dilation=spread), nn.ReLU(), nn.BatchNorm1d(after))


class InEighths(nn.Module):
    """ECAPA's block: channels in eighths, each convolved with the one before added, then weighed by their means."""

    def __init__(self, width, spread, parts=8):
        super().__init__()
        self.parts = parts
        self.enter, self.leave = heard(width, width), heard(width, width)
        self.steps = nn.ModuleList(heard(width // parts, width // parts, 3, spread) for _ in range(parts - 1))
        self.weigh = nn.Sequential(nn.Conv1d(width, 128, 1), nn.ReLU(), nn.Conv1d(128, width, 1), nn.Sigmoid())

    def forward(self, x):
        first, *others = self.enter(x).chunk(self.parts, 1)
        told = [first]
        for place, (step, part) in enumerate(zip(self.steps, others)):
            told.append(step(part + told[-1] if place else part))
        y = self.leave(torch.cat(told, 1))
        return x + y * self.weigh(y.mean(2, keepdim=True))


class Speakers(nn.Module):
    """ECAPA-TDNN: three such blocks, means and spreads over frames by attention, and angles to all speakers with a margin."""

    def __init__(self, bands=80, width=512, code=192, speakers=5994):
        super().__init__()
        self.first = heard(bands, width, 5)
        self.blocks = nn.ModuleList(InEighths(width, spread) for spread in (2, 3, 4))
        self.join = nn.Sequential(nn.Conv1d(3 * width, 1536, 1), nn.ReLU())
        self.attend = nn.Sequential(nn.Conv1d(3 * 1536, 256, 1), nn.ReLU(), nn.BatchNorm1d(256), nn.Tanh(), nn.Conv1d(256, 1536, 1),
                                    nn.Softmax(2))
        self.code = nn.Sequential(nn.BatchNorm1d(2 * 1536), nn.Linear(2 * 1536, code), nn.BatchNorm1d(code))
        self.speakers = nn.Parameter(nn.init.xavier_normal_(torch.empty(speakers, code)))

    def told(self, sound):
        x = self.first(sound)
        seen = []
        for block in self.blocks:
            x = block(x)
            seen.append(x)
        x = self.join(torch.cat(seen, 1))
        length = x.shape[-1]
        whole = torch.cat([x, x.mean(2, keepdim=True).expand(-1, -1, length),
                           torch.sqrt(x.var(2, keepdim=True).clamp(min=1e-4)).expand(-1, -1, length)], 1)
        weights = self.attend(whole)
        mean = (x * weights).sum(2)
        spread = torch.sqrt(((x ** 2 * weights).sum(2) - mean ** 2).clamp(min=1e-4))
        return self.code(torch.cat([mean, spread], 1))

    def forward(self, sound, who, margin=0.2, scale=30):
        near = F.linear(F.normalize(self.told(sound)), F.normalize(self.speakers))
        far = torch.sqrt((1 - near * near).clamp(0, 1))
        apart = near * math.cos(margin) - far * math.sin(margin)
        apart = torch.where(near > math.cos(math.pi - margin), apart, near - math.sin(math.pi - margin) * margin)
        own = torch.zeros_like(near).scatter_(1, who.view(-1, 1), 1)
        return scale * (own * apart + (1 - own) * near)


def speakers(batch, device, frames=300):
    """ECAPA-TDNN on three seconds of 80 bands, 512 channels, 5994 speakers."""
    who = torch.randint(0, 5994, (batch,), device=device)
    return Workload(Speakers().to(device), (torch.randn(batch, 80, frames, device=device), who), class_loss(who), ADAMW)


class AllLabellings(nn.Module):
    """A linear chain of labels as pytorch-crf: how likely the true ones are, among all, by one step a word."""

    def __init__(self, labels):
        super().__init__()
        self.start, self.end = (nn.Parameter(0.1 * torch.randn(labels)) for _ in range(2))
        self.next = nn.Parameter(0.1 * torch.randn(labels, labels))

    def true(self, scores, labels, there):
        rows = torch.arange(scores.shape[1], device=scores.device)
        total = self.start[labels[0]] + scores[0, rows, labels[0]]
        for word in range(1, len(scores)):
            total = total + (self.next[labels[word - 1], labels[word]] + scores[word, rows, labels[word]]) * there[word]
        return total + self.end[labels[-1]]

    def all(self, scores, there):
        total = self.start + scores[0]
        for word in range(1, len(scores)):
            further = torch.logsumexp(total.unsqueeze(2) + self.next + scores[word].unsqueeze(1), dim=1)
            total = torch.where(there[word].unsqueeze(1) > 0, further, total)
        return torch.logsumexp(total + self.end, dim=1)

    def forward(self, scores, labels, there):
        return (self.all(scores, there) - self.true(scores, labels, there)).mean()


class LabelledWords(nn.Module):
    """Words, an LSTM both ways, and a chain over its labels (BiLSTM-CRF)."""

    def __init__(self, vocab=30000, width=300, hidden=256, labels=17):
        super().__init__()
        self.words, self.dropout = nn.Embedding(vocab, width), nn.Dropout(0.5)
        self.reads = nn.LSTM(width, hidden, 2, bidirectional=True)
        self.scores, self.chain = nn.Linear(2 * hidden, labels), AllLabellings(labels)

    def forward(self, words, labels, there):
        x, _ = self.reads(self.dropout(self.words(words)))
        return self.chain(self.scores(self.dropout(x)).float(), labels, there)


def labelled_words(batch, device, words=40):
    """BiLSTM-CRF: two layers of 256 both ways, 17 labels, 40 words."""
    inputs = (torch.randint(0, 30000, (words, batch), device=device), torch.randint(0, 17, (words, batch), device=device),
              torch.ones(words, batch, device=device))
    return Workload(LabelledWords().to(device), inputs, lambda loss: loss, ADAMW, {"seq": words})


class OfEachPlace(nn.Module):
    """A layer norm over the channels of each pixel, which are brought last and back."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class AmongChannels(nn.Module):
    """Restormer's attention: each channel of a head asks the others, over all places; a depthwise layer before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.sharp = heads, nn.Parameter(torch.ones(heads, 1, 1))
        self.qkv = nn.Conv2d(width, 3 * width, 1, bias=False)
        self.around = nn.Conv2d(3 * width, 3 * width, 3, padding=1, groups=3 * width, bias=False)
        self.out = nn.Conv2d(width, width, 1, bias=False)

    def forward(self, x):
        q, k, v = (y.reshape(len(x), self.heads, -1, x.shape[2] * x.shape[3]) for y in self.around(self.qkv(x)).chunk(3, 1))
        weights = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * self.sharp
        return self.out((weights.softmax(-1) @ v).reshape(x.shape))


class GatedPlaces(nn.Module):
    """Restormer's other half: widened, a depthwise layer, one half gates the other."""

    def __init__(self, width, wide):
        super().__init__()
        self.up, self.down = nn.Conv2d(width, 2 * wide, 1, bias=False), nn.Conv2d(wide, width, 1, bias=False)
        self.around = nn.Conv2d(2 * wide, 2 * wide, 3, padding=1, groups=2 * wide, bias=False)

    def forward(self, x):
        gate, y = self.around(self.up(x)).chunk(2, 1)
        return self.down(F.gelu(gate) * y)


class RestoredBlock(nn.Module):
    """Both halves behind norms."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = OfEachPlace(width), AmongChannels(width, heads)
        self.norm2, self.step = OfEachPlace(width), GatedPlaces(width, int(2.66 * width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.step(self.norm2(x))


class Restored(nn.Module):
    """Restormer: three sizes down and up by shuffled channels, beside what was seen at each; what is wrong with a picture."""

    def __init__(self, width=48, blocks=(2, 2, 3), heads=(1, 2, 4)):
        super().__init__()
        def stage(level, times=1):
            return nn.Sequential(*(RestoredBlock(times * width << level, heads[level]) for _ in range(blocks[level])))
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1, bias=False), nn.Conv2d(2 * width, 3, 3, padding=1, bias=False)
        self.one, self.two, self.three, self.back, self.end = stage(0), stage(1), stage(2), stage(1), stage(0, 2)
        self.down = nn.ModuleList(nn.Sequential(nn.Conv2d(wide, wide // 2, 3, padding=1, bias=False), nn.PixelUnshuffle(2))
                                  for wide in (width, 2 * width))
        self.up = nn.ModuleList(nn.Sequential(nn.Conv2d(wide, 2 * wide, 3, padding=1, bias=False), nn.PixelShuffle(2))
                                for wide in (4 * width, 2 * width))
        self.join = nn.Conv2d(4 * width, 2 * width, 1, bias=False)

    def forward(self, pictures):
        large = self.one(self.first(pictures))
        middle = self.two(self.down[0](large))
        small = self.three(self.down[1](middle))
        middle = self.back(self.join(torch.cat([self.up[0](small), middle], 1)))
        return self.last(self.end(torch.cat([self.up[1](middle), large], 1))) + pictures


def restored(batch, device, size=128):
    """Restormer, narrow: eleven blocks of 48 to 192 channels, pictures of 128 x 128."""
    return towards(Restored(), (random_pictures(batch, device, size),), (batch, 3, size, size))


UNLIKE = {
    "prefix_first": prefix_first, "grouped_patches": grouped_patches, "refined_boxes": refined_boxes,
    "depths_of_scales": depths_of_scales, "dialogue": dialogue, "bridged": bridged, "single_shot": single_shot,
    "sound_and_spectrum": sound_and_spectrum, "extremes_of_neighbours": extremes_of_neighbours, "hashed_field": hashed_field,
    "warped_views": warped_views, "speakers": speakers, "labelled_words": labelled_words, "restored": restored,
    # A Mamba of three layers without its kernels: the state of 16 numbers a channel goes from word to word, 32 of them.
    "mamba": causal("mamba", 32, vocab_size=50280, hidden_size=768, num_hidden_layers=3),
}
