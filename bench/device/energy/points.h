// The measurement points: which kernel, on how many threads, for which share of the time.
#pragma once

#include <string>
#include <vector>

enum class Kernel {
  idle,  // nothing runs
  asleep,
  busy,
  l1_load,
  l2_load,
  l2_near_load,  // the thesis' 250 kB, the same for all blocks
  dram_load,
  l2_stream,  // random data, as many bytes in flight as there may be
  dram_stream,
  l2_store,
  dram_store,
  shared_load,
  shared_store,
  l1_divide,
  l2_divide,
  ffma,
  ffma_zero,
  mma_fp16,
  mma_fp16_zero,
  mma_tf32,
};

inline const char* name_of(Kernel k) {
  constexpr const char* names[] = {"idle",         "asleep",       "busy",          "l1_load",
                                   "l2_load",      "l2_near_load", "dram_load",     "l2_stream",
                                   "dram_stream",  "l2_store",     "dram_store",    "shared_load",
                                   "shared_store", "l1_divide",    "l2_divide",     "ffma",
                                   "ffma_zero",    "mma_fp16",     "mma_fp16_zero", "mma_tf32"};
  return names[static_cast<int>(k)];
}

struct Point {
  Kernel kernel = Kernel::idle;
  int threads = 1024;  // a block
  int blocks_per_sm = 1;
  double sm_share = 1;  // of the SMs that get blocks
};

/// What the regression needs: threads a block (the thesis' sweep), several runs of the points that
/// set the lower bound, SMs (power of an active SM), and what is known otherwise (FMA, tensor).
inline std::vector<Point> all_points() {
  using enum Kernel;
  std::vector<Point> points{{idle}, {idle}, {idle}, {asleep}};
  for (const double share : {0.25, 0.5, 0.75, 1.0}) points.push_back({busy, 1024, 1, share});
  points.push_back({busy, 32, 1});
  points.push_back({busy, 128, 1});
  for (const Kernel k : {shared_load, l1_load, l2_load, dram_load}) {
    for (const int threads : {1, 4, 32, 128, 256, 512}) points.push_back({k, threads});
    points.insert(points.end(), 3, {k, 1024});
    if (k == dram_load || k == l2_load) points.insert(points.end(), 3, {k, 1024, 2});
  }
  for (const Kernel k : {l2_stream, dram_stream, ffma, mma_fp16, mma_tf32}) {
    for (const int threads : {128, 256, 512}) points.push_back({k, threads});
  }
  for (const Kernel k : {l2_near_load, l2_store, dram_store, shared_store, l1_divide, l2_divide,
                         ffma_zero, mma_fp16_zero}) {
    points.push_back({k, 512});
  }
  for (const Kernel k :
       {l2_stream, dram_stream, ffma, l2_store, dram_store, shared_store, l1_divide, l2_divide}) {
    points.push_back({k, 1024});
  }
  return points;
}
