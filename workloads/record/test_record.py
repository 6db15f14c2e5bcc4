"""Tests of the recorder: python3 -m unittest test_record (needs PyTorch; no GPU)."""
import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import torch
except ImportError:
    torch = None
NEEDS = unittest.skipUnless(torch, "PyTorch is not installed: pip install torch")

PROGRAMS = '''
import torch
from torch import nn
import torch.nn.functional as F
from program import Program


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 40)
        self.last = nn.Linear(40, 5)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def optimizer(parameters):
    return torch.optim.AdamW(parameters)


def perceptron(batch=8):
    target = torch.randint(0, 5, (batch,))
    return Program(Perceptron(), (torch.randn(batch, 24),), lambda y: F.cross_entropy(y, target), optimizer)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.full = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, bias=False)

    def forward(self, x):
        return self.depthwise(self.norm(self.full(x))).mean((2, 3))


class WithoutTf32(nn.Module):
    """A program that asks for whole FP32 in its convolutions."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 8, 3, bias=False)

    def forward(self, x):
        with torch.backends.cudnn.flags(allow_tf32=False):
            return self.layer(x)


class TokensAsImages(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(4, 8, 3, bias=False)

    def forward(self, x):
        return self.layer(x.transpose(1, 2).unflatten(2, (8, 8)))


class TokensAsSignal(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(4, 8, 3, bias=False)

    def forward(self, x):
        return self.layer(x.transpose(1, 2))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = [p.unflatten(-1, (2, 16)).transpose(1, 2) for p in self.mix(x).chunk(3, -1)]
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0, is_causal=True)


def attention(batch=2, seq=64):
    return Program(Attention(), (torch.randn(batch, seq, 32),), lambda y: y.square().mean(), optimizer)


class SharedKeys(nn.Module):
    """Attention of four heads that share two keys: in FP32 no kernel takes it as a whole."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(32, 128)

    def forward(self, x):
        heads = self.mix(x).unflatten(-1, (8, 16)).transpose(1, 2)
        q, k, v = heads.split((4, 2, 2), dim=1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def shared_keys(batch=2, seq=64):
    return Program(SharedKeys(), (torch.randn(batch, seq, 32),), lambda y: y.square().mean(), optimizer)


class Noise(nn.Module):
    def forward(self, x):
        return x * torch.empty_like(x).bernoulli_(0.5)


def noise(batch=8):
    return Program(Noise(), (torch.randn(batch, 4),))


class Branches(nn.Module):
    def forward(self, x):
        return torch.relu(x) if len(x) < 9 else torch.tanh(x)


def branches(batch=8):
    return Program(Branches(), (torch.randn(batch, 4),))


class Squares(nn.Module):
    def forward(self, x):
        return x.new_zeros(len(x) // 2)


def halves(batch=8):
    return Program(Squares(), (torch.randn(batch, 4),))


class Asks(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x


def asks(batch=8):
    return Program(Asks(), (torch.randn(batch, 4),))


class AsksTwice(nn.Module):
    def forward(self, x):
        x = torch.relu(x) if x.sum() > 0 else torch.tanh(x)
        return x + 1 if x.sum() > 0 else x * 2


def asks_twice(batch=8):
    return Program(AsksTwice(), (torch.randn(batch, 4),))


class Selects(nn.Module):
    def forward(self, x):
        return x[torch.nonzero(x[:, 0])]


def selects(batch=8):
    return Program(Selects(), (torch.randn(batch, 4),))


def attention_under(context, batch):
    model, x = Attention().eval(), torch.randn(batch, 64, 32)

    def step():
        with context():
            model(x)
    return step


def without_gradients(batch=2):
    return attention_under(torch.no_grad, batch)


def inference_mode(batch=2):
    return attention_under(torch.inference_mode, batch)


def own_step(batch=8):
    weight = torch.randn(3, 4, requires_grad=True)
    x = torch.randn(batch, 4)

    def step():
        weight.grad = None
        (x @ weight.t()).sum().backward()
    return step


def added_up(batch=8):
    weight = torch.randn(3, 4, requires_grad=True)
    x = torch.randn(batch, 4)

    def step():
        weight.grad = None
        for _ in range(2):
            F.gelu(x @ weight.t()).sum().backward()
    return step


def packed(batch=4):
    layer, x = nn.LSTM(8, 8, batch_first=True), torch.randn(batch, 32, 8)

    def step():
        with torch.device("cpu"):
            lengths = torch.full((batch,), 32)
        layer(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True))
    return step


def under_autocast(batch, enabled):
    model, x = Perceptron(), torch.randn(batch, 24)

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=enabled):
            model(x)
    return step


def autocast(batch=8):
    return under_autocast(batch, True)


def no_autocast(batch=8):
    return under_autocast(batch, False)


class Bounded(nn.Module):
    """Holds what it makes in bounds where it is in FP16, as BART does, and goes through FP32 in any type."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 40)

    def forward(self, x):
        x = self.first(x)
        if x.dtype == torch.float16:
            x = x.clamp(-60000, 60000)
        return torch.tanh(x.float()).to(x.dtype)


def bounded(batch=8):
    return Program(Bounded(), (torch.randn(batch, 24),))


class MaskedWhereCompiled(nn.Module):
    """Makes a mask that masks nothing where it is compiled, as Transformers does."""

    def forward(self, x):
        mask = None
        if torch.compiler.is_compiling():
            mask = x.new_ones(len(x), 1, 16, 1, dtype=torch.bool).expand(-1, -1, -1, 16)
        return F.scaled_dot_product_attention(x, x, x, mask)


def masked_where_compiled(batch=8):
    return Program(MaskedWhereCompiled(), (torch.randn(batch, 2, 16, 8),))


def masked_by_columns(batch=8):
    """Scores of places whose columns lie apart, as T5 has them."""
    x, places = torch.zeros(batch, 2, 16, 8), torch.zeros(16, 16, 2)

    def step():
        F.scaled_dot_product_attention(x, x, x, places.permute(2, 0, 1)[None])
    return step


def turned_rows(batch=8):
    x = torch.zeros(batch, 24, 16).transpose(1, 2)

    def step():
        F.layer_norm(x, (24,))
        torch.isinf(x)
    return step


def half_weights(batch=8):
    model, x = Perceptron().half(), torch.randn(batch, 24).half()
    return lambda: model(x)


def nothing(batch=8):
    return lambda: None


def on_default_device(batch=8):
    """Tensors of the step name no device: a program that sets a default one."""
    model = Perceptron()

    def step():
        with torch.no_grad():
            model(torch.randn(batch, 24)).masked_fill_(torch.eye(batch, 5, dtype=torch.bool), 0)
    return step


def beside_the_host(batch=8):
    """A tensor of the host that never meets the device stays there."""
    model, x = Perceptron(), torch.randn(batch, 24)

    def step():
        if torch.ones(3).sum().item() == 3:
            model(x)
    return step


class Skips(nn.Module):
    """The name x holds what the first layer made while the other layers run."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(24, 24) for _ in range(3))

    def forward(self, x):
        x = self.layers[0](x)
        y = self.layers[1](x)
        y = self.layers[2](y)
        return y.tanh()


def skips(batch=8):
    return Program(Skips(), (torch.randn(batch, 24),))


def copied_to_host(batch=8):
    model, x = Perceptron(), torch.randn(batch, 24)
    return lambda: model(x).cpu()


class OldParameter(nn.Module):
    """torch.Tensor() knows no default device."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(24, 5))

    def forward(self, x):
        return x @ self.weight


def old_parameter(batch=8):
    return Program(OldParameter(), (torch.randn(batch, 24),), lambda y: y.sum(), torch.optim.Adagrad)


def adagrad(batch=8):
    model, x = Perceptron(), torch.randn(batch, 24)
    optimizer = torch.optim.Adagrad(model.parameters())

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    return step


def recurrent(batch, layer):
    x = torch.randn(batch, 6, 8)
    return Program(layer, (x,), lambda y: y[0].sum(), optimizer)


def plain_rnn(batch=8):
    return recurrent(batch, nn.RNN(8, 16, 3, batch_first=True))


def one_lstm(batch=8):
    return recurrent(batch, nn.LSTM(8, 16, batch_first=True))


def projected_lstm(batch=8):
    return recurrent(batch, nn.LSTM(8, 16, proj_size=4, batch_first=True))


def filled_from_host(batch=8):
    x = torch.randn(batch, 24)

    def step():
        with torch.device("cpu"):
            low = torch.tensor(-1e9)
        x.masked_fill(x > 0, low)
    return step


def picked(batch=8):
    x = torch.randn(batch, 24)
    return lambda: torch.relu(x)[:, [3, 1, 2]]


def running_product(batch=8):
    x = torch.randn(batch, 64, requires_grad=True)

    def step():
        x.grad = None
        torch.cumprod(x, 1).sum().backward()
    return step


def spectrum(batch=8):
    x = torch.randn(batch, 64, requires_grad=True)

    def step():
        x.grad = None
        torch.fft.irfft(torch.fft.rfft(x) * 2j).sum().backward()
    return step


def block(batch=4, seq=96):
    return Program(nn.TransformerEncoderLayer(32, 2, 64, batch_first=True), (torch.randn(batch, seq, 32),))


def block_with_norms_first(batch=4, seq=96):
    layer = nn.TransformerEncoderLayer(32, 2, 64, activation="gelu", batch_first=True, norm_first=True)
    return Program(layer, (torch.randn(batch, seq, 32),))


class Weighed(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights
        self.attention = nn.MultiheadAttention(32, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=self.weights)[0]


def weighed(batch=4, seq=96):
    return Program(Weighed(True), (torch.randn(batch, seq, 32),))


def not_weighed(batch=4, seq=96):
    return Program(Weighed(False), (torch.randn(batch, seq, 32),))


class NormInFull(nn.Module):
    """A norm as decoders write it: in FP32, whatever the model has."""

    def forward(self, x):
        y = x.to(torch.float32)
        return torch.softmax((y * y.pow(2).mean(-1, keepdim=True).rsqrt()).to(x.dtype), -1, dtype=torch.float32).type_as(x)


def norm_in_full(batch=8):
    return Program(NormInFull(), (torch.randn(batch, 24),))


def lbfgs(batch=8):
    return perceptron(batch)._replace(optimizer=torch.optim.LBFGS)
'''


@NEEDS
class Recordings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "sample_programs.py")
        with open(cls.file, "w") as file:
            file.write(PROGRAMS)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_recorder(self, program, *options):
        """(exit status, network or nothing, what it said)"""
        import record
        out = os.path.join(self.folder.name, "out.json")
        said = io.StringIO()
        if ":" not in program:
            program = self.file + ":" + program
        with contextlib.redirect_stderr(said):
            code = record.main([program, "--out", out, *options])
        if code:
            return code, None, said.getvalue()
        with open(out) as file:
            return code, json.load(file), said.getvalue()

    def network(self, program, *options):
        code, network, said = self.run_recorder(program, *options)
        self.assertEqual(code, 0, said)
        return network

    def names(self, network, phase=None):
        return [row["op"] for row in network["ops"] if phase in (None, row["phase"])]

    def test_blocks_in_one_call(self):
        attention = ["aten::addmm", "aten::_scaled_dot_product_efficient_attention", "aten::addmm", "aten::add_"]
        both = ["aten::_addmm_activation", "aten::addmm", "aten::add_"]
        norm = ["aten::native_layer_norm"]
        network = self.network("block", "--task", "infer")
        self.assertEqual(self.names(network), attention + norm + both + norm)
        calls = [network["calls"][row["call"]]["op"] for row in network["ops"]]
        layer, outer = "aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd"
        self.assertEqual(calls, [layer] * 3 + [outer] * 6)
        first = self.network("block_with_norms_first", "--task", "infer")
        self.assertEqual(self.names(first), norm + attention + norm + both)
        applied = [next(row for row in n["ops"] if "activation" in row["op"]) for n in (network, first)]
        self.assertEqual([row["args"][5] for row in applied], [False, True])

    def test_attention_whose_weights_are_asked_for(self):
        plain = self.network("not_weighed", "--task", "infer")
        self.assertEqual(self.names(plain), ["aten::addmm", "aten::_scaled_dot_product_efficient_attention", "aten::addmm"])
        network = self.network("weighed", "--task", "infer")
        self.assertEqual(self.names(network), [
            "aten::mm", "aten::_transform_bias_rescale_qkv", "aten::bmm", "aten::_softmax", "aten::bmm", "aten::clone",
            "aten::addmm", "aten::sum", "aten::div_"])

    def test_conversions_that_do_nothing_in_fp32(self):
        network = self.network("norm_in_full", "--task", "infer")
        self.assertEqual(self.names(network), [
            "aten::to", "aten::pow", "aten::mean", "aten::rsqrt", "aten::mul", "aten::to", "aten::to", "aten::_softmax",
            "aten::to"])
        row = network["ops"][0]
        self.assertEqual((row["args"][1:], row["out"]), (["fp32", False, False, None], []))
        self.assertEqual(network["tensors"][row["args"][0]["t"]][1], ["batch", 24])

    def test_forms_of_models_in_16_bits(self):
        network = self.network("bounded", "--task", "infer")
        self.assertEqual(self.names(network), ["aten::addmm", "aten::to", "aten::tanh", "aten::to"])
        form, = network["forms"]  # in BF16 it does what it does in FP32
        self.assertEqual(form["type"], "fp16")
        self.assertEqual(self.names(form), ["aten::addmm", "aten::clamp", "aten::to", "aten::tanh", "aten::to"])
        self.assertEqual({tensor[0] for tensor in form["tensors"]}, {"fp32"})
        bounds, full = form["ops"][1], form["ops"][3]
        self.assertEqual(full["args"], [{"t": bounds["out"][0]}])  # what is converted is what was bounded
        self.assertNotIn("forms", self.network("perceptron"))

    def test_masks_of_compiled_programs(self):
        row, = self.network("masked_where_compiled", "--task", "infer")["ops"]
        self.assertEqual((row["args"][3], row["masked"]), (None, "column"))
        masks = [r.get("masked") for r in self.network("attention")["ops"] if r["op"].endswith("efficient_attention")]
        self.assertEqual(masks, ["none"])

    def test_masks_whose_columns_lie_apart(self):
        network = self.network("masked_by_columns")
        self.assertEqual([call["op"] for call in network["calls"]], ["aten::_scaled_dot_product_attention_math"])
        inside = [row["op"] for row in network["ops"] if "call" in row]
        softmax = inside.index("aten::_softmax")
        self.assertEqual(inside[softmax + 1:softmax + 5], ["aten::isneginf", "aten::all", "aten::scalar_tensor", "aten::where"])

    def test_operations_that_cuda_makes_of_others(self):
        names = self.names(self.network("turned_rows"))
        self.assertEqual(names[-4:], ["aten::clone", "aten::native_layer_norm", "aten::abs", "aten::eq"])

    def test_a_step_of_a_perceptron(self):
        network = self.network("perceptron")
        self.assertEqual(self.names(network, "forward"), [
            "aten::addmm", "aten::relu", "aten::addmm", "aten::_log_softmax", "aten::nll_loss_forward",
            "aten::ones_like"])
        self.assertEqual(self.names(network, "backward")[:2],
                         ["aten::nll_loss_backward", "aten::_log_softmax_backward_data"])
        self.assertTrue(all(name.startswith("aten::_foreach_") for name in self.names(network, "optimizer")))
        self.assertEqual(network["symbols"], [{"name": "batch", "recorded": [7, 11], "default": 8}])
        self.assertEqual(network["optimizer"], "adamw")
        self.assertEqual(set(network["modules"]), {"", "first", "last"})

    def test_storages_and_sizes(self):
        network = self.network("perceptron")
        kinds = [network["storages"].count(kind) for kind in ("parameter", "gradient", "state", "input", "buffer")]
        self.assertEqual(kinds, [4, 4, 8, 2, 0])
        first = network["ops"][0]
        bias, x, weight = [network["tensors"][arg["t"]] for arg in first["args"][:3]]
        self.assertEqual(x[:3], ["fp32", ["batch", 24], None])
        self.assertEqual(weight[:3], ["fp32", [24, 40], [1, 24]])
        self.assertEqual([network["storages"][t[3]] for t in (bias, x, weight)], ["parameter", "input", "parameter"])
        self.assertEqual(network["tensors"][first["out"][0]][1], ["batch", 40])

    def test_backward_knows_its_forward(self):
        network = self.network("perceptron")
        first = network["ops"][0]
        pair = [row for row in network["ops"] if row.get("seq") == first["seq"] and "node" in row]
        self.assertEqual({row["node"] for row in pair}, {"AddmmBackward0"})
        self.assertEqual({network["modules"][row["module"]] for row in pair}, {"first"})

    def test_operations_in_place_stay_in_their_storage(self):
        network = self.network("perceptron")
        row = next(row for row in network["ops"] if row["op"] == "aten::_foreach_addcdiv_")
        before, after = row["args"][0]["tl"], row["out"]
        self.assertNotEqual(before, after)
        self.assertEqual([network["tensors"][t][3] for t in before], [network["tensors"][t][3] for t in after])

    def test_names_of_cuda(self):
        network = self.network(self.file + ":Convolutions", "--input", "batch,3,30,30", "--loss", "cross_entropy",
                               "--optimizer", "sgd")
        self.assertEqual(self.names(network, "forward")[:5], [
            "aten::cudnn_convolution", "aten::add_", "aten::add_", "aten::cudnn_batch_norm", "aten::_conv_depthwise2d"])
        self.assertIn("aten::cudnn_batch_norm_backward", self.names(network, "backward"))
        first = network["ops"][0]
        self.assertEqual(first["args"][2:], [[0, 0], [1, 1], [1, 1], 1, False, False, True])

    def test_convolutions_without_tf32(self):
        network = self.network(self.file + ":WithoutTf32", "--input", "batch,3,30,30", "--task", "infer")
        self.assertEqual(network["ops"][0]["args"][2:], [[0, 0], [1, 1], [1, 1], 1, False, False, False])

    def test_convolutions_keep_channels_last(self):
        """As tokens that a view makes an image of have them: two images of 8 x 8 pixels and of 6 x 6 behind the window."""
        network = self.network("TokensAsImages", "--input", "batch,64,4", "--task", "infer")
        row = next(row for row in network["ops"] if row["op"] == "aten::cudnn_convolution")
        image, result = network["tensors"][row["args"][0]["t"]], network["tensors"][row["out"][0]]
        self.assertEqual(image[2], [256, 1, 32, 4])
        self.assertEqual(result[2], [288, 1, 48, 8])

    def test_signals_are_copied_into_their_own_order(self):
        """Tokens that a view makes a signal of are no image with channels last: PyTorch copies them before cuDNN's call."""
        network = self.network("TokensAsSignal", "--input", "batch,64,4", "--task", "infer")
        self.assertEqual(self.names(network)[:2], ["aten::clone", "aten::cudnn_convolution"])
        image = network["tensors"][network["ops"][1]["args"][0]["t"]]
        self.assertEqual(image[1:3], [["batch", 4, 1, 64], None])

    def test_attention(self):
        network = self.network("attention")
        row = next(row for row in network["ops"] if "attention" in row["op"])
        self.assertEqual(row["op"], "aten::_scaled_dot_product_efficient_attention")
        self.assertEqual(len(row["out"]), 4)
        self.assertEqual(network["tensors"][row["args"][0]["t"]][1], ["batch", 2, "seq", 16])
        self.assertIn("aten::_scaled_dot_product_efficient_attention_backward", self.names(network))
        self.assertNotIn("seq*seq", json.dumps(network["tensors"]))

    def test_attention_by_products_is_one_call(self):
        for options in ([], ["--task", "infer"]):
            network = self.network("shared_keys", *options)
            call, = network["calls"]
            self.assertEqual(call["op"], "aten::_scaled_dot_product_attention_math")
            query, key = (network["tensors"][call["args"][at]["t"]][1] for at in (0, 1))
            self.assertEqual((query, key), (["batch", 4, "seq", 16], ["batch", 2, "seq", 16]))
            inside = [row["op"] for row in network["ops"] if row.get("call") == 0]
            self.assertEqual(inside.count("aten::bmm"), 2)
            outside = [row["op"] for row in network["ops"] if row["phase"] == "forward" and "call" not in row]
            self.assertIn("aten::addmm", outside)
            self.assertNotIn("aten::bmm", outside)
        self.assertNotIn("calls", self.network("attention"))

    def test_inference_has_one_phase(self):
        network = self.network("attention", "--task", "infer")
        self.assertEqual({row["phase"] for row in network["ops"]}, {"forward"})
        self.assertEqual(network["optimizer"], "none")

    def test_a_step_of_ones_own(self):
        network = self.network("own_step")
        self.assertEqual(self.names(network, "backward")[-1], "aten::mm")

    def test_each_pass_is_forward_then_backward(self):
        phases = [row["phase"] for row in self.network("added_up")["ops"]]
        turns = [phase for phase, before in zip(phases, [None] + phases) if phase != before]
        self.assertEqual(turns, ["forward", "backward"] * 2)

    def test_memory_that_an_operation_fills_is_no_input(self):
        network = self.network("noise", "--task", "infer")
        self.assertEqual(self.names(network), ["aten::bernoulli_", "aten::mul"])
        self.assertEqual(sorted(network["storages"]), ["activation", "activation", "input"])

    def test_names_hold_memory(self):
        network = self.network("skips", "--task", "infer")
        self.assertEqual(self.names(network), ["aten::addmm"] * 3 + ["aten::tanh"])
        # x, read by the second layer, lives as long as the frame, and so does y, which tanh reads.
        first = network["ops"][0]["out"][0]
        held = [until for tensor, until in network["held"] if network["tensors"][tensor][3] == network["tensors"][first][3]]
        self.assertEqual(held, [3])
        self.assertEqual(self.network("perceptron", "--task", "infer")["held"], [])

    def test_programs_that_differ_with_the_batch(self):
        code, _, said = self.run_recorder("branches", "--task", "infer")
        self.assertEqual(code, 2)
        self.assertIn("operation 0: found aten::tanh at batch 11, expected aten::relu as at batch 7", said)

    def test_sizes_without_a_formula(self):
        code, _, said = self.run_recorder("halves", "--task", "infer")
        self.assertEqual(code, 2)
        self.assertIn("operation 0 (aten::new_zeros): found 3 at batch 7, 5 at batch 11, 6 at batch 13, expected "
                      "a sum of products of whole numbers and batch", said)

    def test_reads_of_the_device(self):
        code, _, said = self.run_recorder("asks", "--task", "infer")
        self.assertEqual(code, 2)
        self.assertRegex(said, r"aten::_local_scalar_dense: .*sample_programs.py:\d+: if x.sum\(\) > 0:")
        self.assertEqual(self.names(self.network("asks", "--task", "infer", "--reads", "1"))[-1], "aten::add")
        made = [name for name in self.names(self.network("asks_twice", "--task", "infer", "--reads", "0", "1"))
                if name in ("aten::relu", "aten::tanh", "aten::add", "aten::mul")]
        self.assertEqual(made, ["aten::tanh", "aten::add"])

        code, _, said = self.run_recorder("copied_to_host")
        self.assertEqual(code, 2)
        self.assertRegex(said, r"aten::_to_copy: the program copies numbers of the device to the host; found at .*cpu\(\)")

    def test_tensors_without_a_device(self):
        self.assertIn("aten::randn", self.names(self.network("on_default_device")))
        # Three ones of the host, their sum and the read of it launch nothing.
        self.assertNotIn("aten::sum", self.names(self.network("beside_the_host")))
        self.assertNotIn("host", self.network("old_parameter")["storages"])
        self.assertEqual(self.names(self.network("filled_from_host"))[-1], "aten::masked_fill")

    def test_indices_that_nothing_makes_are_inputs(self):
        network = self.network("picked")
        index = network["ops"][-1]["args"][1][1]["t"]
        self.assertEqual(network["storages"][network["tensors"][index][3]], "input")

    def test_optimizers_count_on_the_host(self):
        self.assertNotIn("aten::_local_scalar_dense", self.names(self.network("adagrad")))

    def test_recurrent_layers(self):
        def rnn(program):
            network = self.network(program)
            row = next(row for row in network["ops"] if row["op"] == "aten::_cudnn_rnn")
            return row["args"][6:9], network["tensors"][row["out"][3]][1]
        # 6 steps of 16, 4 bytes each: of an RNN ((1 + 1) * 3 - 1) numbers, of an LSTM (5 + 1) * 1 - 1.
        self.assertEqual(rnn("plain_rnn"), ([1, 16, 0], ["1920*batch+256"]))
        self.assertEqual(rnn("one_lstm"), ([2, 16, 0], ["1920*batch+256"]))
        self.assertEqual(rnn("projected_lstm"), ([2, 16, 4], ["1920*batch+256"]))

    def test_gradients_of_running_products_are_sums(self):
        backward = self.names(self.network("running_product"), "backward")
        # Its 64 factors would be as many products, sums and copies.
        self.assertEqual(backward[-8:], ["aten::mul", "aten::eq", "aten::any", "aten::_local_scalar_dense", "aten::flip",
                                         "aten::cumsum", "aten::flip", "aten::div"])

    def test_complex_numbers(self):
        network = self.network("spectrum")
        row = next(row for row in network["ops"] if row["op"] == "aten::_fft_r2c")
        self.assertEqual(network["tensors"][row["out"][0]][:2], ["complex64", ["batch", 33]])

    def test_results_whose_size_depends_on_values(self):
        code, _, said = self.run_recorder("selects", "--task", "infer")
        self.assertEqual(code, 2)
        self.assertRegex(said, r"aten::nonzero: its result depends on values.*sample_programs.py:\d+: .*nonzero")

    def test_programs_that_do_not_exist(self):
        self.assertEqual(self.run_recorder("nothing")[0], 2)
        self.assertEqual(self.run_recorder("no.such.package:name")[0], 2)

    def test_further_arguments(self):
        network = self.network("attention", "--set", "seq=64")
        self.assertEqual([s["name"] for s in network["symbols"]], ["batch"])
        self.assertEqual(self.run_recorder("attention", "--set", "seq=long")[0], 2)

    def test_inference_mode(self):
        rows = [self.names(self.network(program, "--task", "infer"))
                for program in ("without_gradients", "inference_mode")]
        self.assertEqual(*rows)
        self.assertIn("aten::_scaled_dot_product_efficient_attention", rows[0])

    def test_training_without_a_loss(self):
        code, _, said = self.run_recorder(self.file + ":Perceptron", "--input", "batch,24")
        self.assertEqual(code, 2)
        self.assertIn("needs a loss and an optimizer", said)

    def test_what_a_recording_in_fp32_cannot_hold(self):
        for program, reason in (
                ("packed", "how much work there is depends on the lengths of the sequences"),
                ("autocast", r"autocast: found at .*sample_programs.py:\d+.*--precision amp"),
                ("half_weights", "found a tensor of torch.float16"),
                ("nothing", "a step that launches nothing"),
                ("lbfgs", "found LBFGS, whose step runs the model itself")):
            with self.subTest(program):
                code, _, said = self.run_recorder(program)
                self.assertEqual(code, 2, said)
                self.assertRegex(said, reason)
        # Models turn autocast off around what must stay FP32.
        self.assertIn("aten::addmm", self.names(self.network("no_autocast")))


@NEEDS
@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class ShippedPrograms(unittest.TestCase):
    def test_decoders_take_a_sequence(self):
        import programs
        with torch.device("meta"):
            for make in (programs.gpt2, programs.llama):
                self.assertEqual(make(2, 96).inputs[0].shape, (2, 96))


class Formulas(unittest.TestCase):
    def fit(self, sizes, function):
        from sizes import Fitter
        fitter = Fitter(sizes)
        return fitter.formula(tuple(function(**point) for point in fitter.points))

    def test_formulas(self):
        one = {"batch": (7, 11, 13)}
        two = {"batch": (7, 11, 13), "seq": (96, 160, 224)}
        self.assertEqual(self.fit(one, lambda batch: 12 * batch), "12*batch")
        self.assertEqual(self.fit(one, lambda batch: 3 * batch + 5), "3*batch+5")
        self.assertEqual(self.fit(two, lambda batch, seq: batch * seq * seq), "batch*seq*seq")
        self.assertEqual(self.fit(two, lambda batch, seq: seq + 1), "seq+1")
        self.assertEqual(self.fit(two, lambda batch, seq: batch * (seq - 1)), "batch*seq+-1*batch")
        self.assertEqual(self.fit(two, lambda batch, seq: 4), 4)
        self.assertIsNone(self.fit(one, lambda batch: batch // 2))
        self.assertIsNone(self.fit(two, lambda batch, seq: batch * seq // 3))


if __name__ == "__main__":
    unittest.main()
