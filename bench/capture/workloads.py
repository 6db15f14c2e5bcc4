"""The networks that capture.py records: build(name, batch, device) gives a Workload."""
import torch
from torch import nn

import networks_images as images
import networks_language as language
import networks_pictures as pictures
import networks_speech as speech
import networks_streams as streams
import networks_tables as tables
from workload import ADAMW, SGD

BUILDERS = {
    "resnet50": images.vision("resnet50", SGD),
    "mobilenet_v2": images.vision("mobilenet_v2", SGD),
    "vit_b_16": images.vision("vit_b_16", ADAMW),
    "bert_base": language.bert(12),
    "bert_base2l": language.bert(2),
    "bert_large": language.bert(24, width=1024),
    "distilbert": language.distilbert,
    "opt": language.decoder(language.opt, seq=256),
    "qwen2": language.decoder(language.qwen2, seq=512),
    "pythia": language.decoder(language.pythia, seq=512),
    "gemma": language.decoder(language.gemma, seq=512),
    "albert": language.albert,
    "t5": language.t5,
    "qwen3": language.decoder(language.qwen3, seq=512),
    "bloom": language.decoder(language.bloom, seq=256),
    "wav2vec2": speech.wav2vec2,
    "falcon": language.decoder(language.falcon, seq=512),
    "conformer": speech.conformer,
    "deberta": language.deberta,
    "deeplabv3": images.deeplabv3,
    "segformer": images.segformer,
    "bart": language.bart,
    "whisper": speech.whisper,
    "llama": language.llama(16),
    "llama_4l": language.llama(4),
    "gpt2": language.gpt2(12),
    "gpt2_2l": language.gpt2(2),
    "dlrm": tables.dlrm,
    "lenet5": images.lenet5,
    "lstm": language.recurrent(nn.LSTM),
    "gru": language.recurrent(nn.GRU),
    "unet": images.unet,
    "xlnet": language.xlnet,
    "r3d_18": images.video,
    "edsr": pictures.edsr,
    "conv_tasnet": speech.conv_tasnet,
    "clip": images.clip,
    "graph_sage": tables.graph_sage,
    "multistream": streams.multistream,
    "mixtral": language.decoder(language.mixtral, seq=512),
    "phi": language.decoder(language.phi, seq=512),
    "modernbert": language.modernbert,
    "whisper_asr": speech.whisper_asr,
    "wav2letter": speech.wav2letter,
    "lraspp": images.lraspp,
    "dit": pictures.dit,
    "autoencoder": pictures.autoencoder,
    "deep_cross": tables.deep_cross,
    "graph_attention": tables.graph_attention,
    "volumes": images.volumes,
    "yolo": images.yolo,
    "detr": images.detr,
    "sam": images.sam,
    "latent_diffusion": pictures.latent_diffusion,
    "nafnet": pictures.nafnet,
    "tcn": speech.tcn,
    "ncf": tables.ncf,
    "ft_transformer": tables.ft_transformer,
    "deepseek": language.decoder(language.deepseek, seq=512),
    "mpt": language.decoder(language.mpt, seq=512),
    "longformer": language.longformer,
    "gpt_neo": language.decoder(language.gpt_neo, seq=512),
    "starcoder2": language.decoder(language.starcoder2, seq=512),
    "mistral": language.decoder(language.mistral, seq=512),
    "mobilebert": language.mobilebert,
    "olmo2": language.decoder(language.olmo2, seq=512),
    "gemma2": language.decoder(language.gemma2, seq=512),
    "roformer": language.roformer,
    "timesformer": images.timesformer,
    "fnet": language.fnet,
    "sasrec": language.sasrec,
    "dinov2": images.dinov2,
    "videomae": images.videomae,
    "crnn": images.crnn,
    "ast": speech.ast,
    "wavenet": speech.wavenet,
    "style": pictures.style,
    "nerf": pictures.nerf,
    "deepfm": tables.deepfm,
    "patchtst": tables.patchtst,
}


def build(name, batch, device):
    """One of BUILDERS, or any other classifier of torchvision or timm with SGD."""
    torch.manual_seed(0)
    return BUILDERS.get(name, images.vision(name, SGD))(batch, device)
