"""Networks of Transformers as its classes for a task stand: labels go in, and the loss is the network's own."""
import torch

from networks_answers import random_words
from networks_read import Named, random_pictures
from workload import ADAMW, Workload


def labelled(model, inputs, notes=None):
    """`model` on named inputs, labels among them, drawn down the loss that it returns."""
    names, values = zip(*inputs.items())
    device = values[0].device
    return Workload(Named(model, names, lambda out: out.loss).to(device), values, lambda loss: loss, ADAMW, notes)


def classes_of(kind, classes=1000, size=224, **sizes):
    """A classifier of pictures of one of Transformers' kinds."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForImageClassification
        config = AutoConfig.for_model(kind, num_labels=classes, **sizes)
        config.problem_type = "single_label_classification"
        labels = torch.randint(0, classes, (batch,), device=device)
        model = AutoModelForImageClassification.from_config(config)
        return labelled(model, {"pixel_values": random_pictures(batch, device, size), "labels": labels})
    return builder


def hidden_patches(batch, device):
    """ViT-MAE: a quarter of the patches through six layers of 768, all of them through four of 512."""
    from transformers import ViTMAEConfig, ViTMAEForPreTraining
    config = ViTMAEConfig(num_hidden_layers=6, decoder_num_hidden_layers=4)
    return labelled(ViTMAEForPreTraining(config), {"pixel_values": random_pictures(batch, device)})


def hidden_pictures(batch, device):
    """Pixio, six layers of 768: eight words for the class before the patches, their mean drawn towards random values."""
    from networks_libraries import Applied, towards
    from transformers import PixioConfig, PixioModel
    config = PixioConfig(hidden_size=768, num_hidden_layers=6, num_attention_heads=12, image_size=224, patch_size=16)
    model = Applied(PixioModel(config), lambda out: out.last_hidden_state.mean(1))
    return towards(model, (random_pictures(batch, device),), (batch, 768))


def classed_clips(batch, device, frames=16, size=112):
    """VideoMAE, six layers of 768, to classes of actions."""
    from transformers import VideoMAEConfig, VideoMAEForVideoClassification
    config = VideoMAEConfig(image_size=size, num_frames=frames, num_hidden_layers=6, num_labels=400)
    config.problem_type = "single_label_classification"
    labels = torch.randint(0, 400, (batch,), device=device)
    clips = torch.randn(batch, frames, 3, size, size, device=device)
    return labelled(VideoMAEForVideoClassification(config), {"pixel_values": clips, "labels": labels})


def read_aloud(seen, told, pictures, seq):
    """An encoder of pictures and a decoder of words, of a vocabulary of 50265, that says what is written on them."""
    from transformers import VisionEncoderDecoderConfig, VisionEncoderDecoderModel
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(seen.config, told.config)
    config.decoder_start_token_id, config.pad_token_id = 2, 1
    model = VisionEncoderDecoderModel(config, encoder=seen, decoder=told)
    return labelled(model, {"pixel_values": pictures, "labels": random_words(50265, len(pictures), seq, pictures.device)}, {"seq": seq})


def printed_lines(batch, device, seq=64):
    """TrOCR: six layers of ViT of 768, four layers of words that attend to its patches."""
    from transformers import TrOCRConfig, TrOCRForCausalLM, ViTConfig, ViTModel
    seen = ViTConfig(num_hidden_layers=6, image_size=224)
    told = TrOCRConfig(vocab_size=50265, d_model=768, decoder_layers=4, decoder_attention_heads=12, decoder_ffn_dim=3072,
                       cross_attention_hidden_size=768, is_decoder=True, add_cross_attention=True, use_cache=False)
    return read_aloud(ViTModel(seen, add_pooling_layer=False), TrOCRForCausalLM(told), random_pictures(batch, device), seq)


def classed_sounds(batch, device, seconds=10):
    """The encoder of Whisper, six layers of 512 over 500 places, to classes of sounds."""
    from transformers import WhisperConfig, WhisperForAudioClassification
    config = WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048,
                           max_source_positions=50 * seconds, num_labels=35)
    labels = torch.randint(0, 35, (batch,), device=device)
    sounds = torch.randn(batch, config.num_mel_bins, 100 * seconds, device=device)
    return labelled(WhisperForAudioClassification(config), {"input_features": sounds, "labels": labels})


def marked_words(batch, device, seq=128):
    """BERT of eight layers that marks each word with one of nine labels."""
    from transformers import BertConfig, BertForTokenClassification
    config = BertConfig(num_hidden_layers=8, num_labels=9)
    ids, marks = random_words(30522, batch, seq, device), random_words(9, batch, seq, device)
    ones = torch.ones(batch, seq, dtype=torch.int64, device=device)
    return labelled(BertForTokenClassification(config), {"input_ids": ids, "attention_mask": ones, "labels": marks}, {"seq": seq})


def next_words(kind, seq, **sizes):
    """A causal language model that computes its own loss, shifted and in FP32."""
    def builder(batch, device):
        from transformers import AutoConfig, AutoModelForCausalLM
        config = AutoConfig.for_model(kind, use_cache=False, **sizes)
        ids = random_words(config.vocab_size, batch, seq, device)
        return labelled(AutoModelForCausalLM.from_config(config), {"input_ids": ids, "labels": ids}, {"seq": seq})
    return builder


LABELLED = {
    "vit_classes": classes_of("vit", num_hidden_layers=8, hidden_size=512, num_attention_heads=8, intermediate_size=2048),
    "dinov2_classes": classes_of("dinov2", num_hidden_layers=8, image_size=224, hidden_size=512, num_attention_heads=8),
    "mobilevit_v2_classes": classes_of("mobilevitv2", size=256),
    "convnext_v2_classes": classes_of("convnextv2", depths=[2, 2, 6, 2], hidden_sizes=[80, 160, 320, 640]),
    "hidden_patches": hidden_patches, "hidden_pictures": hidden_pictures, "classed_clips": classed_clips,
    "printed_lines": printed_lines, "classed_sounds": classed_sounds, "marked_words": marked_words,
    "starcoder2": next_words("starcoder2", 1024, vocab_size=49152, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
                             num_attention_heads=16, num_key_value_heads=4),
}
