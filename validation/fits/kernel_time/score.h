// Errors of the kernel-time model on measured tables.
#pragma once

#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "validation/fits/kernel_time/tables.h"

namespace tandem::kernel_time {

/// The model's time for an operator's kernels.
KernelTime predict(const GpuArch& gpu, const MeasuredOp& op, const TimeConstants& constants,
                   const TimeContext& context);

/// What the table's clock would show for each of its rows.
std::vector<double> predict_table(const GpuArch& gpu, const MeasuredTable& table,
                                  const TimeConstants& constants);

enum class Part : std::uint8_t {
  fit,     // rows that constants may have been fitted on
  scored,  // other rows of the same table
  test,    // tables of which no row was used
};
std::string_view to_string(Part part);

/// Errors of one operator type on one GPU in one part.
struct Score {
  std::string type, gpu;
  Part part = Part::test;
  std::size_t rows = 0;
  double mape = 0;       // mean absolute relative error
  double bias = 0;       // mean relative error
  double median = 0;     // of the absolute relative error
  double long_mape = 0;  // of rows measured at 100 us or more
  std::size_t long_rows = 0;
};

/// Scores every table; those of a GPU that the catalogue does not know are an error.
std::vector<Score> score_tables(const std::vector<MeasuredTable>& tables,
                                const GpuCatalogue& catalogue, const TimeConstants& constants);

/// Mean absolute error per type over rows that were not fitted, all GPUs together.
std::vector<Score> score_types(const std::vector<MeasuredTable>& tables,
                               const GpuCatalogue& catalogue, const TimeConstants& constants);

/// How well the kernels themselves are predicted, where a table names them.
struct GridScore {
  std::string type, gpu;
  std::size_t rows = 0;        // with a kernel of a known kind
  std::size_t algorithms = 0;  // of these: algorithm right
  std::size_t kernels = 0;     // algorithm and tile right
  std::size_t grids = 0;       // rows whose grid the law gives, told algorithm and tile
  std::size_t grid_rows = 0;   // rows where it could be told
};
std::vector<GridScore> score_grids(const std::vector<MeasuredTable>& tables,
                                   const GpuCatalogue& catalogue, const TimeConstants& constants);

/// Takes out the tables that cannot be scored; returns a line for each, with the reason.
std::vector<std::string> drop_unknown(std::vector<MeasuredTable>& tables,
                                      const GpuCatalogue& catalogue);

}  // namespace tandem::kernel_time
