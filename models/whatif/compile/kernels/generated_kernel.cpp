#include "models/whatif/compile/kernels/generated_kernel.h"

#include <set>

#include "models/whatif/compile/kernels/group_view.h"

namespace tandem {
namespace {

/// Generated code computes in FP32 what has no type of its own.
DataType generated_type(DataType type) {
  return type == DataType::unknown || type == DataType::tf32 ? DataType::fp32 : type;
}

}  // namespace

PredictedKernel generated_kernel(const LibraryNames& names, GeneratedKind kind,
                                 std::string_view what) {
  constexpr LibraryUse uses[] = {LibraryUse::generated_pointwise, LibraryUse::generated_reduction,
                                 LibraryUse::generated_row};
  PredictedKernel out = names.kernel(uses[static_cast<std::size_t>(kind)]);
  out.name.append("_").append(what);
  return out;
}

PredictedKernel generated_kernel(const KernelContext& context, GeneratedKind kind,
                                 const FusionGroup& group) {
  std::set<std::string> parts;
  for (const std::uint32_t i : group.ops) {
    const FlowOp& op = context.flow.ops[i];
    std::string_view name =
        without_framework(text_of(context.step.trace, context.step.trace.ops.name[op.op]));
    if (op.kind == OpKind::cast) name = "_to_copy";
    while (name.ends_with('_')) name.remove_suffix(1);
    parts.emplace(name);
  }
  std::string what;
  for (const std::string& part : parts) what.append(what.empty() ? "" : "_").append(part);
  return generated_kernel(context.names, kind, what);
}

Operands generated_operands(const KernelContext& context, const FusionGroup& group,
                            const GeneratedKernel& kernel) {
  const GroupView view(context, group);
  Operands out;
  out.has_shapes = true;
  const auto add = [&](std::uint32_t t, std::int64_t elements) {
    TensorShape shape;
    shape.rank = 1;
    shape.dims[0] = elements;
    shape.type = generated_type(view.tensor(t).type);
    out.tensors.add(out.argument_count++, shape);
  };
  for (const std::uint32_t t : kernel.reads) add(t, view.read_elements(t));
  for (const std::uint32_t t : kernel.writes) add(t, view.tensor(t).elements);
  return out;
}

}  // namespace tandem
