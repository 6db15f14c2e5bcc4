// Gradients of tables (aten/src/ATen/native/cuda/Embedding.cu, EmbeddingBackwardKernel.cu): indices
// are sorted, each row's gradients are summed in parts of at most ten, and these are summed.
#include <algorithm>

#include "models/kernel/time/l2_kept.h"
#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

constexpr std::int64_t key_bytes = 8;      // of an index, and of where it stood
constexpr std::int64_t rows_of_part = 10;  // NROWS_PER_THREAD
constexpr std::int64_t digits_of_key = 8;  // of eight bits, each sorted by a pass

/// The rule's kernels.
enum class TableKernel : std::size_t {
  few,  // few indices are not sorted
  zeros,
  numbers,  // where each index stood
  histogram,
  digit_sums,
  pass,
  unique_start,
  unique,
  per_row,  // parts of each row
  scan_start,
  scan,
  count,
  offsets,
  owners,  // row of each part
  parts,
  sums,
  added,  // parts of few rows are added there at once
};

struct Table {
  std::int64_t indices = 0;
  std::int64_t width = 0;
  std::int64_t rows = 0;  // that indices name at most
  std::int64_t parts() const { return indices / rows_of_part + rows; }
  /// Parts of a row, where indices name all rows alike often.
  double parts_of_row() const { return double(indices) / double(rows_of_part * rows); }
};

/// Whether each part is added to its row at once: there are few rows, of many parts each.
bool adds_at_once(const Table& t) {
  constexpr std::int64_t most_rows = 768;
  constexpr double least_parts = 2.4;
  return t.rows <= most_rows && t.parts_of_row() >= least_parts;
}

const KernelTemplate& kernel_of(const Context& c, TableKernel at) {
  return c.kernel(static_cast<std::size_t>(at));
}

class TableGradient {
 public:
  TableGradient(const Context& c, const Table& table, DataType type, Kernels& out)
      : c_(c), table_(table), type_(type), out_(out) {}

  void sort() {
    add(TableKernel::numbers, table_.indices, all_key_bytes());
    clear(2);
    add(TableKernel::histogram, table_.indices, all_key_bytes());
    add(TableKernel::digit_sums, 1, 0);
    for (std::int64_t digit = 0; digit < digits_of_key; ++digit) {
      clear(1);
      // Indices and numbers, read and written.
      add(TableKernel::pass, table_.indices, 4 * all_key_bytes());
    }
  }

  void divide() {
    add_sized(c_, kernel_of(c_, TableKernel::zeros), out_);
    add(TableKernel::unique_start, 1, 0);
    add(TableKernel::unique, table_.indices, 2 * all_key_bytes());
    add(TableKernel::per_row, table_.rows, 0);
    add(TableKernel::scan_start, 1, 0);
    add(TableKernel::scan, table_.rows, double(2 * table_.rows * key_bytes));
    add(TableKernel::count, 1, 0);
    add_walking_parts(TableKernel::offsets);
  }

  void sum() {
    if (adds_at_once(table_)) {
      add_walking_parts(TableKernel::owners);
      const double adds = double(table_.parts() * table_.width);
      add(TableKernel::added, table_.parts(), gradient_bytes());
      out_.back().duration_us += kernel_of(c_, TableKernel::added).step_us * adds;
      return;
    }
    const double rows_of_a_part = double(table_.indices) / double(table_.parts());
    add_rounds(TableKernel::parts, table_.parts(), rows_of_a_part);
    add_rounds(TableKernel::sums, table_.rows, double(table_.parts()) / double(table_.rows));
  }

 private:
  double all_key_bytes() const { return double(table_.indices * key_bytes); }

  double gradient_bytes() const {
    return double(table_.indices * table_.width * element_bytes(type_));
  }

  void clear(int times) {
    for (int i = 0; i < times; ++i) out_.push_back(memset_of(c_, 1));
  }

  void add(TableKernel at, std::int64_t size, double bytes) {
    add_small(c_, kernel_of(c_, at), type_, size, bytes, out_);
  }

  /// A thread for each row goes through the row's parts.
  void add_walking_parts(TableKernel at) {
    add(at, table_.rows, 0);
    const double cycles = kernel_of(c_, at).step_cycles * table_.parts_of_row();
    out_.back().duration_us += cycles / c_.gpu().boost_clock_mhz;
  }

  /// A block for each part, or row, as wide as the row; each waits for memory a few times, and a
  /// little longer for each of what it sums.
  void add_rounds(TableKernel at, std::int64_t blocks, double summed) {
    constexpr double longer = 0.1;
    const GpuArch& gpu = c_.gpu();
    KernelTemplate row = kernel_of(c_, at);
    const std::int64_t warps = ceil_div(table_.width, std::int64_t{gpu.warp_size});
    const std::int64_t most_warps = row.threads / gpu.warp_size;
    blocks *= ceil_div(warps, most_warps);
    row.threads = static_cast<int>(std::min(warps, most_warps) * gpu.warp_size);
    const auto together = static_cast<double>(blocks_at_once(c_, row));
    const double of_an_sm = double(blocks) / gpu.sm_count;
    const double wait = row.step_cycles * (1 + longer * std::max(0.0, summed - 1));
    const double cycles = of_an_sm * std::max(row.block_cycles, wait / together);
    row.block_cycles = 0;
    LoweredKernel kernel = make(c_, row, type_, {blocks}, gradient_bytes());
    lasts_at_least(c_, std::max(cycles, wait) / gpu.boost_clock_mhz, kernel);
    out_.push_back(std::move(kernel));
  }

  const Context& c_;
  const Table table_;
  const DataType type_;
  Kernels& out_;
};

/// A few indices, each in its turn: it reads its row and adds to it, from DRAM where the table lies
/// beyond L2. Where all name one of two rows each waits for the one before.
double one_by_one_us(const Context& c, std::int64_t indices, std::int64_t rows) {
  constexpr std::int64_t same_rows = 2;
  constexpr double missing = 1.06, waiting = 1.9;
  const double longer =
      rows <= same_rows ? waiting : missing * l2_missed(c.gpu(), bytes_of(c.outputs[0]));
  return kernel_of(c, TableKernel::few).step_us * (1 + longer) * static_cast<double>(indices);
}

}  // namespace

void lower_embedding_gradient(const Context& c, Kernels& out) {
  const TensorShape* gradient = c.tensor(0);
  const TensorShape* index = c.tensor(1);
  if (gradient == nullptr || index == nullptr || gradient->rank == 0 || c.outputs.empty()) return;
  const std::int64_t width = std::max<std::int64_t>(1, gradient->dims[gradient->rank - 1U]);
  const std::int64_t indices = index->elements();
  const std::int64_t rows = std::max<std::int64_t>(1, c.outputs[0].elements() / width);
  if (indices <= most_unsorted_indices) {
    add_sized(c, kernel_of(c, TableKernel::zeros), out);
    out.push_back(make(c, kernel_of(c, TableKernel::few), gradient->type, {ceil_div(width, 32)},
                       bytes_of(*gradient)));
    out.back().duration_us += one_by_one_us(c, indices, rows);
    return;
  }
  TableGradient steps(c, {indices, width, std::min(indices, rows)}, gradient->type, out);
  steps.sort();
  steps.divide();
  steps.sum();
}

}  // namespace tandem::lowering
