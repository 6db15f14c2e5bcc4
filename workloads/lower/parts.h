// What the recipes of lowering share. Internal to workloads/lower.
#pragma once

#include <optional>
#include <span>

#include "models/kernel/classify/classify.h"
#include "models/kernel/launch_rules.h"
#include "models/kernel/work/gemm_shape.h"
#include "workloads/lower/lower.h"

namespace tandem::lowering {

/// One operation that is being lowered.
struct Context {
  const LoweringInput& input;
  const OpRule& rule;
  const NetworkOp& op;
  const Operands& operands;
  std::span<const TensorShape> outputs;

  const GpuArch& gpu() const { return input.gpu; }
  /// Tensor at argument `position`, or null.
  const TensorShape* tensor(std::size_t position) const { return operands.tensors.at(position); }
  const KernelTemplate& kernel(std::size_t position) const;
  /// ... or its counterpart for images in NHWC order, where the operation reads such.
  const KernelTemplate& kernel_in_order(std::size_t position) const;
  /// Tensor that the blocks of a kernel share out, or null where it is none of them.
  const TensorShape* shared_out(Over over) const;
  bool has_kernel(std::size_t position) const { return position < rule.kernels.size(); }
};
/// The operation as models/kernel/work reads it.
OpContext context_of(const Context& c);
using Kernels = std::vector<LoweredKernel>;

struct Sides {
  std::int64_t x = 1, y = 1, z = 1;
};

/// The only place where a predicted kernel gets its name.
std::string name_of(const Context& c, const KernelTemplate& kernel, DataType type, int operands = 2,
                    int width = 4);

/// Its time on the GPU by the law of its kind, from the operation's shapes.
double law_us(const Context& c, const std::string& name, const LaunchGeometry& geometry,
              double bytes = 0);
/// What a kernel takes behind its launch, for which the time law says `timed_us` with the launch:
/// at the part of the law's rate that the kernel reaches on this GPU.
double reached_us(const Context& c, const KernelTemplate& kernel, double timed_us);
/// A kernel that moves so many bytes.
double stream_time_us(const Context& c, double bytes);

LaunchGeometry geometry_of(const KernelTemplate& kernel, Sides grid, int threads_y = 0);
/// A kernel with the time that its law states, `bytes` being what it moves if the shapes leave it
/// open.
LoweredKernel make(const Context& c, const KernelTemplate& kernel, DataType type, Sides grid,
                   double bytes = 0);
/// A kernel whose blocks share out `size`, `bytes` being what it moves: not the operation's
/// operands, also where it is next to nothing.
void add_small(const Context& c, const KernelTemplate& row, DataType type, std::int64_t size,
               double bytes, Kernels& out);
/// Has the kernel take so much at least, behind its launch.
void lasts_at_least(const Context& c, double us, LoweredKernel& kernel);
/// Blocks of the kernel that an SM holds at once.
std::int64_t blocks_at_once(const Context& c, const KernelTemplate& row);
LoweredKernel memset_of(const Context& c, std::int64_t bytes);
/// A kernel sized by its own row.
void add_sized(const Context& c, const KernelTemplate& row, Kernels& out);
/// ... whose threads go through images or their planes.
void add_walk(const Context& c, const KernelTemplate& row, Kernels& out);

/// Elements of the tensors, in memory: what stride 0 repeats counts once.
double unique_elements(const TensorShape& shape);
double bytes_of(const TensorShape& shape);
/// Unique bytes of all operands and results.
double all_bytes(const Context& c);
/// The first floating-point type among results and operands.
DataType float_type(const Context& c);

std::int64_t next_power(std::int64_t n);

/// The sum over each channel of images, `part` being the first of the rule's three kernels for it.
void add_channel_sum(const Context& c, const TensorShape& images, std::size_t part, Kernels& out);

/// A batch norm whose channels come first, whatever the strides of its operands say.
void add_batch_norm(const Context& c, Kernels& out);

// The recipes.
void lower_sequence(const Context& c, Kernels& out);
void lower_picked_loss(const Context& c, Kernels& out);
void lower_put(const Context& c, Kernels& out);
void lower_elementwise(const Context& c, Kernels& out);
void lower_copy(const Context& c, Kernels& out);
void lower_fill(const Context& c, Kernels& out);
void lower_reduction(const Context& c, Kernels& out);
void lower_running(const Context& c, Kernels& out);
void lower_softmax(const Context& c, Kernels& out);
void lower_row_norm(const Context& c, Kernels& out);
void lower_batch_norm(const Context& c, Kernels& out);
void lower_group_norm(const Context& c, Kernels& out);
void lower_product(const Context& c, Kernels& out);
void lower_convolution(const Context& c, Kernels& out);
void lower_convolution_backward(const Context& c, Kernels& out);
void lower_depthwise(const Context& c, Kernels& out);
void lower_attention(const Context& c, Kernels& out);
void lower_multi_tensor(const Context& c, Kernels& out);
void lower_concatenation(const Context& c, Kernels& out);
void lower_embedding_gradient(const Context& c, Kernels& out);
void lower_recurrent(const Context& c, Kernels& out);
void lower_fourier(const Context& c, Kernels& out);
void lower_interpolation(const Context& c, Kernels& out);
void lower_sampling(const Context& c, Kernels& out);
void lower_windows(const Context& c, Kernels& out);
void lower_weight_norm(const Context& c, Kernels& out);
void lower_nhwc_convolution(const Context& c, Kernels& out);
void lower_nhwc_batch_norm(const Context& c, Kernels& out);
void lower_column_sums(const Context& c, Kernels& out);

}  // namespace tandem::lowering
