"""Networks of torchvision, timm and Transformers: flow of pictures, sound in and out, depth, larger pictures, series."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_images import TwoTowers, segmentation
from workload import ADAMW, SGD, Hidden, Logits, Workload, class_loss


class Applied(nn.Module):
    """A network of a library that returns only what `taken` picks of its answer."""

    def __init__(self, model, taken):
        super().__init__()
        self.model = model
        self.taken = taken

    def forward(self, *inputs):
        return self.taken(self.model(*inputs))


def towards(model, inputs, like, optimizer=ADAMW):
    """`model` on `inputs`, drawn towards random values of the shape `like`."""
    target = torch.randn(*like, device=inputs[0].device)
    return Workload(model.to(target.device), inputs, lambda out: F.l1_loss(out.float(), target), optimizer)


def pictures_of(name, size):
    """A classifier of timm on pictures of another size than 224."""
    def builder(batch, device):
        import timm
        model = timm.create_model(name, num_classes=1000).to(device)
        pictures = torch.randn(batch, 3, size, size, device=device)
        target = torch.randint(0, 1000, (batch,), device=device)
        return Workload(model, (pictures,), class_loss(target), SGD)
    return builder


def raft(batch, device, height=224, width=320, updates=4):
    """RAFT small: scores of all pairs of places of two pictures, read around where the flow points, four times."""
    from torchvision.models.optical_flow import raft_small

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = raft_small(weights=None)

        def forward(self, first, second):
            return torch.stack(self.model(first, second, num_flow_updates=updates))
    pair = tuple(torch.randn(batch, 3, height, width, device=device) for _ in range(2))
    return towards(Flow(), pair, (updates, batch, 2, height, width))


def sounds_of(model, hidden, batch, device, samples=48000):
    sound = torch.randn(batch, samples, device=device)
    target = torch.randint(0, hidden, (batch,), device=device)
    return Workload(Hidden(model).to(device), (sound,), class_loss(target), ADAMW)


def wavlm(batch, device):
    """The encoder of a WavLM of six layers: wav2vec's convolutions, positions that gates weigh."""
    from transformers import WavLMConfig, WavLMModel
    config = WavLMConfig(num_hidden_layers=6, mask_time_prob=0.0, layerdrop=0.0)
    return sounds_of(WavLMModel(config), config.hidden_size, batch, device)


def sew(batch, device):
    """The encoder of a small SEW: a deep stack of narrow convolutions over sound, half as many positions inside."""
    from transformers import SEWConfig, SEWModel
    config = SEWConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, mask_time_prob=0.0,
                       layerdrop=0.0)
    return sounds_of(SEWModel(config), config.hidden_size, batch, device)


class SoundAgain(nn.Module):
    """A codec without its table: what the encoder makes of a sound goes to the decoder as it is."""

    def __init__(self, codec):
        super().__init__()
        self.encoder, self.decoder = codec.encoder, codec.decoder

    def forward(self, sound):
        return self.decoder(self.encoder(sound))


def encodec(batch, device, samples=24000):
    """EnCodec's encoder and decoder: strided convolutions over one second of sound, two LSTM layers in the middle of each."""
    from transformers import EncodecConfig, EncodecModel
    return towards(SoundAgain(EncodecModel(EncodecConfig())), (torch.randn(batch, 1, samples, device=device),), (batch, 1, samples))


def dac(batch, device, samples=16384):
    """The encoder and decoder of a narrow Descript codec: dilated convolutions, periodic activations."""
    from transformers import DacConfig, DacModel
    config = DacConfig(encoder_hidden_size=32, decoder_hidden_size=512)
    return towards(SoundAgain(DacModel(config)), (torch.randn(batch, 1, samples, device=device),), (batch, 1, samples))


def dpt(batch, device, size=224):
    """DPT on a ViT of eight layers: depth from four of them, brought to one size and added up."""
    from transformers import DPTConfig, DPTForDepthEstimation
    config = DPTConfig(image_size=size, num_hidden_layers=8, backbone_out_indices=[1, 3, 5, 7], neck_hidden_sizes=[96, 192, 384, 768])
    model = Applied(DPTForDepthEstimation(config), lambda out: out.predicted_depth)
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, size, size))


def swin2sr(batch, device, size=64):
    """Swin2SR: four stages of windows without merging, a picture twice as large by shuffled channels."""
    from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution
    config = Swin2SRConfig(image_size=size, embed_dim=96, depths=[4, 4, 4, 4], num_heads=[6, 6, 6, 6], upscale=2)
    model = Applied(Swin2SRForImageSuperResolution(config), lambda out: out.reconstruction)
    return towards(model, (torch.randn(batch, 3, size, size, device=device),), (batch, 3, 2 * size, 2 * size))


def glpn(batch, device):
    """GLPN: SegFormer's encoder, depth from all its stages by gates between them."""
    from transformers import GLPNConfig, GLPNForDepthEstimation
    model = Applied(GLPNForDepthEstimation(GLPNConfig()), lambda out: out.predicted_depth)
    return towards(model, (torch.randn(batch, 3, 224, 224, device=device),), (batch, 224, 224))


def upernet(batch, device):
    """UPerNet on a small ConvNeXt: pooled pictures of four sizes beside a pyramid of features."""
    from transformers import ConvNextConfig, UperNetConfig, UperNetForSemanticSegmentation
    backbone = ConvNextConfig(depths=[2, 2, 4, 2], hidden_sizes=[64, 128, 256, 512], out_features=["stage1", "stage2", "stage3", "stage4"])
    config = UperNetConfig(backbone_config=backbone, hidden_size=256, num_labels=150, use_auxiliary_head=False)
    return segmentation(UperNetForSemanticSegmentation(config), lambda out: out.logits, 150, 224, ADAMW, batch, device)


def cvt(batch, device):
    """CvT 13: convolutions make tokens and project queries, keys and values."""
    from transformers import CvtConfig, CvtForImageClassification
    pictures = torch.randn(batch, 3, 224, 224, device=device)
    target = torch.randint(0, 1000, (batch,), device=device)
    return Workload(Logits(CvtForImageClassification(CvtConfig(num_labels=1000))).to(device), (pictures,), class_loss(target), ADAMW)


def siglip(batch, device, seq=64):
    """A small SigLIP: each picture with each text, a yes or no for every pair."""
    from transformers import SiglipConfig, SiglipModel
    sizes = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 8, "num_attention_heads": 8}
    config = SiglipConfig(text_config=dict(sizes, vocab_size=32000), vision_config=dict(sizes, image_size=224, patch_size=16))
    ids = torch.randint(0, 32000, (batch, seq), device=device)
    pictures = torch.randn(batch, 3, 224, 224, device=device)
    same = 2 * torch.eye(batch, device=device) - 1
    return Workload(TwoTowers(SiglipModel(config)).to(device), (ids, pictures), lambda scores: -F.logsigmoid(same * scores.float()).mean(),
                    ADAMW)


def series_mixer(batch, device, length=512, columns=7, ahead=96):
    """PatchTSMixer: patches of seven series mixed by MLPs along time and features, the next 96 steps."""
    from transformers import PatchTSMixerConfig, PatchTSMixerForPrediction
    config = PatchTSMixerConfig(context_length=length, prediction_length=ahead, num_input_channels=columns, patch_length=16,
                                patch_stride=8, d_model=64, num_layers=6)
    model = Applied(PatchTSMixerForPrediction(config), lambda out: out.prediction_outputs)
    return towards(model, (torch.randn(batch, length, columns, device=device),), (batch, ahead, columns))


def dinov3(batch, device):
    """A small DINOv3 of eight layers: patches whose places are rotated, four tokens beside the class."""
    from transformers import DINOv3ViTConfig, DINOv3ViTModel
    config = DINOv3ViTConfig(hidden_size=384, intermediate_size=1536, num_hidden_layers=8, num_attention_heads=6, num_register_tokens=4)
    target = torch.randint(0, 384, (batch,), device=device)
    return Workload(Hidden(DINOv3ViTModel(config)).to(device), (torch.randn(batch, 3, 224, 224, device=device),), class_loss(target), ADAMW)


def masked_patches(batch, device):
    """A masked autoencoder: a quarter of the patches are read, all are written."""
    from transformers import ViTMAEConfig, ViTMAEForPreTraining
    config = ViTMAEConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, decoder_hidden_size=256,
                          decoder_num_hidden_layers=4, decoder_num_attention_heads=8, decoder_intermediate_size=1024)
    model = Applied(ViTMAEForPreTraining(config), lambda out: out.logits)
    return towards(model, (torch.randn(batch, 3, 224, 224, device=device),), (batch, 196, 768))


def wav2vec2_bert(batch, device, frames=600):
    """Six Conformer blocks of a Wav2Vec2-BERT on features of sound: distances of words are learnt keys."""
    from transformers import Wav2Vec2BertConfig, Wav2Vec2BertModel
    config = Wav2Vec2BertConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, mask_time_prob=0.0,
                                layerdrop=0.0)
    target = torch.randint(0, 512, (batch,), device=device)
    sound = torch.randn(batch, frames, config.feature_projection_input_dim, device=device)
    return Workload(Hidden(Wav2Vec2BertModel(config)).to(device), (sound,), class_loss(target), ADAMW)


def univnet(batch, device, frames=160):
    """UnivNet's vocoder: noise into sound by convolutions whose kernels a second network predicts from the spectrum."""
    from transformers import UnivNetConfig, UnivNetModel
    config = UnivNetConfig()
    model = Applied(UnivNetModel(config), lambda out: out.waveforms)
    spectrum = torch.randn(batch, frames, config.num_mel_bins, device=device)
    noise = torch.randn(batch, frames, config.model_in_channels, device=device)
    return towards(model, (spectrum, noise), (batch, 256 * frames))


def pictures_and_words(batch, device, words=32, things=36):
    """LXMERT, small: words and things of a picture, layers each for itself and three in which both see the other."""
    from transformers import LxmertConfig, LxmertModel
    config = LxmertConfig(hidden_size=512, num_attention_heads=8, intermediate_size=2048, l_layers=4, r_layers=3, x_layers=3)
    model = Applied(LxmertModel(config), lambda out: out.pooled_output)
    ids = torch.randint(0, config.vocab_size, (batch, words), device=device)
    features, places = torch.randn(batch, things, config.visual_feat_dim, device=device), torch.rand(batch, things, 4, device=device)
    return towards(model, (ids, features, places), (batch, 512))
