// Time of any kernel of a trace on any GPU, from its operation: the entry to the time models of
// time_model.h for a KernelLaunch.
#pragma once

#include <optional>
#include <string_view>

#include "models/kernel/kinds.h"
#include "models/kernel/residual.h"
#include "models/kernel/time/time_model.h"
#include "models/kernel/work/gemm_shape.h"

namespace tandem {

/// A launch and what is known of it beyond its description.
struct TimedLaunch {
  TimeLaw law = TimeLaw::none;
  DataType type = DataType::unknown;  // of the arithmetic
  bool product = false;               // a matrix product, if its shapes are unknown
  GemmShape gemm;                     // law matrix
  ConvLayer conv;                     // law convolution
  AttentionShape attention;           // law attention
  bool backward = false;              // law attention
  RowShape rows;                      // laws layer_norm and softmax
  double bytes = 0;                   // read and written once; 0: unknown
  bool cold = false;                  // nothing before it leaves its bytes in L2
  int warps_per_sm = 0;               // that an SM holds, of a launch that fills it; 0: not known
  double blocks = 0;
};

/// What decides the time of a launch. `bytes_hint`: from elsewhere, where the launch tells none.
TimedLaunch timed_launch(const KernelLaunch& launch, double bytes_hint = 0);

/// The time on `gpu`, started and run to its end; confidence 0: no law, the time is meaningless.
/// TF32 and half types that the GPU's tensor cores lack run as FP32.
KernelTime kernel_time(const TimedLaunch& launch, const GpuArch& gpu,
                       const TimeConstants& constants, const TimeContext& context = {});

/// What the launch's bytes alone take, us: of DRAM, of L2 where they stay there, of the link for
/// copies from and to the host; 0: none are known, or it does not wait for them.
double moving_us(const TimedLaunch& launch, const GpuArch& gpu, const TimeConstants& constants);

/// What the launch takes on `gpu` beyond its start where bytes cost nothing: `without_dram` is the
/// same GPU with DRAM that never waits. A law that knows only bytes counts an instruction for each,
/// so that only ratios between GPUs are of use.
double rest_us(const TimedLaunch& launch, const GpuArch& without_dram,
               const TimeConstants& constants);
GpuArch without_dram(GpuArch gpu);

/// The parts by which a measured launch is carried over to another GPU or clock.
ModelledTime modelled_time(const TimedLaunch& launch, const GpuArch& gpu,
                           const GpuArch& gpu_without_dram, const TimeConstants& constants);

/// At the peak of the pipe that multiplies `type`, us; 0: no plain product. A transform of a
/// convolution does with less than its definition, so that only plain products have such a bound.
double least_product_us(const KernelLaunch& launch, const GpuArch& gpu, DataType type);

/// Whether the bound that the law states is that of a run of `traced_us`: laws that only tell
/// ratios between GPUs state none, nor do laws that explain less than half of the run.
bool explains(const TimedLaunch& launch, const KernelTime& time, double traced_us);

}  // namespace tandem
