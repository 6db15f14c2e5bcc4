"""Times of padding a 16-bit matrix by up to 8 rows or columns, as PyTorch does it (aten::constant_pad_nd), in its order and
turned: TorchInductor pads a product of unaligned sides where it is 1.1 times slower than the aligned one and these copies
(pad_mm). Writes CSV: python padded_copies.py >padded_copies.csv."""
import torch

SIDES = [(50257, 4096), (50257, 2048), (51865, 1024), (50257, 1024), (30522, 2048), (50257, 768), (32003, 4096), (12001, 4096),
         (250002, 512), (10001, 1024), (4095, 8192), (2047, 16384)]


def time_us(run, repeats=20):
    for _ in range(3):
        run()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1000 / repeats


def main():
    print("device,rows,columns,turned,us,gb_per_s")
    for rows, columns in SIDES:
        for turned in (False, True):
            # Padded are the `rows`: outermost in a matrix in order, neighbours in memory in one that is turned.
            x = torch.randn((columns, rows), device="cuda", dtype=torch.float16)
            matrix, pads = (x.t(), (0, 0, 0, -rows % 8)) if turned else (x, (0, -rows % 8))
            us = time_us(lambda: torch.nn.functional.pad(matrix, pads))
            print(f"{torch.cuda.get_device_name()},{rows},{columns},{int(turned)},{us:.2f},{4 * x.numel() / us / 1e3:.1f}")


main()
