"""Constants of costs.json that hold for all kernels, as fit.py writes them."""

GENERAL = {
    "launch_cycles": (1000, "cycle", "measured", "kernel duration x clock less the longest residency on an SM"),
    "minimum_active_cycles": (300, "cycle", "measured", "one small block on H200"),
    "counter_window_cycles": (2500, "cycle", "measured", "elapsed less duration x clock under Nsight Compute"),
    "tail_loss": (0.03, "ratio", "fitted", "idle share while blocks drain"),
    "block_start_cycles": (1.2, "cycle", "measured", "blocks of tiny kernels, bench/device/square: device_block_cycles of tiny_launch.json, H200"),
    "refill_share": (0.854, "ratio", "measured", "achieved over theoretical occupancy, median of 105 kernels of single operators of more than 8 waves, no matrix products"),
    "residency_power": (0.4, "exponent", "fitted", "block life over blocks on the SM"),
    "issue_per_instruction": (1.007, "ratio", "measured", "smsp__issue_active over smsp__inst_executed"),
    "most_issue": (0.842, "ratio", "measured", "most of smsp__issue_active over smsp__cycles_elapsed in 7643 launches on H200 (validation/captures, counters and ops), FP32 products apart: max pooling 0.841, reductions 0.835, layer norm 0.819, layout transforms 0.795"),
    "most_issue_simt": (0.877, "ratio", "measured", "the same, FP32 products: 0.876"),
    "occupancy_share": (0.83, "ratio", "measured", "achieved over theoretical occupancy"),
    "occupancy_share_matrix": (0.885, "ratio", "measured", "achieved over theoretical occupancy, GEMM"),
    "hmma_on_gmma": (1.5, "ratio", "measured", "sm__pipe_tensor_cycles_active over instructions on H200"),
    "hmma_short_on_gmma": (2.0, "ratio", "measured", "the same, s1688 with half operands"),
    "tensor_half_us": (14, "us", "fitted", "tensor pipe active over the duration of 3827 warp-group products of known shapes in 35 counted networks: 0.09 at 4 us, 0.3 at 10, 0.5 at 16, 0.66 at 60"),
    "tensor_lasting": (1.3, "ratio", "fitted", "the same: 0.95 for large tiles, over 0.73, the median of single operators"),
    "tensor_tile_exponent": (1.25, "exponent", "fitted", "the same: 0.35 for harmonic means of 40 to 70, 0.10 for 20 to 40, 0.04 below"),
    "tensor_clock_from": (0.14, "ratio", "fitted", "Nsight Compute's cycles over time of counted kernels of 60 us and more (validation/fits/kernel_counters/clock.py)"),
    "tensor_clock_slope": (1.25, "ratio", "fitted", "the same"),
    "refetch_from": (0.7, "ratio", "fitted", "DRAM reads of kernels that read their operands more than once"),
    "refetch_span": (0.6, "ratio", "fitted", "the same"),
    "unknown_functor": (6.0, "instruction", "measured", "median of the functors measured"),
    "unknown_issue": (0.25, "ratio", "measured", "median of the kernels of single operators"),
    "unknown_issue_simt": (0.6, "ratio", "measured", "median of 45 FP32 matrix kernels"),
    "unknown_tensor_hmma": (0.22, "ratio", "measured", "median of 60 matrix kernels"),
    "unknown_tensor_gmma": (0.55, "ratio", "measured", "median of 72 matrix kernels"),
    "unknown_dram": (0.14, "ratio", "measured", "median of 177 matrix kernels"),
}


def general(fitted_on):
    out = {}
    for name, (value, unit, kind, source) in GENERAL.items():
        out[name] = {"value": value, "unit": unit, "kind": kind, "source": source}
        if kind == "fitted":
            out[name]["fitted_on"] = fitted_on
    return out
