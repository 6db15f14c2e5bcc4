"""Networks that see: classifiers, segmentation, pictures made larger, clips, images beside texts."""
import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, SGD, Workload, class_loss


def vision(name, optimizer):
    """A classifier of torchvision, or else of timm, on 224x224 images."""
    def builder(batch, device):
        import torchvision
        if hasattr(torchvision.models, name):
            model = getattr(torchvision.models, name)(weights=None).to(device)
        else:
            import timm
            model = timm.create_model(name).to(device)
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


def double_conv(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Four levels down and up again with skip connections."""
    WIDTHS = (32, 64, 128, 256)

    def __init__(self, classes=2):
        super().__init__()
        pairs = list(zip(self.WIDTHS, self.WIDTHS[1:]))
        self.first = double_conv(3, self.WIDTHS[0])
        self.down = nn.ModuleList(double_conv(low, high) for low, high in pairs)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(high, low, 2, stride=2) for low, high in reversed(pairs))
        self.up = nn.ModuleList(double_conv(2 * low, low) for low, _ in reversed(pairs))
        self.last = nn.Conv2d(self.WIDTHS[0], classes, 1)

    def forward(self, x):
        skips = [self.first(x)]
        for block in self.down:
            skips.append(block(F.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([skips.pop(), grow(x)], dim=1))
        return self.last(x)


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


def segformer(batch, device):
    """SegFormer B0: attention to a reduced image, a depthwise layer in each MLP."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    config = SegformerConfig(num_labels=150)
    return segmentation(SegformerForSemanticSegmentation(config), lambda out: out.logits, 150, 56, ADAMW, batch, device)


def video(batch, device, frames=16, size=112):
    """ResNet-18 with filters over time, too: clips of 16 frames."""
    from torchvision.models.video import r3d_18
    clips = torch.randn(batch, 3, frames, size, size, device=device)
    target = torch.randint(0, 400, (batch,), device=device)
    return Workload(r3d_18(weights=None).to(device), (clips,), class_loss(target), SGD)


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


def edsr(batch, device, width=64, blocks=16, size=48):
    """EDSR: residual blocks without norms, images four times as large by shuffled channels."""
    def conv(before, after):
        return nn.Conv2d(before, after, 3, padding=1)
    body = [Residual(conv(width, width), nn.ReLU(inplace=True), conv(width, width)) for _ in range(blocks)]
    grow = [layer for _ in range(2) for layer in (conv(width, 4 * width), nn.PixelShuffle(2))]
    model = nn.Sequential(conv(3, width), Residual(*body, conv(width, width)), *grow, conv(width, 3)).to(device)
    images = torch.randn(batch, 3, size, size, device=device)
    target = torch.randn(batch, 3, 4 * size, 4 * size, device=device)
    return Workload(model, (images,), lambda out: F.l1_loss(out.float(), target), ADAMW)


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


class DitBlock(nn.Module):
    """A layer of a transformer whose norms are shifted, scaled and gated by what the image is to become."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def attend(self, x):
        batch, positions, width = x.shape
        q, k, v = self.qkv(x).view(batch, positions, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, positions, width))

    def forward(self, x, wanted):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(wanted).unsqueeze(1).chunk(6, dim=2)
        x = x + gate1 * self.attend(self.norm1(x) * (1 + scale1) + shift1)
        return x + gate2 * self.mlp(self.norm2(x) * (1 + scale2) + shift2)


class Dit(nn.Module):
    """A diffusion transformer (DiT-S/2): the noise of a latent image of four channels, given its class and how noisy it is."""

    def __init__(self, width=384, heads=6, layers=12, side=32, patch=2, classes=1000):
        super().__init__()
        self.side, self.patch, self.width = side, patch, width
        self.embed = nn.Conv2d(4, width, patch, patch)
        self.places = nn.Parameter(torch.zeros(1, (side // patch) ** 2, width))
        self.of_time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.of_class = nn.Embedding(classes + 1, width)
        self.blocks = nn.ModuleList(DitBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.last = nn.Linear(width, patch * patch * 4)

    def forward(self, latent, time, label):
        rates = torch.exp(-9.21 * torch.arange(128, device=time.device) / 128)
        angles = time[:, None].float() * rates[None]
        wanted = self.of_time(torch.cat([angles.cos(), angles.sin()], dim=1)) + self.of_class(label)
        x = self.embed(latent).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x, wanted)
        cells = self.side // self.patch
        x = self.last(self.norm(x)).view(-1, cells, cells, self.patch, self.patch, 4)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(-1, 4, self.side, self.side)


def dit(batch, device):
    latent, noise = (torch.randn(batch, 4, 32, 32, device=device) for _ in range(2))
    time = torch.randint(0, 1000, (batch,), device=device)
    label = torch.randint(0, 1000, (batch,), device=device)
    return Workload(Dit().to(device), (latent, time, label), lambda out: F.mse_loss(out.float(), noise), ADAMW)


def autoencoder(batch, device, width=64, side=128):
    """An image to 256 numbers and back, by strided and transposed convolutions with norms, as a DCGAN's two halves."""
    def down(before, after):
        return [nn.Conv2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True)]

    def up(before, after):
        return [nn.ConvTranspose2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    widths = [width << level for level in range(5)]
    narrower = [layer for pair in zip(widths, widths[1:]) for layer in down(*pair)]
    wider = [layer for pair in zip(widths[:0:-1], widths[-2::-1]) for layer in up(*pair)]
    model = nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), *narrower, nn.Conv2d(widths[-1], 256, 4),
        nn.ConvTranspose2d(256, widths[-1], 4, bias=False), nn.BatchNorm2d(widths[-1]), nn.ReLU(inplace=True), *wider,
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh()).to(device)
    images = torch.randn(batch, 3, side, side, device=device)
    return Workload(model, (images,), lambda out: F.mse_loss(out.float(), images), ADAMW)
