// A trace prepared for any number of batch sizes: operations read, roles of operands decided.
#pragma once

#include <cstdint>
#include <vector>

#include "models/whatif/batch.h"
#include "models/whatif/batch_roles.h"
#include "models/whatif/op_nesting.h"

namespace tandem {

class BatchModel {
 public:
  /// Keeps references to all arguments. Errors: as with_batch().
  BatchModel(const Trace& trace, const Links& links, std::int64_t base_batch, const GpuArch& gpu,
             const BatchLaw& law);

  Trace at(std::int64_t batch, LossList& losses, BatchReport* report = nullptr) const;

  const OpNesting& nesting() const { return nesting_; }
  const BatchOps& ops() const { return ops_; }
  std::int64_t base_batch() const { return base_batch_; }

 private:
  // Activities that are launched alike: same kernel, operation and geometry.
  struct Launch {
    BatchKernel kernel;
    StringId name;
    GeometryId geometry;
  };
  void find_launches();
  void require_batch(std::int64_t batch) const;
  void resize_ops(std::int64_t batch, Trace& out) const;

  const Trace& trace_;
  const Links& links_;
  std::int64_t base_batch_;
  const GpuArch& gpu_;
  const BatchLaw& law_;
  OpNesting nesting_;
  BatchOps ops_;
  std::vector<Launch> launches_;
  std::vector<std::uint32_t> launch_of_;  // per activity
  double floor_scale_ = 1;
};

}  // namespace tandem
