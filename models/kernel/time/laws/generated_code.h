// Kernels that a compiler generates: a launch floor, and what they move and compute above it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernel/time/rates.h"

namespace tandem {

enum class GeneratedKind : std::uint8_t { pointwise, reduction, row };

/// How what a reduction adds lies in memory.
enum class SumOrder : std::uint8_t {
  streamed,       // in one piece, or beside what other sums add
  images,         // a channel, image by image: each place is computed
  uneven_images,  // the same in parts of unequal length, which need a mask and load singly
  short_columns,  // a few rows that a block holds whole, so that it is only a few columns wide
};

/// Documentation: generated_code.cpp; times in us, cycles of one FP32 lane for one element.
struct GeneratedCode {
  FloorAndShare pointwise, reduction, row, column_sum;
  double pointwise_l2_share = 0;
  double cold_dram_share = 0;
  double narrow_elements = 0, narrow_ratio = 0;
  double transposed_share = 0;
  double strided_row_lane_cycles = 0, strided_gradient_share = 0;
  double across_sum_share = 0;
  double uneven_ratio = 0;
  double short_column_ratio = 0;
  double row_block_us = 0;
  double softmax_place_lane_cycles = 0;
  double shared_row_lane_cycles = 0;
  double looped_norm_lane_cycles = 0, looped_sum_lane_cycles = 0;
  double looped_operand_ratio = 0;
  double sum_step_us = 0;
  double rolled_row_us = 0;
  double window_row_us = 0;
  double half_add_us = 0;
  double sector_add_us = 0;
  double uneven_adds = 0;
  double added_l2_share = 0;
  double added_together = 0;
  double finish_us = 0, short_finish_us = 0, short_finish_bytes = 0;
  double mixed_sum_us = 0;
  double plain_lane_cycles = 0;
  double joined_lane_cycles = 0;
  double tap_lane_cycles = 0;
  double kept_tap_lane_cycles = 0;
  double place_lane_cycles = 0;
  double last_place_lane_cycles = 0;
  double resized_lane_cycles = 0;
  double interpolated_lane_cycles = 0;
  double last_interpolated_lane_cycles = 0;
  double places_lane_cycles = 0;
  double sampled_lane_cycles = 0;
  double transcendental_lane_cycles = 0;
  double trigonometric_lane_cycles = 0;
  double beside_norm_lane_cycles = 0;
  double error_lane_cycles = 0;
  double error_gradient_lane_cycles = 0;
  double norm_lane_cycles = 0;
  double last_norm_lane_cycles = 0;
  double norm_gradient_lane_cycles = 0;
  double divided_lane_cycles = 0;
  double looped_softmax_lane_cycles = 0;
  double odd_row_lane_cycles = 0;
  double looped_gradient_lane_cycles = 0, looped_gradient_element_cycles = 0;
  double gathered_lane_cycles = 0;
  double across_lane_cycles = 0;
  double random_lane_cycles = 0;
  double random_row_lane_cycles = 0;
  double random_column_lane_cycles = 0;
  double random_softmax_lane_cycles = 0;
  double moments_lane_cycles = 0;
  double image_moments_lane_cycles = 0;
  double pooling_share = 0;
  double gathered_l2_share = 0;

  const FloorAndShare& rate(GeneratedKind kind) const;
  /// Of the kernel that adds up what the parts of a split reduction left, FP32 values.
  double finishing_us(double values) const;
};
std::vector<Field<GeneratedCode>> generated_code_fields();

/// What one generated kernel moves and computes.
struct GeneratedWork {
  GeneratedKind kind = GeneratedKind::pointwise;
  double bytes = 0;                     // each passed once
  double cold_bytes = 0;                // of these, what DRAM holds and L2 does not
  bool transposed = false;              // written across the order in which it is read
  SumOrder order = SumOrder::streamed;  // of a reduction
  double steps = 0;                     // of a reduction: loads of a thread that follow one another
  double elements = 0;                  // of a pointwise kernel
  double adds = 0;                      // to sectors of memory, each of its own
  double adds_in_turn = 0;              // to the sector of a table that most of them reach
  double half_adds = 0;                 // to places that others add to, in FP16
  double lane_cycles = 0;
  double softmax_cycles = 0;  // of lanes, beside passing the rows
  double random_numbers = 0;
  double row_elements = 1;  // of a kernel of rows
  double rows = 0;
  double row_sums = 0;          // that lanes pass to each other for a row, one after the other
  double row_vector = 1;        // elements that a lane loads at once
  double row_operands = 1;      // as large as the rows, that are read
  double operand_elements = 0;  // of what is read and written
  bool looped = false;          // through the rows, for they do not lie as they are numbered
  bool softmax = false;         // of these rows, or its gradient
  bool gradient = false;        // rather than rows of the forward pass
};

/// Places of a block that holds a row whole: a power of two.
double held_places(double row_elements);

/// Memory and arithmetic run side by side in kernels of independent elements and the longer counts.
/// The autotuner gives few elements to twice as many threads, each of which then computes places
/// and loads what is broadcast for fewer of them.
/// A block that holds rows of a norm draws its random numbers between loading and storing, with few
/// warps, and the fewer the longer its rows are: registers hold them; one of a softmax beside. A
/// short row whose length is odd is loaded element by element, so that two warps have it between
/// them, and its sums go through shared memory. Blocks keep their place in an SM for a while,
/// however little they do; those that loop have two rows.
double generated_us(const GpuArch& gpu, const GeneratedCode& code, const GeneratedWork& work);
/// Of a reduction that keeps running means and variances of `elements`.
double generated_moments_us(const GpuArch& gpu, const GeneratedCode& code, double bytes,
                            double elements, SumOrder order = SumOrder::streamed);
/// Of a reduction whose neighbouring threads read different sectors.
double generated_gathered_us(const GpuArch& gpu, const GeneratedCode& code, double sectors);
/// Of windows that nothing states, from the time of the library's kernel.
double generated_pooling_us(const GeneratedCode& code, double library_us);

}  // namespace tandem
