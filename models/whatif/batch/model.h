// A trace prepared for any number of batch sizes: operations read, roles of operands decided.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/batch/roles.h"
#include "models/step/op_nesting.h"
#include "models/step/step_kernels.h"
#include "models/whatif/batch/batch.h"

namespace tandem {

class BatchModel {
 public:
  /// Keeps references to all that `base` and the arguments refer to. Errors: as with_batch().
  BatchModel(const BatchBase& base, const GpuArch& gpu, const BatchLaw& law);

  BatchModel(const BatchModel&) = delete;  // its parts point at each other
  BatchModel& operator=(const BatchModel&) = delete;

  /// The trace at another batch. May be called from several threads.
  Trace at(std::int64_t batch, LossList& losses, BatchReport* report = nullptr) const;

  const OpNesting& nesting() const { return nesting_; }
  const BatchOps& ops() const { return ops_; }
  std::int64_t base_batch() const { return base_batch_; }

 private:
  // Activities that are launched alike: same kernel, operation and geometry.
  struct Launch {
    BatchKernel kernel;
    GeometryId geometry;
  };
  // Parallel to launches_: what becomes of them at another batch.
  struct Resized {
    std::vector<KernelScaling> scalings;
    std::vector<GeometryId> geometries;
  };
  void find_launches();
  void add_launch(std::uint32_t activity, std::uint32_t op);
  Resized resize_launches(const BatchChange& change, Trace& out) const;
  AlgorithmSwitches products_by_another_tile(const std::vector<KernelScaling>& scalings,
                                             const Trace& resized) const;
  void require_batch(std::int64_t batch) const;
  void resize_ops(std::int64_t batch, Trace& out) const;

  const Trace& trace_;
  const Links& links_;
  const StepKernels& kernels_;
  std::int64_t base_batch_;
  const GpuArch& gpu_;
  const BatchLaw& law_;
  OpNesting nesting_;
  BatchOps ops_;
  std::vector<Launch> launches_;
  std::vector<std::uint32_t> launch_of_;  // per activity
  double floor_scale_ = 1;
  bool shapes_recorded_ = false;
};

}  // namespace tandem
