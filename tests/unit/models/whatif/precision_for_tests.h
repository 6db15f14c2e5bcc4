// Another precision on an H200, with the constants that the repository ships, and a step for it.
#pragma once

#include "models/arch/gpu_config.h"
#include "models/runtime/host_model.h"
#include "models/whatif/precision/kernels.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem::test {

struct PrecisionBench {
  GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  PrecisionLaw law = load_precision_law(source_path("configs/kernels/precision.json"));
  TimeConstants time = TimeConstants::load(source_path("configs/kernels/time.json"));
  LibraryNames names = load_library_names(source_path("configs/kernels/libraries.json"));
  MeasuredLayers layers = load_measured_layers(source_path("configs/kernels/layers.json"));
  HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  const GpuArch& h200() const { return find_gpu(gpus, "h200_sxm"); }
  RetimeContext context() const { return {h200(), law, time, names, layers}; }
};

inline const PrecisionBench& precision_bench() {
  static const PrecisionBench bench;
  return bench;
}

inline constexpr const char* three_floats = R"(["float","float","float","Scalar","Scalar"])";

/// Two linear layers of 64 x 256 x 256 with a ReLU between them, softmax, the first layer's
/// weight gradient, and an optimizer.
inline Step two_linear_layers() {
  FlowMaker m;
  const char* const gemm = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_ffma";
  const char* const dims = "[[256],[64,256],[256,256],[],[]]";
  const char* const relu =
      "void at::native::vectorized_elementwise_kernel<4, "
      "at::native::launch_clamp_scalar<float>, std::array<char*, 2ul> >(int)";
  m.sequence = 1;
  m.op("aten::linear>aten::addmm", dims, three_floats, "", gemm);
  m.sequence = 2;
  m.op("aten::relu", "[[64,256]]", R"(["float"])", "", relu);
  m.sequence = 3;
  m.op("aten::linear>aten::addmm", dims, three_floats, "", gemm);
  m.sequence = 4;
  m.op("aten::_softmax", "[[64,256],[],[]]", R"(["float","Scalar","Scalar"])", "",
       "softmax_warp_forward");
  m.thread = 1;
  m.sequence = 1;
  m.op("autograd::engine::evaluate_function: AddmmBackward0>AddmmBackward0>aten::mm",
       "[[256,64],[64,256]]", two_floats, "", gemm);
  m.thread = 0;
  m.sequence = -1;
  m.op("aten::_foreach_add_", "[[],[],[]]", R"(["TensorList","TensorList","Scalar"])", "",
       "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>>");
  return m.step();
}

}  // namespace tandem::test
