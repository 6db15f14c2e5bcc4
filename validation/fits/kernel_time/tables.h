// Public measurements of single operators, as shapes the kernel-time model takes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/kernel/time/time_model.h"

namespace tandem::kernel_time {

/// How a table was measured: duration of the kernel, or the time between two events around an
/// operation that the host launches, which hides short kernels (see event_timing.h).
enum class Clock : std::uint8_t { kernel, events };

using Shape = std::variant<GemmShape, PointwiseShape, RowShape, ConvLayer>;

/// The main kernel, where the table names it.
struct MeasuredKernel {
  bool known = false;
  KernelAlgorithm algorithm = KernelAlgorithm::direct;
  std::uint16_t tile_m = 0, tile_n = 0;  // as in its name
  std::array<std::int64_t, 3> grid{};
};

struct MeasuredOp {
  std::string op;  // as the table names it, e.g. "bmm", "gelu"
  Shape shape;
  double measured_us = 0;
  MeasuredKernel kernel;
  bool layer_norm = false;  // tells the two kinds of RowShape apart
  bool fit = false;         // constants may have been fitted on it; it is not scored
};

/// Rows of one kind of operator on one GPU, in the order of the file.
struct MeasuredTable {
  std::string file;
  std::string type;  // bmm, linear, pointwise, layer_norm, softmax, conv ...; empty: not modelled
  std::string gpu;   // name of the config
  Clock clock = Clock::kernel;
  bool train = false;                   // a part of the rows was used to fit constants
  CacheState cache = CacheState::warm;  // cold: other operators ran in between
  double repeats = 1;                   // of the operator in a row, before and while it was timed
  std::vector<MeasuredOp> rows;
};

/// Reads what there is of the public tables below `data` (neusight, vidur-a100-h100,
/// deepbench-v100, llmcompass-a100). Errors: InputError; a folder that is not there is no error.
std::vector<MeasuredTable> read_tables(const std::string& data);

/// The rule that picks the rows constants may be fitted on: one in ten, by the hash of the shape,
/// so that equal shapes fall together on all GPUs. FNV-1a, then a mix; 0 modulo 10.
bool is_fit_row(std::string_view shape_key);

/// Our own operators on H200, a file ops-times.csv.gz; nothing if it is not there. FP32 products,
/// layer norm and softmax are what constants of compute capability 9 were fitted on.
void read_ops(const std::string& path, std::vector<MeasuredTable>& out);

// One reader a source; each appends to `out`.
void read_neusight(const std::string& folder, std::vector<MeasuredTable>& out);
void read_vidur(const std::string& folder, std::vector<MeasuredTable>& out);
void read_deepbench(const std::string& folder, std::vector<MeasuredTable>& out);
void read_llmcompass(const std::string& folder, std::vector<MeasuredTable>& out);

}  // namespace tandem::kernel_time
