"""Networks that hear."""
import torch
import torch.nn.functional as F
from torch import nn

from workload import ADAMW, SGD, Hidden, Workload, class_loss, words_loss


def whisper(batch, device):
    """The encoder of Whisper small: two convolutions over 30 s of sound, then twelve layers on 1500 positions."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = WhisperConfig(d_model=768, encoder_layers=12, encoder_attention_heads=12, encoder_ffn_dim=3072)
    sound = torch.randn(batch, config.num_mel_bins, 3000, device=device)
    target = torch.randint(0, 768, (batch,), device=device)
    return Workload(Hidden(WhisperEncoder(config)).to(device), (sound,), class_loss(target), ADAMW)


def wav2vec2(batch, device, samples=80000):
    """The encoder of wav2vec 2.0 base: seven convolutions over 5 s of sound, a grouped one of 128 positions, twelve layers."""
    from transformers import Wav2Vec2Config, Wav2Vec2Model
    config = Wav2Vec2Config(mask_time_prob=0.0, layerdrop=0.0)
    sound = torch.randn(batch, samples, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(Wav2Vec2Model(config)).to(device), (sound,), class_loss(target), ADAMW)


def hubert(batch, device, samples=80000):
    """The encoder of a small HuBERT: wav2vec's convolutions over sound with layer norms, six layers."""
    from transformers import HubertConfig, HubertModel
    config = HubertConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, feat_extract_norm="layer",
                          mask_time_prob=0.0, layerdrop=0.0)
    sound = torch.randn(batch, samples, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(HubertModel(config)).to(device), (sound,), class_loss(target), ADAMW)


def conformer(batch, device, samples=80000):
    """The encoder of a small wav2vec 2.0 Conformer: depthwise layers over 31 positions, relative positions in the scores."""
    from transformers import Wav2Vec2ConformerConfig, Wav2Vec2ConformerModel
    config = Wav2Vec2ConformerConfig(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048,
                                     position_embeddings_type="relative", mask_time_prob=0.0, layerdrop=0.0)
    sound = torch.randn(batch, samples, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(Wav2Vec2ConformerModel(config)).to(device), (sound,), class_loss(target), ADAMW)


class DeepSpeech(nn.Module):
    """Two convolutions over a spectrogram, three layers of gates both ways, whose ways are added, and a letter a frame."""

    def __init__(self, bands=128, width=512, letters=29):
        super().__init__()
        self.listen = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                                    nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
        self.width = width
        sizes = (32 * bands // 4, width, width)
        self.layers = nn.ModuleList(nn.GRU(size, width, batch_first=True, bidirectional=True) for size in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in sizes)
        self.letters = nn.Linear(width, letters)

    def forward(self, sound):
        heard = self.listen(sound).flatten(1, 2).transpose(1, 2)
        for layer, norm in zip(self.layers, self.norms):
            both, _ = layer(heard)
            heard = both[..., :self.width] + both[..., self.width:]
            heard = norm(heard.transpose(1, 2)).transpose(1, 2)
        return self.letters(heard)


def deep_speech(batch, device, frames=400):
    """Like Deep Speech 2, four seconds of sound."""
    sound = torch.randn(batch, 1, 128, frames, device=device)
    target = torch.randint(0, 29, (batch, frames // 2), device=device)
    return Workload(DeepSpeech().to(device), (sound,), lambda out: F.cross_entropy(out.float().transpose(1, 2), target), ADAMW)


def conv_tasnet(batch, device, samples=16000):
    """Conv-TasNet: two speakers apart, a second of sound; dilated depthwise layers and norms of whole signals."""
    from torchaudio.models import conv_tasnet_base
    sound = torch.randn(batch, 1, samples, device=device)
    target = torch.randn(batch, 2, samples, device=device)
    return Workload(conv_tasnet_base().to(device), (sound,), lambda out: F.mse_loss(out.float(), target), ADAMW)


class Transcribed(nn.Module):
    """A Hugging Face model that hears and writes and returns its scores only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sound, ids):
        return self.model(input_features=sound, decoder_input_ids=ids, use_cache=False).logits


def whisper_asr(batch, device, seq=128):
    """Whisper base: six layers on 1500 positions of sound, six that write 128 tokens."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    config = WhisperConfig(d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
                           encoder_ffn_dim=2048, decoder_ffn_dim=2048)
    model = Transcribed(WhisperForConditionalGeneration(config)).to(device)
    sound = torch.randn(batch, config.num_mel_bins, 3000, device=device)
    ids = torch.randint(0, config.vocab_size, (batch, seq), device=device)
    return Workload(model, (sound, ids), words_loss(config.vocab_size, ids), ADAMW, {"seq": seq})


def wav2letter(batch, device, frames=1000, classes=40, letters=60):
    """Wav2Letter: twelve convolutions over time, up to 2000 channels, and the loss over all alignments."""
    from torchaudio.models import Wav2Letter
    sound = torch.randn(batch, 80, frames, device=device)
    target = torch.randint(1, classes, (batch, letters), device=device)
    lengths = torch.full((batch,), letters, dtype=torch.long, device=device)

    def loss(scores):
        over_time = scores.float().permute(2, 0, 1)
        heard = torch.full((batch,), over_time.shape[0], dtype=torch.long, device=device)
        return F.ctc_loss(over_time, target, heard, lengths)
    model = Wav2Letter(num_classes=classes, input_type="mfcc", num_features=80).to(device)
    return Workload(model, (sound,), loss, SGD, {"frames": frames})


class TemporalBlock(nn.Module):
    """Two layers of weights with a norm of their own, which see the past only."""

    def __init__(self, before, after, taps, dilation):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.cut = (taps - 1) * dilation
        self.conv1 = norm(nn.Conv1d(before, after, taps, padding=self.cut, dilation=dilation))
        self.conv2 = norm(nn.Conv1d(after, after, taps, padding=self.cut, dilation=dilation))
        self.skip = nn.Conv1d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x):
        y = F.dropout(F.relu(self.conv1(x)[:, :, :-self.cut]), 0.2, self.training)
        y = F.dropout(F.relu(self.conv2(y)[:, :, :-self.cut]), 0.2, self.training)
        return F.relu(y + self.skip(x))


def tcn(batch, device, length=1024, width=256, taps=5, layers=6, inputs=88):
    """A temporal convolutional network: layers whose taps lie 1 to 32 steps apart; the next notes of music."""
    blocks = [TemporalBlock(inputs if level == 0 else width, width, taps, 2 ** level) for level in range(layers)]
    model = nn.Sequential(*blocks, nn.Conv1d(width, inputs, 1)).to(device)
    notes = torch.randn(batch, inputs, length, device=device)
    target = torch.rand(batch, inputs, length, device=device).round()
    return Workload(model, (notes,), lambda out: F.binary_cross_entropy_with_logits(out.float(), target), ADAMW, {"length": length})


def ast(batch, device):
    """The Audio Spectrogram Transformer, six layers: overlapping patches of ten seconds of sound, 1214 positions."""
    from transformers import ASTConfig, ASTModel
    config = ASTConfig(num_hidden_layers=6)
    sound = torch.randn(batch, config.max_length, config.num_mel_bins, device=device)
    target = torch.randint(0, config.hidden_size, (batch,), device=device)
    return Workload(Hidden(ASTModel(config)).to(device), (sound,), class_loss(target), ADAMW)


class GatedPast(nn.Module):
    """A layer of WaveNet: two taps some steps apart, gated; one part goes on, one is added up for the result."""

    def __init__(self, width, skipped, dilation):
        super().__init__()
        self.cut = dilation
        self.both = nn.Conv1d(width, 2 * width, 2, dilation=dilation)
        self.on, self.out = nn.Conv1d(width, width, 1), nn.Conv1d(width, skipped, 1)

    def forward(self, x):
        value, gate = self.both(F.pad(x, (self.cut, 0))).chunk(2, dim=1)
        y = torch.tanh(value) * torch.sigmoid(gate)
        return x + self.on(y), self.out(y)


class WaveNet(nn.Module):
    def __init__(self, width=64, skipped=256, layers=10, stacks=2, levels=256):
        super().__init__()
        self.first = nn.Embedding(levels, width)
        self.layers = nn.ModuleList(GatedPast(width, skipped, 2 ** level) for _ in range(stacks) for level in range(layers))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(skipped, skipped, 1), nn.ReLU(), nn.Conv1d(skipped, levels, 1))

    def forward(self, samples):
        x, total = self.first(samples).transpose(1, 2), 0
        for layer in self.layers:
            x, out = layer(x)
            total = total + out
        return self.last(total)


def wavenet(batch, device, samples=4096):
    """WaveNet: twenty layers whose taps lie 1 to 512 samples apart; the next of 256 levels."""
    heard = torch.randint(0, 256, (batch, samples), device=device)
    return Workload(WaveNet().to(device), (heard,), lambda out: F.cross_entropy(out[:, :, :-1].float(), heard[:, 1:]), ADAMW)
