// Kernels on lists of tensors (ATen/native/cuda/MultiTensorApply.cuh): how the framework cuts the
// lists into launches, and how long one takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/arch/gpu_arch.h"

namespace tandem {

/// A launch: blocks, each of which walks over one chunk of one tensor.
struct ListLaunch {
  int blocks = 0;
  double elements = 0;
  double longest_chunk = 0;  // elements
};

/// Tensors of each of `lists` lists that fit the arguments of one launch; `numbers`: beside each
/// stands a number of its own.
int most_list_tensors(int lists, bool numbers);

/// The launches for tensors of these sizes, of which one takes at most `most_tensors`.
std::vector<ListLaunch> list_launches(std::span<const std::int64_t> sizes, int most_tensors);

/// A block reads a few elements a thread, waits for them and writes what became of them, over and
/// over. Few blocks wait for the memory, many fill it.
struct ListTimes {
  double floor_us = 0;
  double dram_share = 0;  // of the peak rate that many blocks reach
  double wait_us = 0;     // of a pass of a block
  double access_us = 0;   // ... more for each list that it reads or writes
};

/// `accesses`: of an element, reads and writes of all lists; `width`: its bytes.
double list_launch_us(const GpuArch& gpu, const ListTimes& times, const ListLaunch& launch,
                      int accesses, int width);

}  // namespace tandem
