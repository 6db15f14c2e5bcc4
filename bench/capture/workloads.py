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
    **language.DECODERS,
    "resnet50": images.vision("resnet50", SGD),
    "mobilenet_v2": images.vision("mobilenet_v2", SGD),
    "vit_b_16": images.vision("vit_b_16", ADAMW),
    "bert_base": language.bert(12),
    "bert_base2l": language.bert(2),
    "bert_large": language.bert(24, width=1024),
    "distilbert": language.distilbert,
    "albert": language.albert,
    "t5": language.t5,
    "wav2vec2": speech.wav2vec2,
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
    "r3d_18": images.video("r3d_18"),
    "s3d": images.video("s3d", size=224),
    "mvit_v2_s": images.video("mvit_v2_s", size=224),
    "swin3d_t": images.video("swin3d_t", size=224),
    "fcn": images.fcn,
    "hubert": speech.hubert,
    "rrdb": pictures.rrdb,
    "edsr": pictures.edsr,
    "conv_tasnet": speech.conv_tasnet,
    "clip": images.clip,
    "graph_sage": tables.graph_sage,
    "multistream": streams.multistream,
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
    "longformer": language.longformer,
    "mobilebert": language.mobilebert,
    "roformer": language.roformer,
    "electra": language.classifier("electra", 256, hidden_size=512, intermediate_size=2048, num_attention_heads=8, num_hidden_layers=8),
    "squeezebert": language.classifier("squeezebert", 128, num_hidden_layers=6),
    "convbert": language.classifier("convbert", 128, num_hidden_layers=6),
    "funnel": language.classifier("funnel", 256, block_sizes=[2, 2, 2]),
    "esm": language.classifier("esm", 256, vocab_size=33, hidden_size=480, intermediate_size=1920, num_attention_heads=20,
                               num_hidden_layers=8, pad_token_id=1, mask_token_id=32, position_embedding_type="rotary"),
    "big_bird": language.classifier("big_bird", 1024, num_hidden_layers=4, attention_type="original_full"),
    "ernie": language.classifier("ernie", 128, num_hidden_layers=8),
    "pegasus": language.reader_and_writer("pegasus", 256, d_model=512, encoder_layers=4, decoder_layers=4,
                                          encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
                                          decoder_ffn_dim=2048, vocab_size=50304),
    "mt5": language.reader_and_writer("mt5", 128, vocab_size=64000),
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
