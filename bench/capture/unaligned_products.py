"""Times of products in 16 bits whose rows are no multiples of 16 bytes: of attention by products (scores, values and their gradients)
over many lengths, and of layers of odd width. Writes CSV: python unaligned_products.py >unaligned_products.csv."""
import torch

from item_products import timed

LENGTHS = (48, 49, 50, 52, 65, 100, 144, 145, 146, 148, 196, 197, 198, 257, 300, 577)
HEADS = (32, 64, 80)
ITEMS = (96, 512, 1536)
LAYERS = [  # rows, inner, columns
    (4096, 768, 50257), (4096, 768, 1001), (4096, 768, 3075), (4096, 1001, 768), (4096, 3075, 768), (16384, 257, 257), (16384, 258, 258),
    (16384, 260, 260), (65536, 65, 64), (65536, 64, 65), (1024, 2049, 2049), (1024, 2050, 2050), (1024, 2052, 2052), (1024, 2048, 2048),
    (512, 1023, 4097), (8192, 147, 512), (8192, 512, 147), (8192, 150, 512), (8192, 148, 512),
]


def attention(items, length, width, type):
    """The product of one layer of attention, forward and backward, as operands of bmm."""
    rows = torch.randn(items, length, width, device="cuda", dtype=type)
    scores = torch.randn(items, length, length, device="cuda", dtype=type)
    yield "scores", rows, rows.transpose(1, 2)
    yield "values", scores, rows
    yield "gradient", scores.transpose(1, 2), rows


def layers(rows, inner, columns, type):
    x = torch.randn(rows, inner, device="cuda", dtype=type)
    weight = torch.randn(columns, inner, device="cuda", dtype=type)
    gradient = torch.randn(rows, columns, device="cuda", dtype=type)
    yield "layer", x, weight.t()
    yield "input", gradient, weight
    yield "weight", gradient.t(), x


def main():
    print("device,type,what,items,rows,inner,columns,left_k_major,right_k_major,us,kernel")
    for type in (torch.float16, torch.bfloat16):
        cases = [(items, *case) for items in ITEMS for length in LENGTHS for width in HEADS
                 if items * length * length < 2e8 and (type == torch.float16 or (items == 512 and width == 64))
                 for case in attention(items, length, width, type)]
        cases += [(1, *case) for shape in LAYERS for case in layers(*shape, type)]
        for items, what, left, right in cases:
            run = (lambda: torch.bmm(left, right)) if left.dim() == 3 else (lambda: torch.mm(left, right))
            name, _, us = timed(run)
            k_major = left.stride(-1) == 1, right.stride(-2) == 1
            print(f"{torch.cuda.get_device_name()},{str(type)[6:]},{what},{items},{left.shape[-2]},{left.shape[-1]},{right.shape[-1]},"
                  f"{int(k_major[0])},{int(k_major[1])},{us:.2f},\"{name[:120]}\"", flush=True)


if __name__ == "__main__":
    main()
