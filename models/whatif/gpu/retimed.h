// What becomes of each launch of a step on another GPU: its time, its kernel, its type.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernel/time/kernel_time.h"
#include "models/step/launches.h"
#include "models/whatif/gpu/retarget.h"

namespace tandem {

/// What becomes of one launch. Equal launches share it.
struct Retimed {
  ModelledTime from, to;
  double absolute_us = 0;  // what the model alone says of `to`
  double error = 0;        // relative, of its time
  DataType type = DataType::unknown;
  bool changed = false;   // another algorithm or type
  bool absolute = false;  // and its time is known without the measured one
  bool dropped = false;
  bool known = false;     // `from` and `to` hold
  bool modelled = false;  // and its kind is one that the models know
  bool renamed = false;
  double least_us = 0;  // at the peak of the pipe that multiplies
  bool fits = true;     // an SM holds a block of it
  PredictedKernel kernel;
  LaunchGeometry geometry;
};

/// What becomes of every launch of a step. Step and options must outlive it.
class RetimedLaunches {
 public:
  RetimedLaunches(const Step& step, const RetargetOptions& options);

  const Retimed& of(std::uint32_t activity);
  KernelLaunch launch(std::uint32_t activity) const { return launches_.launch(activity); }
  double predicted_us(const Retimed& retimed, double measured_us) const;

 private:
  Retimed retime(const KernelLaunch& launch, double bytes) const;
  double error_of(const KernelLaunch& launch, const Retimed& retimed, double confidence) const;
  bool drops_transform(const KernelLaunch& launch) const;
  void choose_kernel(const KernelLaunch& launch, const KernelTime& after, DataType type,
                     Retimed& out) const;

  const RetargetOptions& o_;
  const Step& step_;
  TraceLaunches launches_;
  GpuArch from_without_dram_, to_without_dram_;
  std::vector<Retimed> retimed_;
  std::vector<bool> done_;
};

}  // namespace tandem
