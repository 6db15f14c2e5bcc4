"""Times of batched products in FP32 (on FP32 pipes) and TF32: of attention by products (scores, values and their gradients) over many
lengths and heads, and of others a side of which is short. Writes CSV: python full_products.py >full_products.csv."""
import torch

from item_products import timed
from unaligned_products import attention

LENGTHS = (32, 49, 64, 96, 128, 145, 196, 197, 256, 257, 393, 512, 1000, 1024)
HEADS = (16, 32, 64, 80, 128)
ITEMS = (64, 192, 768, 3072)
MIXED = [  # items, rows, inner, columns
    (8192, 128, 27, 27), (8192, 27, 128, 27), (4096, 16, 49, 17), (4096, 49, 16, 17), (2048, 196, 16, 17), (512, 30, 64, 336),
    (512, 96, 336, 64), (64, 256, 576, 256), (192, 64, 256, 512), (192, 256, 64, 512), (128, 249, 64, 497), (1024, 49, 32, 196),
    (1024, 49, 196, 128), (96, 2048, 64, 77), (96, 2048, 77, 64), (256, 1024, 32, 16), (256, 16, 1024, 32),
]


def mixed(items, rows, inner, columns):
    left = torch.randn(items, rows, inner, device="cuda")
    right = torch.randn(items, inner, columns, device="cuda")
    yield "nn", left, right
    yield "nt", left, right.transpose(1, 2).contiguous().transpose(1, 2)
    yield "tn", left.transpose(1, 2).contiguous().transpose(1, 2), right


def main():
    print("device,type,what,items,rows,inner,columns,left_k_major,right_k_major,us,kernel")
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        cases = [(items, *case) for items in ITEMS for length in LENGTHS for width in HEADS
                 if items * length * max(length, width) < 2.2e8 and (width in (32, 64) or items == 192)
                 for case in attention(items, length, width, torch.float32)]
        cases += [(shape[0], *case) for shape in MIXED for case in mixed(*shape)]
        for items, what, left, right in cases:
            name, _, us = timed(lambda: torch.bmm(left, right))
            k_major = left.stride(-1) == 1, right.stride(-2) == 1
            print(f"{torch.cuda.get_device_name()},{'tf32' if tf32 else 'fp32'},{what},{items},{left.shape[-2]},{left.shape[-1]},"
                  f"{right.shape[-1]},{int(k_major[0])},{int(k_major[1])},{us:.2f},\"{name[:120]}\"", flush=True)


if __name__ == "__main__":
    main()
