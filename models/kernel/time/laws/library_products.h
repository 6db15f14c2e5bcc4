// Products as libraries compute them where no measured kernel stands for them: the kernel-time
// model corrected for 16 bits and TF32, and shares of the peak for operands that are aligned.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernel/time/product_rows.h"
#include "models/kernel/time/time_model.h"
#include "models/kernel/work/gemm_shape.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// 16-bit products whose rows are no multiples of 16 bytes, which the copy engine of warp-group
/// instructions cannot address: older instructions, a multiple slower than the fast ones, and loads
/// of a few bytes, which count as multiplications for each row and column of a tile and step of k.
/// Even: rows are multiples of 4 bytes. Fit: validation/fits/products/fit_unaligned.py.
struct UnalignedProducts {
  double even_ratio = 0, odd_ratio = 0;
  double even_load = 0, odd_load = 0;
  double start_k = 0;
};

/// 16-bit products by warp-group instructions: waves of tiles, each k steps and `start_k` more,
/// then all operands and the result at a share of the DRAM's peak; they overlap no further.
/// Documentation: library_products.cpp, fit: validation/fits/products.
struct HalfProducts {
  double floor_us = 0;
  double start_k = 0;
  double dram_share = 0;
  double split_us = 0;
  UnalignedProducts unaligned;
};
std::vector<Field<HalfProducts>> half_products_fields();

/// Of the kernel-time model's time above the floor. Fitted on pairs of traces in two precisions;
/// documentation: library_products.cpp.
struct LibraryProducts {
  HalfProducts half;
  double aligned_bytes = 0;
  double floor_us = 0;
  double ratio = 0;
  double odd_ratio = 0;
  double tf32_ratio = 0;
  double tf32_one_turned_ratio = 0, tf32_both_turned_ratio = 0;
};
std::vector<Field<LibraryProducts>> library_products_fields();

/// The product of recorded operands, in `type`; their strides tell which of them are contiguous
/// along k.
GemmShape gemm_shape(const ProductOperands& operands, DataType type);
/// Of any type, TF32 too. `pass_floor_us`: of a kernel that adds up the parts of a split product.
KernelTime library_product_time(const GpuArch& gpu, const LibraryProducts& products,
                                const GemmShape& shape, const TimeConstants& constants,
                                double pass_floor_us);

/// Of the items of a batch with one matrix in 16 bits. Each item's blocks read the matrix from L2
/// again, which bounds items of few rows; blocks of small matrices take as long as they take to
/// start. Documentation: library_products.cpp.
struct ItemProducts {
  double floor_us = 0;
  double l2_bytes_per_clk = 0;
  double block_us = 0;
  double unaligned_block_us = 0;
};
std::vector<Field<ItemProducts>> item_products_fields();

/// `whole_us`: of the same items copied into one matrix, which is no slower unless it has a few
/// columns. Blocks are larger where rows are aligned to `aligned_bytes`. `dram_share`: at which
/// such products move their operands.
double item_product_us(const GpuArch& gpu, const ItemProducts& products, const GemmShape& shape,
                       double aligned_bytes, double dram_share, double whole_us);

/// At a share of the peaks. Fitted on compiled code; documentation: library_products.cpp.
struct AlignedProducts {
  double floor_us = 0;
  double tensor_share = 0;
  double dram_share = 0;
  double aligned_bytes = 0;
  double depthwise_lane_cycles = 0;
  double depthwise_gradient_lane_cycles = 0;
};
std::vector<Field<AlignedProducts>> aligned_products_fields();

/// A product on tensor cores whose rows are aligned, or a convolution in channels-last order.
double aligned_product_us(const GpuArch& gpu, const AlignedProducts& products, double flops,
                          double bytes, DataType type);
/// A depthwise convolution with channels contiguous: the taps are vector loads. `results`: elements
/// of what each tap adds to.
double depthwise_us(const GpuArch& gpu, const AlignedProducts& products, double taps,
                    double results, double bytes, bool input_gradient);

}  // namespace tandem
