// Parameters that are updated another way: by list operations, or by fused ones. Times in
// microseconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/kernel/time/laws/list_launches.h"
#include "models/whatif/optimizer/law.h"
#include "models/whatif/optimizer/recipes.h"
#include "models/whatif/optimizer/update.h"
#include "models/whatif/optimizer/verdict.h"
#include "sim/predict/predict.h"
#include "sim/trace/import.h"
#include "tests/expect_has.h"
#include "tests/gpus_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/replay_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::as_traced;
using test::TraceMaker;

std::vector<int> blocks_of(const std::vector<ListLaunch>& launches) {
  std::vector<int> out;
  for (const ListLaunch& launch : launches) out.push_back(launch.blocks);
  return out;
}

using Sizes = std::vector<std::int64_t>;
using Blocks = std::vector<int>;
constexpr std::int64_t chunk = 65536;

// A launch has 320 blocks at most; what is left of a tensor counts as one of the next.
TEST(ListLaunches, HoldSoManyChunks) {
  EXPECT_EQ(blocks_of(list_launches(Sizes{330 * chunk, 5}, 48)), (Blocks{320, 11}));
  EXPECT_EQ(blocks_of(list_launches(Sizes{320 * chunk}, 48)), (Blocks{320}));
  EXPECT_EQ(blocks_of(list_launches(Sizes{chunk + 1, 0, chunk}, 48)), (Blocks{3}));
  EXPECT_TRUE(list_launches(Sizes{0}, 48).empty());
}

// The arguments hold so many tensors: 49 of one chunk are 48 and one. The rest of a tensor takes
// one of the places of the next launch: behind 400 chunks 47 more fit, and one is left.
TEST(ListLaunches, HoldSoManyTensors) {
  EXPECT_EQ(blocks_of(list_launches(Sizes(49, 10), 48)), (Blocks{48, 1}));
  Sizes sizes(48, 10);
  sizes.insert(sizes.begin(), 400 * chunk);
  EXPECT_EQ(blocks_of(list_launches(sizes, 48)), (Blocks{320, 80 + 47, 1}));
  EXPECT_EQ(most_list_tensors(1, false), 110);
  EXPECT_EQ(most_list_tensors(1, true), 96);
  EXPECT_EQ(most_list_tensors(4, false), 36);
}

// 125,000 elements of 4 bytes, three accesses each, are 1.5 MB: 3 at half of 1000 GB/s. A block
// passes over a chunk in 32 passes of 0.05 + 3 x 0.025: 4. The hypotenuse is 5, with the floor 6.
TEST(ListLaunches, WaitForTheMemoryOrFillIt) {
  GpuArch gpu = test::gpu();
  gpu.dram_peak_gbps = 1000;
  const ListTimes times{1, 0.5, 0.05, 0.025};
  EXPECT_DOUBLE_EQ(list_launch_us(gpu, times, {2, 125000, double(chunk)}, 3, 4), 6);
}

std::vector<ListOp> ops_of(const std::vector<ListCall>& calls) {
  std::vector<ListOp> out;
  for (const ListCall& call : calls) out.push_back(call.op);
  return out;
}

TEST(UpdateRecipes, AreTheCallsOfTorchOptim) {
  using O = ListOp;
  using Ops = std::vector<ListOp>;
  const UpdateRecipe adamw{.rule = UpdateRule::adamw, .decay = true};
  EXPECT_EQ(ops_of(foreach_calls(adamw)), (Ops{O::multiply, O::lerp, O::multiply, O::add_product,
                                               O::root, O::divide, O::add, O::add_quotient}));
  const UpdateRecipe sgd{.rule = UpdateRule::sgd, .decay = true, .momentum = true};
  EXPECT_EQ(ops_of(foreach_calls(sgd)), (Ops{O::sum, O::multiply, O::add, O::add}));
  EXPECT_EQ(ops_of(fused_calls(sgd, false, false)), (Ops{O::fused_sgd}));
  EXPECT_EQ(ops_of(fused_calls(adamw, true, true)), (Ops{O::add, O::fused_adamw, O::subtract}));
}

// Parameter, gradient and two states are read, all but the gradient written: 7; a gradient that is
// divided by the loss's scale is written, too.
TEST(UpdateRecipes, ReadAllAndWriteAllButGradients) {
  const UpdateRecipe adamw{.rule = UpdateRule::adamw, .decay = true};
  EXPECT_EQ(fused_calls(adamw, false, false).at(1).accesses, 7);
  EXPECT_EQ(fused_calls(adamw, true, true).at(1).accesses, 8);
  EXPECT_EQ(fused_calls({.rule = UpdateRule::sgd}, false, false).at(0).accesses, 3);
  EXPECT_EQ(fused_calls({.rule = UpdateRule::sgd, .momentum = true}, false, false).at(0).accesses,
            5);
}

/// A gemm forward, a gemm backward that makes the gradients of tensors of `sizes`, and whatever an
/// optimizer does. A kernel begins when it is launched.
class TrainingStep {
 public:
  explicit TrainingStep(Sizes sizes) : sizes_(std::move(sizes)) {
    maker_.step(0, 0, 3000);
    run("aten::mm", "gemm", 10);
    const double begin = next();
    maker_.op("autograd::engine::evaluate_function: MmBackward0", begin, 60, 1);
    launch(begin + 1, 10, "gemm", 1, 1);
    // Gradients are ready in the reverse of the order of the parameters.
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      maker_.operands(maker_.op("torch::autograd::AccumulateGrad", begin + 60 - double(i), 0.5, 1),
                      {"[[" + std::to_string(sizes_[i]) + "]]", R"(["float"])", "", ""});
    }
    now_ += 80;
  }

  /// An operation that launches kernels of `us` each, of so many blocks; `allocates`: results for
  /// all parameters.
  void run(std::string_view name, std::string_view kernel, double us, const Blocks& blocks = {40},
           bool allocates = false) {
    const double begin = next();
    maker_.op(name, begin, 30);
    double at = begin + 1;
    for (std::size_t i = 0; allocates && i < sizes_.size(); ++i, at += 1) {
      maker_.operands(maker_.op("aten::empty_strided", at, 0.5),
                      {"[[], []]", R"(["ScalarList", "ScalarList"])", "",
                       "[\"[" + std::to_string(sizes_[i]) + "]\", \"[1]\"]"});
    }
    for (const int b : blocks) launch(at += 3, us, kernel, 0, b);
  }
  void fetch() {
    const double begin = next();
    maker_.op("aten::_local_scalar_dense", begin, 30);
    maker_.call("cudaMemcpyAsync", begin + 1, 3, ++launches_);
    maker_.activity(ActivityKind::memcpy, "Memcpy DtoH (Device -> Pinned)", begin + 5, 1,
                    launches_);
    maker_.call("cudaStreamSynchronize", begin + 5, 20);
  }
  void begin_update() { update_ = next(); }
  void end_update(std::string_view name = "SGD") {
    maker_.note("Optimizer.step#" + std::string(name) + ".step", update_, next() - update_);
  }
  const Trace& trace() const { return maker_.trace; }
  Result with(std::string_view way) const {
    ReplayOptions o = as_traced();
    if (!way.empty()) o.what_ifs.set("update", way);
    return replay(maker_.trace, o).prediction.result;
  }

 private:
  double next() { return now_ += 40; }
  void launch(double begin, double us, std::string_view kernel, std::size_t thread, int blocks) {
    maker_.launch(begin, 2, ++launches_, thread);
    const std::uint32_t k = maker_.kernel(begin + 2, us, launches_, 0, kernel);
    maker_.trace.activities.geometry[k] = GeometryId{maker_.trace.geometries.size()};
    maker_.trace.geometries.push_back(
        {{static_cast<std::uint32_t>(blocks), 1, 1}, {512, 1, 1}, 32, 0});
  }

  TraceMaker maker_;
  Sizes sizes_;
  double now_ = 0, update_ = 0;
  std::int64_t launches_ = 0;
};

constexpr std::string_view list_kernel = "void at::native::multi_tensor_apply_kernel<f>";

/// Of momentum and decay, each kernel as long as `us`.
TrainingStep sgd_step(const Sizes& sizes, double us, const Blocks& blocks = {4}) {
  TrainingStep s(sizes);
  s.begin_update();
  s.run("aten::_foreach_add", list_kernel, us, blocks, true);
  s.run("aten::_foreach_mul_", list_kernel, us, blocks);
  s.run("aten::_foreach_add_", list_kernel, us, blocks);
  s.run("aten::_foreach_add_", list_kernel, us, blocks);
  s.end_update();
  return s;
}

/// By the law of the configs, of one launch of all of `sizes`.
double law_us(const Sizes& sizes, int accesses, bool fused) {
  const OptimizerLaw law = load_optimizer_law(source_path("configs/kernels/optimizer.json"));
  const ListLaunch launch = list_launches(sizes, 48).at(0);
  return list_launch_us(test::gpu(), fused ? law.fused() : law.lists, launch, accesses, 4);
}

double reported(const Result& result, std::string_view name) {
  return report_number(find_report(result.what_ifs, "update"), name, -1);
}

// Four kernels, of 3, 2, 3 and 3 accesses an element, become one of 5: it takes as many times the
// law as they did.
TEST(UpdateWhatIf, ManyKernelsBecomeOneThatKeepsTheirResidual) {
  const Sizes sizes{3 * chunk, 100, chunk};
  const Result fused = sgd_step(sizes, 20, {5}).with("fused");
  EXPECT_EQ(reported(fused, "traced_kernels"), 4);
  EXPECT_EQ(reported(fused, "kernels"), 1);
  EXPECT_EQ(reported(fused, "elements"), 4 * chunk + 100);
  const double residual = 4 * 20 / (3 * law_us(sizes, 3, false) + law_us(sizes, 2, false));
  EXPECT_NEAR(reported(fused, "update_us"), residual * law_us(sizes, 5, true), 1e-3);
  EXPECT_EQ(reported(fused, "traced_update_us"), 80);
  const Result traced = sgd_step(sizes, 20, {5}).with("");
  EXPECT_EQ(traced.step.launches - fused.step.launches, 3);
}

// Tensors in the order in which results are allocated: 320 chunks, and 10 with what comes behind.
TEST(UpdateWhatIf, LaunchesAreCutAsTheFrameworkCutsThem) {
  const Result fused = sgd_step({330 * chunk, 7}, 300, {320, 11}).with("fused");
  EXPECT_EQ(reported(fused, "traced_kernels"), 8);
  EXPECT_EQ(reported(fused, "kernels"), 2);
  EXPECT_EQ(reported(fused, "tensors"), 2);
}

// And back: without allocations the gradients tell the parameters.
TEST(UpdateWhatIf, OneKernelBecomesMany) {
  TrainingStep s({3 * chunk, 100});
  s.begin_update();
  s.run("aten::_fused_sgd_", list_kernel, 30);
  s.end_update();
  const Result foreach = s.with("foreach");
  EXPECT_EQ(reported(foreach, "traced_kernels"), 1);
  EXPECT_EQ(reported(foreach, "kernels"), 3) << "momentum is taken to be there, decay is not";
  EXPECT_EQ(reported(foreach, "elements"), 3 * chunk + 100);
}

// With numbers of steps on the GPU, whose kernels and those of single tensors give no residual:
// seven kernels on lists count, which take three times the law.
TEST(UpdateWhatIf, AdamThatCanBeCaptured) {
  const Sizes sizes{3 * chunk, 100};
  TrainingStep s(sizes);
  const auto on_lists = [&](std::string_view op, int accesses, bool allocates = false) {
    s.run(op, list_kernel, 3 * law_us(sizes, accesses, false), {4}, allocates);
  };
  const auto on_counters = [&](std::string_view op) { s.run(op, list_kernel, 2, {2}); };
  s.begin_update();
  on_counters("aten::_foreach_add_");
  on_lists("aten::_foreach_mul_", 2);
  on_lists("aten::_foreach_lerp_", 3);
  on_lists("aten::_foreach_mul_", 2);
  on_lists("aten::_foreach_addcmul_", 3);
  for (const char* op : {"pow", "pow", "sub_", "sub_", "neg_", "div_", "reciprocal_", "sqrt_"}) {
    on_counters("aten::_foreach_" + std::string(op));
  }
  on_lists("aten::_foreach_sqrt", 2, true);
  s.run("aten::_foreach_div_", "vectorized_elementwise_kernel", 5, {1, 1});
  on_lists("aten::_foreach_add_", 2);
  s.run("aten::_foreach_div_", "vectorized_elementwise_kernel", 5, {1, 1});
  on_lists("aten::_foreach_addcdiv_", 4);
  s.end_update("AdamW");
  const Result fused = s.with("fused");
  EXPECT_EQ(reported(fused, "traced_kernels"), 7 + 9 + 4);
  EXPECT_EQ(reported(fused, "kernels"), 2);
  const double counting = law_us({1, 1}, 2, false);
  EXPECT_NEAR(reported(fused, "update_us"), counting + 3 * law_us(sizes, 7, true), 0.01);
}

// Nothing changes where the update is done that way.
TEST(UpdateWhatIf, AsTracedIsNoChange) {
  const TrainingStep s = sgd_step({chunk}, 20);
  const Result same = s.with("foreach");
  EXPECT_EQ(find_report(same.what_ifs, "update"), nullptr);
  EXPECT_EQ(same.step.time_us, s.with("").step.time_us);
}

/// SGD behind a gradient scaler, or a program that bounds the norm of the gradients before.
TrainingStep scaled_step(bool bounds) {
  TrainingStep s({chunk, 10});
  for (const char* op : {"aten::_to_copy", "aten::reciprocal", "aten::_to_copy", "aten::fill_"}) {
    s.run(op, "vectorized_elementwise_kernel", 1, {1});
  }
  s.run("aten::_amp_foreach_non_finite_check_and_unscale_", list_kernel, 10, {2});
  if (bounds) s.run("aten::_foreach_norm", list_kernel, 10, {2});
  s.fetch();
  s.begin_update();
  s.run("aten::_foreach_add_", list_kernel, 20, {2});
  s.end_update();
  return s;
}

// Two numbers are filled where four kernels made the inverse of the scale; the verdict is added up
// and the scale multiplied on the device, which the host does not wait for: 4 + 1 + 1 + 1 kernels
// and copies become 2 + 1 + 2 + 1.
TEST(UpdateWhatIf, AFusedUpdateAsksTheScalerOnTheDevice) {
  const TrainingStep s = scaled_step(false);
  const Result traced = s.with(""), fused = s.with("fused");
  EXPECT_EQ(reported(fused, "waits"), 1);
  EXPECT_EQ(traced.step.launches - fused.step.launches, 7 - 6);
  // Parameter, gradient, and the gradient again, which is written.
  const Sizes sizes{chunk, 10};
  const double residual = 20 / law_us(sizes, 3, false);
  EXPECT_NEAR(reported(fused, "update_us"), residual * law_us(sizes, 4, true), 1e-3);
}

// Two groups of parameters, behind one verdict: each reads two lists, and writes both; that of
// the gradients because it is scaled.
TEST(UpdateWhatIf, GroupsOfParametersShareAVerdict) {
  const Sizes sizes{chunk, 10};
  TrainingStep s(sizes);
  s.run("aten::_amp_foreach_non_finite_check_and_unscale_", list_kernel, 10, {2});
  s.fetch();
  s.begin_update();
  for (int group = 0; group < 2; ++group) {
    s.run("aten::_foreach_add", list_kernel, law_us(sizes, 3, false), {2}, true);
    s.run("aten::_foreach_add_", list_kernel, law_us(sizes, 3, false), {2});
  }
  s.end_update();
  const Result fused = s.with("fused");
  EXPECT_EQ(reported(fused, "kernels"), 2);
  EXPECT_EQ(reported(fused, "waits"), 1);
  EXPECT_NEAR(reported(fused, "update_us"), 2 * law_us(sizes, 4, true), 0.01);
}

// The program's own unscaling stays, and the update takes gradients as they are.
TEST(UpdateWhatIf, GradientsThatWereUnscaledApartAreNotScaledAgain) {
  const TrainingStep s = scaled_step(true);
  const Result traced = s.with(""), fused = s.with("fused");
  EXPECT_EQ(reported(fused, "waits"), 1);
  // The copy to the host goes, and the verdict is added up.
  EXPECT_EQ(traced.step.launches, fused.step.launches);
  const Sizes sizes{chunk, 10};
  const double residual = 20 / law_us(sizes, 3, false);
  EXPECT_NEAR(reported(fused, "update_us"), residual * law_us(sizes, 3, true), 1e-3);
}

std::string message_of(const TrainingStep& s) {
  try {
    s.with("fused");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(UpdateWhatIf, SaysWhichUpdateItDoesNotKnow) {
  EXPECT_HAS(message_of(TrainingStep({10})), "a step without an operation of an optimizer");
  TrainingStep loop({10});
  loop.begin_update();
  loop.run("aten::add_", "vectorized_elementwise_kernel", 2);
  loop.run("aten::add_", "vectorized_elementwise_kernel", 2);
  loop.end_update();
  EXPECT_HAS(message_of(loop), "an update without lists of tensors: aten::add_ and 1 more");
  TrainingStep other({10});
  other.begin_update();
  other.run("aten::_foreach_pow", list_kernel, 2);
  other.end_update("Rprop");
  EXPECT_HAS(message_of(other), "an update that calls aten::_foreach_pow");
  TrainingStep skipped({10});
  skipped.run("aten::_amp_foreach_non_finite_check_and_unscale_", list_kernel, 10);
  EXPECT_HAS(message_of(skipped), "a step whose update the gradient scaler skipped");
  TrainingStep unknown({});
  unknown.begin_update();
  unknown.run("aten::_fused_sgd_", list_kernel, 2);
  unknown.end_update();
  ReplayOptions o = as_traced();
  o.what_ifs.set("update", "foreach");
  EXPECT_THROW(replay(unknown.trace(), o), InputError);
}

// A trace may say anything.
TEST(UpdateWhatIf, RefusesParametersThatNoGpuHolds) {
  EXPECT_HAS(message_of(sgd_step({10, std::int64_t{1} << 40}, 20)),
             "a parameter of 1099511627776 elements");
  EXPECT_EQ(reported(sgd_step({10, 0}, 20).with("fused"), "kernels"), 1);
}

TEST(UpdateWhatIf, NamesTheWaysThatThereAre) {
  try {
    sgd_step({10}, 20).with("sideways");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_HAS(std::string(e.what()), "--update: found \"sideways\", expected one of: fused, ");
  }
}

// With one item the update of T5 is the worst moment: by lists it holds 60,506,624 roots in FP32
// beside parameters, states and gradients. Either way it is what the other trace says.
TEST(UpdateWhatIf, ResultsOfListsComeAndGoWithThePeak) {
  const std::string trace =
      source_path("validation/captures/h200_2026-11-28_loops_fit/traces/t5-train-fp32-eager-b8");
  const auto peak = [&](const std::string& path, std::string_view way) {
    ReplayOptions o = as_traced();
    o.what_ifs.set("batch", 1);
    o.what_ifs.set("update", way);
    return replay(import_trace(path), o).prediction.result.memory.value().peak_bytes;
  };
  const double foreach = peak(trace + ".json.zst", "");
  const double fused = peak(trace + "-fused.json.zst", "");
  EXPECT_GT(foreach, fused + 0.1e9);
  EXPECT_LE(foreach, fused + 4.0 * 60506624);
  EXPECT_NEAR(peak(trace + ".json.zst", "fused") / fused, 1, 0.005);
  EXPECT_NEAR(peak(trace + "-fused.json.zst", "foreach") / foreach, 1, 0.005);
}

// ViT small under autocast, with its gradient scaler, as it was measured: 898 launches become 889.
TEST(UpdateWhatIf, IsAsMeasured) {
  const std::string folder = source_path("validation/captures/h200_2026-11-28_loops_fit/traces/");
  const std::string name = "vit_small_patch16_224-train-amp-eager-b64";
  ReplayOptions o = as_traced();
  const Result measured =
      replay(import_trace(folder + name + "-fused.json.zst"), o).prediction.result;
  o.what_ifs.set("update", "fused");
  const Result fused = replay(import_trace(folder + name + ".json.zst"), o).prediction.result;
  EXPECT_EQ(fused.step.launches, measured.step.launches);
  EXPECT_NEAR(fused.step.gpu_kernel_us / measured.step.gpu_kernel_us, 1, 0.005);
}

}  // namespace
}  // namespace tandem
