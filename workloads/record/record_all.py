#!/usr/bin/env python3
"""Record every network of workloads/nets again: record_all.py [NAME...]"""
import os
import sys

import torchvision
import transformers

import record

HERE = os.path.dirname(os.path.abspath(__file__))
VISION = f"torchvision {torchvision.__version__.partition('+')[0]}"
LANGUAGE = f"transformers {transformers.__version__}"
BOTH, TRAIN, INFER = ("train", "infer"), ("train",), ("infer",)

# program: what it is, tasks, further options
NETWORKS = {
    "resnet50": (f"{VISION} resnet50, 224x224", BOTH, []),
    "resnext50_32x4d": (f"{VISION} resnext50_32x4d, 224x224", BOTH, []),
    "mobilenet_v2": (f"{VISION} mobilenet_v2, 224x224", BOTH, []),
    "alexnet": (f"{VISION} alexnet, 224x224", BOTH, []),
    "vgg16": (f"{VISION} vgg16, 224x224", BOTH, []),
    "resnet18": (f"{VISION} resnet18, 224x224", BOTH, []),
    "densenet121": (f"{VISION} densenet121, 224x224", BOTH, []),
    "efficientnet_b0": (f"{VISION} efficientnet_b0, 224x224", BOTH, []),
    "efficientnet_b4": (f"{VISION} efficientnet_b4, 380x380", BOTH, []),
    "resnext101_32x4d": (f"{VISION} ResNet of 3, 4, 23, 3 bottlenecks, 32 groups of 4, 224x224", BOTH, []),
    "shufflenet_v2_x1_0": (f"{VISION} shufflenet_v2_x1_0, 224x224", BOTH, []),
    "vit_b_16": (f"{VISION} vit_b_16, 224x224", BOTH, []),
    "convnext_tiny": (f"{VISION} convnext_tiny, 224x224", BOTH, []),
    "swin_t": (f"{VISION} swin_t, 224x224", BOTH, []),
    "lenet5": ("LeNet-5 of bench/capture, 28x28", BOTH, []),
    "unet": ("U-Net of bench/capture, four levels, 128x128", BOTH, []),
    "lstm": ("LSTM of bench/capture, two layers of 1024, vocabulary of 10000", BOTH, []),
    "gru": ("GRU of bench/capture, two layers of 1024, vocabulary of 10000", BOTH, []),
    "dlrm": ("DLRM of bench/capture: 26 tables of 200000 rows of 128, summed, sparse gradients", BOTH, []),
    "dlrm_fused": ("the same DLRM with NVIDIA's fused kernels for tables and interaction", BOTH, []),
    "bert_base": (f"{LANGUAGE} BertForMaskedLM, 12 layers of 768", BOTH, []),
    "bert_large": (f"{LANGUAGE} BertForMaskedLM, 24 layers of 1024, 16 heads", BOTH, []),
    "bert_large_pretraining": (f"{LANGUAGE} BertForPreTraining, 24 layers of 1024, 16 heads, attention by products, 20 masked places", TRAIN,
                               []),
    # Both read the norm that bounds the parameters; 2 says that it does.
    "bert_large_answers": ("NVIDIA's BERT that answers questions, 24 layers of 1024, 16 heads, attention by products, parameters updated "
                           "one by one", BOTH, ["--reads", "2"]),
    "bert_large_answers_foreach": ("the same, many parameters updated at once", TRAIN, []),
    "bert_large_classes": (f"{LANGUAGE} BertForSequenceClassification, 24 layers of 1024, 16 heads, attention by products", INFER, []),
    "gpt2_large": (f"{LANGUAGE} GPT2LMHeadModel, 36 layers of 1280, 20 heads, attention by products", INFER, ["--reads", "1"]),
    "opt_1_3b": (f"{LANGUAGE} OPTForCausalLM, 24 layers of 2048, 32 heads, attention by products", INFER, ["--reads", "1"]),
    "distilbert": (f"{LANGUAGE} DistilBertForSequenceClassification", BOTH, []),
    # Both ask the device whether positions start anew somewhere; 1 says that they do not.
    "gpt2": (f"{LANGUAGE} GPT2LMHeadModel, 12 layers of 768", BOTH, ["--reads", "1"]),
    "llama": (f"{LANGUAGE} LlamaForCausalLM as Llama 3.2 1B: 16 layers of 2048, 32 heads, 8 keys, 8192", BOTH,
              ["--reads", "1"]),
    "transformer": ("torch.nn.Transformer of 6 + 6 layers of 512, vocabulary of 8000", TRAIN, []),
    "pointnet": ("PointNet without transforms, 1024 points, 40 classes", TRAIN, []),
}


def main(names):
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        print(f"record_all.py: found {unknown[0]}, expected some of {', '.join(NETWORKS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or NETWORKS:
        source, tasks, options = NETWORKS[name]
        for task in tasks:
            out = os.path.join(HERE, "..", "nets", f"{name}-{task}.json")
            program = os.path.join(HERE, "programs.py") + ":" + name
            code = record.main([program, "--task", task, "--out", out, "--source", source, *options])
            print(f"{name}-{task}: {'failed' if code else 'recorded'}", flush=True)
            failed += code != 0
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
