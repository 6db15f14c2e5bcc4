"""Networks of torchvision and Transformers that answer in another kind than they read: boxes, captions, letters, words of a sound."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_language import translation
from networks_libraries import Applied, towards
from networks_own import of_words
from workload import ADAMW, SGD, Workload, class_loss, words_loss


def random_words(vocab, batch, length, device):
    return torch.randint(5, vocab, (batch, length), device=device)


class ReadAndWritten(nn.Module):
    """A model that reads something and scores every word of what is written of it."""

    def __init__(self, model, read, written="decoder_input_ids"):
        super().__init__()
        self.model, self.read, self.written = model, read, written

    def forward(self, inputs, words):
        return self.model(**{self.read: inputs, self.written: words}, use_cache=False).logits


def writes(model, read, inputs, vocab, words, written="decoder_input_ids"):
    """`model` on `inputs`, drawn towards random words."""
    batch, length = words
    device = inputs.device
    target = random_words(vocab, batch, length, device)
    model = ReadAndWritten(model, read, written).to(device)
    return Workload(model, (inputs, random_words(vocab, batch, length, device)), words_loss(vocab, target), ADAMW)


def rt_detr(batch, device, size=320, queries=100):
    """RT-DETR on a ResNet-18: places of three sizes that attention samples, the best of them decoded to boxes."""
    from transformers import RTDetrConfig, RTDetrModel, RTDetrResNetConfig
    trunk = RTDetrResNetConfig(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic",
                               out_features=["stage2", "stage3", "stage4"])
    config = RTDetrConfig(backbone_config=trunk, encoder_in_channels=[128, 256, 512], num_queries=queries, num_denoising=0,
                          decoder_layers=3, anchor_image_size=[size, size])
    model = Applied(RTDetrModel(config), lambda out: torch.cat([out.last_hidden_state, out.intermediate_reference_points[:, -1]], -1))
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, queries, 260))


class BoxesOfAll(nn.Module):
    """RetinaNet without its choice of anchors: the scores and boxes of all of them."""

    def __init__(self):
        super().__init__()
        from torchvision.models.detection import retinanet_resnet50_fpn
        whole = retinanet_resnet50_fpn(weights=None, weights_backbone=None, trainable_backbone_layers=5)
        self.trunk, self.head = whole.backbone, whole.head

    def forward(self, pictures):
        out = self.head(list(self.trunk(pictures).values()))
        return torch.cat([out["cls_logits"], out["bbox_regression"]], -1)


def retinanet(batch, device, size=256):
    from torchvision.ops import sigmoid_focal_loss
    model = BoxesOfAll().to(device)
    anchors = 9 * sum((size // step) ** 2 for step in (8, 16, 32, 64, 128))
    labels = (torch.rand(batch, anchors, 91, device=device) > 0.99).float()
    boxes = torch.randn(batch, anchors, 4, device=device)

    def loss(out):
        scores, moved = out.float().split([91, 4], -1)
        return sigmoid_focal_loss(scores, labels, reduction="mean") + F.smooth_l1_loss(moved, boxes)
    return Workload(model, (torch.randn(batch, 3, size, size, device=device),), loss, SGD)


def trocr(batch, device, size=192, length=48):
    """A line of print read by a small ViT, its letters written by six layers of TrOCR."""
    from transformers import TrOCRConfig, TrOCRForCausalLM, VisionEncoderDecoderModel, ViTConfig, ViTModel
    reader = ViTModel(ViTConfig(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, intermediate_size=1536, image_size=size))
    config = TrOCRConfig(vocab_size=20000, d_model=512, decoder_layers=6, decoder_attention_heads=8, decoder_ffn_dim=2048,
                         cross_attention_hidden_size=384, dropout=0.0, activation_function="relu")
    model = VisionEncoderDecoderModel(encoder=reader, decoder=TrOCRForCausalLM(config))
    return writes(model, "pixel_values", torch.randn(batch, 3, size, size, device=device), config.vocab_size, (batch, length))


def blip(batch, device, size=224, length=32):
    """BLIP with six layers on each side: a picture, and a caption that looks at it."""
    from transformers import BlipConfig, BlipForConditionalGeneration
    config = BlipConfig(text_config=dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8,
                                         encoder_hidden_size=512, attention_probs_dropout_prob=0.1),
                        vision_config=dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8,
                                           image_size=size))
    pictures = torch.randn(batch, 3, size, size, device=device)
    return writes(BlipForConditionalGeneration(config), "pixel_values", pictures, 30524, (batch, length), "input_ids")


def perceiver(batch, device, seq=1024):
    """Perceiver: bytes are read into 256 latents, eight layers among these, and written again."""
    from transformers import PerceiverConfig, PerceiverForMaskedLM
    config = PerceiverConfig(num_latents=256, d_latents=768, d_model=512, num_self_attends_per_block=8, num_self_attention_heads=8,
                             num_cross_attention_heads=8, qk_channels=256, v_channels=768, max_position_embeddings=seq)
    model = Applied(PerceiverForMaskedLM(config), lambda out: out.logits)
    return of_words(model.to(device), 262, batch, device, seq)


def speech_to_text(batch, device, frames=800, length=48):
    """Two strided convolutions over filter banks, six layers that listen, three that write."""
    from transformers import Speech2TextConfig, Speech2TextForConditionalGeneration
    config = Speech2TextConfig(encoder_layers=6, decoder_layers=3, d_model=512, encoder_attention_heads=8, decoder_attention_heads=8,
                               encoder_layerdrop=0.0, decoder_layerdrop=0.0)
    sound = torch.randn(batch, frames, 80, device=device)
    return writes(Speech2TextForConditionalGeneration(config), "input_features", sound, config.vocab_size, (batch, length))


def moonshine(batch, device, samples=64000, length=48):
    """Moonshine base of six layers: three convolutions over the sound itself, rotated positions."""
    from transformers import MoonshineConfig, MoonshineForConditionalGeneration
    config = MoonshineConfig(hidden_size=416, intermediate_size=1664, encoder_num_hidden_layers=6, decoder_num_hidden_layers=6)
    sound = torch.randn(batch, samples, device=device)
    return writes(MoonshineForConditionalGeneration(config), "input_values", sound, config.vocab_size, (batch, length))


def switch_transformer(batch, device, seq=128):
    """A T5 of four layers, every second of whose MLPs is one of eight experts a word."""
    from transformers import SwitchTransformersConfig, SwitchTransformersForConditionalGeneration
    config = SwitchTransformersConfig(d_model=512, d_ff=2048, num_layers=4, num_decoder_layers=4, num_heads=8, d_kv=64, num_experts=8)
    return translation(SwitchTransformersForConditionalGeneration(config), config.vocab_size, batch, device, seq)


class SeenAlone(nn.Module):
    """V-JEPA 2 without what it expects of hidden places: the mean of what it saw."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, clip):
        return self.model(clip, skip_predictor=True).last_hidden_state.mean(1)


def vjepa2(batch, device, size=128, frames=8):
    """V-JEPA 2's encoder on a clip: positions of three axes by rotation."""
    from transformers import VJEPA2Config, VJEPA2Model
    config = VJEPA2Config(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, crop_size=size, frames_per_clip=frames)
    target = torch.randint(0, 384, (batch,), device=device)
    model = SeenAlone(VJEPA2Model(config)).to(device)
    return Workload(model, (torch.randn(batch, frames, 3, size, size, device=device),), class_loss(target), ADAMW)
