"""Networks that see: classifiers, segmentation, what stands where, clips and volumes, images beside texts."""
import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, SGD, Hidden, Logits, Workload, class_loss


def vision(name, optimizer):
    """A classifier of torchvision, or else of timm, on 224x224 images."""
    def builder(batch, device):
        import torchvision
        if hasattr(torchvision.models, name):
            model = getattr(torchvision.models, name)(weights=None).to(device)
        else:
            import timm
            model = timm.create_model(name, num_classes=1000).to(device)
        images = torch.randn(batch, 3, 224, 224, device=device)
        target = torch.randint(0, 1000, (batch,), device=device)
        return Workload(model, (images,), class_loss(target), optimizer)
    return builder


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        x = torch.tanh(self.fc1(torch.flatten(x, 1)))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


def lenet5(batch, device):
    images = torch.randn(batch, 1, 28, 28, device=device)
    target = torch.randint(0, 10, (batch,), device=device)
    return Workload(LeNet5().to(device), (images,), class_loss(target), SGD)


def down_and_up(net, x):
    """Halved by pools level by level and grown again, beside what each level had."""
    skips = [net.first(x)]
    for block in net.down:
        skips.append(block(net.pool(skips[-1], 2)))
    x = skips.pop()
    for grow, block in zip(net.grow, net.up):
        x = block(torch.cat([skips.pop(), grow(x)], dim=1))
    return net.last(x)


def double_conv(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Four levels down and up again with skip connections."""
    WIDTHS = (32, 64, 128, 256)
    pool = staticmethod(F.max_pool2d)

    def __init__(self, classes=2):
        super().__init__()
        pairs = list(zip(self.WIDTHS, self.WIDTHS[1:]))
        self.first = double_conv(3, self.WIDTHS[0])
        self.down = nn.ModuleList(double_conv(low, high) for low, high in pairs)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(high, low, 2, stride=2) for low, high in reversed(pairs))
        self.up = nn.ModuleList(double_conv(2 * low, low) for low, _ in reversed(pairs))
        self.last = nn.Conv2d(self.WIDTHS[0], classes, 1)

    def forward(self, x):
        return down_and_up(self, x)


def unet(batch, device, size=128):
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randint(0, 2, (batch, size, size), device=device)
    return Workload(UNet().to(device), (images,), class_loss(target), SGD)


class Segmented(nn.Module):
    """A network that segments images and returns the scores of each pixel only."""

    def __init__(self, model, scores_of):
        super().__init__()
        self.model = model
        self.scores_of = scores_of

    def forward(self, images):
        return self.scores_of(self.model(images))


def segmentation(model, scores_of, classes, side, optimizer, batch, device, size=224):
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randint(0, classes, (batch, side, side), device=device)
    return Workload(Segmented(model, scores_of).to(device), (images,), class_loss(target), optimizer)


def deeplabv3(batch, device):
    """DeepLab V3 on ResNet-50: dilated convolutions, scores brought to the size of the image."""
    from torchvision.models.segmentation import deeplabv3_resnet50
    model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21)
    return segmentation(model, lambda out: out["out"], 21, 224, SGD, batch, device)


def fcn(batch, device):
    """FCN on ResNet-50: dilated convolutions and one head."""
    from torchvision.models.segmentation import fcn_resnet50
    model = fcn_resnet50(weights=None, weights_backbone=None, num_classes=21)
    return segmentation(model, lambda out: out["out"], 21, 224, SGD, batch, device)


def segformer(batch, device):
    """SegFormer B0: attention to a reduced image, a depthwise layer in each MLP."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    config = SegformerConfig(num_labels=150)
    return segmentation(SegformerForSemanticSegmentation(config), lambda out: out.logits, 150, 56, ADAMW, batch, device)


def video(name, frames=16, size=112):
    """A classifier of clips of torchvision."""
    def builder(batch, device):
        import torchvision
        model = getattr(torchvision.models.video, name)(weights=None).to(device)
        clips = torch.randn(batch, 3, frames, size, size, device=device)
        target = torch.randint(0, 400, (batch,), device=device)
        return Workload(model, (clips,), class_loss(target), SGD)
    return builder


class TwoTowers(nn.Module):
    """CLIP: the scores of each image with each text."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, images):
        return self.model(input_ids=ids, pixel_values=images).logits_per_image


def clip(batch, device, seq=77):
    """CLIP ViT-B/32: images and texts, contrasted."""
    from transformers import CLIPConfig, CLIPModel
    config = CLIPConfig()
    ids = torch.randint(0, config.text_config.vocab_size - 2, (batch, seq), device=device)
    images = torch.randn(batch, 3, 224, 224, device=device)
    target = torch.arange(batch, device=device)
    return Workload(TwoTowers(CLIPModel(config)).to(device), (ids, images), class_loss(target), ADAMW, {"seq": seq})


def lraspp(batch, device):
    """LR-ASPP on MobileNetV3: scores from a gate over the image, brought to its size."""
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=21)
    return segmentation(model, lambda out: out["out"], 21, 224, SGD, batch, device)


class VolumeNet(nn.Module):
    """A U-Net of volumes: three levels down and up again, norms of single volumes."""
    WIDTHS = (16, 32, 64, 128)
    pool = staticmethod(F.max_pool3d)

    def __init__(self, classes=3):
        super().__init__()

        def double(before, after):
            return nn.Sequential(nn.Conv3d(before, after, 3, padding=1), nn.InstanceNorm3d(after, affine=True), nn.LeakyReLU(inplace=True),
                                 nn.Conv3d(after, after, 3, padding=1), nn.InstanceNorm3d(after, affine=True), nn.LeakyReLU(inplace=True))
        pairs = list(zip(self.WIDTHS, self.WIDTHS[1:]))
        self.first = double(1, self.WIDTHS[0])
        self.down = nn.ModuleList(double(low, high) for low, high in pairs)
        self.grow = nn.ModuleList(nn.ConvTranspose3d(high, low, 2, stride=2) for low, high in reversed(pairs))
        self.up = nn.ModuleList(double(2 * low, low) for low, _ in reversed(pairs))
        self.last = nn.Conv3d(self.WIDTHS[0], classes, 1)

    def forward(self, x):
        return down_and_up(self, x)


def volumes(batch, device, side=64):
    """A 3-D U-Net on volumes of 64 voxels a side."""
    scans = torch.randn(batch, 1, side, side, side, device=device)
    target = torch.randint(0, 3, (batch, side, side, side), device=device)
    return Workload(VolumeNet().to(device), (scans,), class_loss(target), SGD)


def conv_silu(before, after, window=1, stride=1):
    return nn.Sequential(nn.Conv2d(before, after, window, stride, (window - 1) // 2, bias=False), nn.BatchNorm2d(after), nn.SiLU(inplace=True))


class CrossStage(nn.Module):
    """Half of the channels through bottlenecks, then joined with the other half."""

    def __init__(self, before, after, blocks, residual=True):
        super().__init__()
        half = after // 2
        self.left, self.right = conv_silu(before, half), conv_silu(before, half)
        self.blocks = nn.ModuleList(nn.Sequential(conv_silu(half, half), conv_silu(half, half, 3)) for _ in range(blocks))
        self.residual = residual
        self.join = conv_silu(after, after)

    def forward(self, x):
        left = self.left(x)
        for block in self.blocks:
            left = left + block(left) if self.residual else block(left)
        return self.join(torch.cat([left, self.right(x)], dim=1))


class Yolo(nn.Module):
    """A detector like YOLOv5 s: scores and boxes of three anchors in the cells of three grids."""

    def __init__(self, classes=80):
        super().__init__()
        self.stem = conv_silu(3, 32, 6, 2)
        widths, depths = (32, 64, 128, 256, 512), (1, 2, 3, 1)
        self.stages = nn.ModuleList(nn.Sequential(conv_silu(low, high, 3, 2), CrossStage(high, high, depth))
                                    for low, high, depth in zip(widths, widths[1:], depths))
        self.before_pools, self.after_pools = conv_silu(512, 256), conv_silu(1024, 512)
        self.narrow5, self.up4 = conv_silu(512, 256), CrossStage(512, 256, 1, False)
        self.narrow4, self.up3 = conv_silu(256, 128), CrossStage(256, 128, 1, False)
        self.shrink3, self.down4 = conv_silu(128, 128, 3, 2), CrossStage(256, 256, 1, False)
        self.shrink4, self.down5 = conv_silu(256, 256, 3, 2), CrossStage(512, 512, 1, False)
        self.heads = nn.ModuleList(nn.Conv2d(width, 3 * (5 + classes), 1) for width in (128, 256, 512))
        self.outputs = 5 + classes

    def pools(self, x):
        pools = [self.before_pools(x)]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        return self.after_pools(torch.cat(pools, dim=1))

    def forward(self, images):
        x = self.stem(images)
        levels = []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        top = self.narrow5(self.pools(levels[3]))
        middle = self.narrow4(self.up4(torch.cat([F.interpolate(top, scale_factor=2.0), levels[2]], dim=1)))
        fine = self.up3(torch.cat([F.interpolate(middle, scale_factor=2.0), levels[1]], dim=1))
        middle = self.down4(torch.cat([self.shrink3(fine), middle], dim=1))
        top = self.down5(torch.cat([self.shrink4(middle), top], dim=1))
        cells = [head(level) for head, level in zip(self.heads, (fine, middle, top))]
        return torch.cat([c.flatten(2).transpose(1, 2).reshape(len(images), -1, self.outputs) for c in cells], dim=1)


def yolo(batch, device, size=320):
    images = torch.randn(batch, 3, size, size, device=device)
    model = Yolo().to(device)
    anchors = 3 * sum((size // stride) ** 2 for stride in (8, 16, 32))
    target = torch.rand(batch, anchors, model.outputs, device=device).round()
    return Workload(model, (images,), lambda out: F.binary_cross_entropy_with_logits(out.float(), target), SGD)


class Found(nn.Module):
    """A Hugging Face detector that returns the classes and the boxes of its queries side by side."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        out = self.model(images)
        return torch.cat([out.logits, out.pred_boxes], dim=2)


def detr(batch, device, size=320, queries=100):
    """DETR on ResNet-50: norms that do not learn, six layers that see and six that ask."""
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
    backbone = ResNetConfig(out_features=["stage4"])
    config = DetrConfig(use_timm_backbone=False, backbone_config=backbone, backbone=None, use_pretrained_backbone=False, num_queries=queries)
    model = DetrForObjectDetection(config)
    images = torch.randn(batch, 3, size, size, device=device)
    wanted = torch.rand(batch, queries, config.num_labels + 5, device=device)
    return Workload(Found(model).to(device), (images,), lambda out: F.mse_loss(out.float(), wanted), ADAMW)


class Pixels(nn.Module):
    """A Hugging Face encoder of images that returns the means of its channels only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        return self.model(images).last_hidden_state.mean((2, 3))


def sam(batch, device, size=512):
    """The image encoder of SAM, narrow: windows of 14 x 14 patches, every third layer sees all, positions added to the scores."""
    from transformers import SamVisionConfig
    from transformers.models.sam.modeling_sam import SamVisionEncoder
    config = SamVisionConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=6, image_size=size, global_attn_indexes=[2, 5],
                             output_channels=256, mlp_dim=1536)
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randint(0, 256, (batch,), device=device)
    return Workload(Pixels(SamVisionEncoder(config)).to(device), (images,), class_loss(target), ADAMW)


def dinov2(batch, device):
    """DINOv2 small: a vision transformer whose branches are scaled by channel; patches of 14, 257 positions."""
    from transformers import Dinov2Config, Dinov2Model
    config = Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=224, patch_size=14)
    images = torch.randn(batch, 3, 224, 224, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(Dinov2Model(config)).to(device), (images,), class_loss(target), ADAMW)


def videomae(batch, device, frames=16):
    """The encoder of VideoMAE small: clips of 16 frames as 1568 positions."""
    from transformers import VideoMAEConfig, VideoMAEModel
    config = VideoMAEConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536, num_frames=frames)
    clips = torch.randn(batch, frames, 3, 224, 224, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(VideoMAEModel(config)).to(device), (clips,), class_loss(target), ADAMW)


def timesformer(batch, device, frames=8):
    """TimeSformer, six layers: attention over the frames of a place, then over the places of a frame."""
    from transformers import TimesformerConfig, TimesformerForVideoClassification
    config = TimesformerConfig(num_hidden_layers=6, num_frames=frames, num_labels=400)
    clips = torch.randn(batch, frames, 3, 224, 224, device=device)
    target = torch.randint(0, config.num_labels, (batch,), device=device)
    return Workload(Logits(TimesformerForVideoClassification(config)).to(device), (clips,), class_loss(target), ADAMW)


class LinesRead(nn.Module):
    """CRNN: seven convolutions over a line of text, two recurrent layers in both directions, a letter a column."""

    def __init__(self, letters=37, width=256):
        super().__init__()

        def conv(before, after, window=3, norm=False):
            layers = [nn.Conv2d(before, after, window, padding=window // 2 if window == 3 else 0)]
            return layers + ([nn.BatchNorm2d(after)] if norm else []) + [nn.ReLU(inplace=True)]
        self.seen = nn.Sequential(
            *conv(1, 64), nn.MaxPool2d(2), *conv(64, 128), nn.MaxPool2d(2), *conv(128, 256, norm=True), *conv(256, 256),
            nn.MaxPool2d((2, 1)), *conv(256, 512, norm=True), *conv(512, 512), nn.MaxPool2d((2, 1)), *conv(512, 512, (2, 1), True))
        self.rnn = nn.LSTM(512, width, 2, bidirectional=True)
        self.last = nn.Linear(2 * width, letters)

    def forward(self, lines):
        x = self.seen(lines).squeeze(2).permute(2, 0, 1)
        return self.last(self.rnn(x)[0])


def crnn(batch, device, columns=256, letters=20):
    """CRNN on lines of 32 x 256 pixels, and the loss over all alignments."""
    lines = torch.randn(batch, 1, 32, columns, device=device)
    target = torch.randint(1, 37, (batch, letters), device=device)
    lengths = torch.full((batch,), letters, dtype=torch.long, device=device)

    def loss(scores):
        read = torch.full((batch,), scores.shape[0], dtype=torch.long, device=device)
        return F.ctc_loss(F.log_softmax(scores.float(), 2), target, read, lengths)
    return Workload(LinesRead().to(device), (lines,), loss, ADAMW)
