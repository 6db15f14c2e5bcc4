// Models that have 16 bits themselves: what has which type, which casts stay, what a step is in.
#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "models/step/memory/peak_memory.h"
#include "models/whatif/precision/precision.h"
#include "models/whatif/precision/types/whole.h"
#include "tests/unit/models/whatif/flow_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::precision_bench;
using test::two_floats;
using test::two_linear_layers;

constexpr const char* conversion_dims = "[[8,64,256],[],[],[],[]]";
constexpr const char* conversion_types = R"(["float","Scalar","Scalar","Scalar",""])";
constexpr const char* two_halves = R"(["c10::BFloat16","c10::BFloat16"])";

Step in_precision(Step step, Precision to, PrecisionReport* report = nullptr) {
  const test::PrecisionBench& m = precision_bench();
  LossList losses;
  return with_precision(std::move(step), to, m.h200(), m.law, m.time, m.names, m.layers, m.host,
                        losses, report);
}

/// A norm of rows as Llama's code has it (`x.float()`, and back) between two layers.
Step norm_in_fp32() {
  FlowMaker m;
  m.op("aten::linear>aten::mm", "[[512,256],[256,256]]", two_floats, "", "sgemm");
  m.idle("aten::to", conversion_dims, conversion_types);
  m.op("aten::pow", "[[8,64,256],[]]", R"(["float","Scalar"])");
  m.op("aten::mean", "[[8,64,256]]", R"(["float"])", R"(["", "[-1]", "True", ""])");
  m.op("aten::rsqrt", "[[8,64,1]]", R"(["float"])");
  m.op("aten::mul", "[[8,64,256],[8,64,1]]", two_floats);
  m.idle("aten::to", conversion_dims, conversion_types);
  m.op("aten::mul", "[[256],[8,64,256]]", two_floats);
  m.op("aten::linear>aten::mm", "[[512,256],[256,256]]", two_floats, "", "sgemm");
  return m.step();
}

/// Under autocast: the layer's operands are cast within it; the program casts its result itself.
Step cast_by_both(bool by_autocast) {
  FlowMaker m;
  const char* const up = "[[512,256],[512,256],[]]";
  const auto down = [&](const char* dims) {
    m.op("aten::linear>aten::to>aten::_to_copy>aten::copy_", dims,
         R"(["c10::BFloat16","float","Scalar"])");
  };
  if (by_autocast) {
    m.around_dims = "[[512,256],[256,256]]", m.around_types = two_floats;
    down("[[512,256],[512,256],[]]");
    down("[[256,256],[256,256],[]]");
  } else {
    m.around_dims = "[[512,256],[256,256]]", m.around_types = two_halves;
  }
  m.op("aten::linear>aten::mm", "[[512,256],[256,256]]", two_halves, "", "hgemm");
  m.around_dims.clear();
  m.op("aten::to>aten::_to_copy>aten::copy_", up, R"(["float","c10::BFloat16","Scalar"])");
  m.op("aten::exp", "[[512,256]]", R"(["float"])");
  return m.step();
}

TEST(PrecisionWhole, NothingIsCastWhereNothingIsAskedFor) {
  const Step step = two_linear_layers();
  const Dataflow flow = dataflow(step);
  const TypeChange c = whole(step.trace, flow, DataType::bf16, 256);
  EXPECT_TRUE(c.casts.empty());
  EXPECT_TRUE(c.removed.empty());
  for (std::size_t i = 0; i + 1 < flow.ops.size(); ++i) EXPECT_EQ(c.ops[i], DataType::bf16) << i;
  for (const DataType type : c.tensors) EXPECT_NE(type, DataType::fp32);
}

// Six kernels before and after; autocast has eight casts besides.
TEST(PrecisionWhole, AddsNoKernels) {
  PrecisionReport report;
  const Step out = in_precision(two_linear_layers(), Precision::fp16w, &report);
  EXPECT_EQ(out.plan.works.size(), 6U);
  EXPECT_EQ(report.casts_added, 0U);
  EXPECT_EQ(in_precision(two_linear_layers(), Precision::bf16).plan.works.size(), 6U + 8U);
}

// FP32 from the first conversion to the second: power, mean, root and product.
TEST(PrecisionWhole, ConversionsOfTheProgramStay) {
  const Step step = norm_in_fp32();
  const Dataflow flow = dataflow(step);
  const TypeChange c = whole(step.trace, flow, DataType::bf16, 256);
  ASSERT_EQ(flow.ops.size(), 7U);
  constexpr DataType half = DataType::bf16, full = DataType::fp32;
  EXPECT_EQ(c.ops, (std::vector<DataType>{half, full, full, full, full, half, half}));
  ASSERT_EQ(c.casts.size(), 2U);
  EXPECT_EQ(c.casts[0].op, 1U);
  EXPECT_EQ(c.casts[0].to, full);
  EXPECT_EQ(c.casts[1].op, 5U);
  EXPECT_EQ(c.casts[1].to, half);
  for (const PlannedCast& cast : c.casts) EXPECT_EQ(cast.elements, 8 * 64 * 256);
}

// Two halves of what a layer made, each taken to FP32 (Mamba 2): the second is no way back.
TEST(PrecisionWhole, SlicesOfOneTensorAreConvertedOneByOne) {
  FlowMaker m;
  m.op("aten::linear>aten::mm", "[[512,256],[256,512]]", two_floats, "", "sgemm");
  m.strides = "[[32768,512,1],[],[],[],[]]";
  for (int half = 0; half < 2; ++half) m.idle("aten::to", conversion_dims, conversion_types);
  m.strides = "[[32768,512,1],[32768,512,1]]";
  m.op("aten::mul", "[[8,64,256],[8,64,256]]", two_floats);
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  const TypeChange c = whole(step.trace, flow, DataType::bf16, 256);
  ASSERT_EQ(flow.ops.size(), 2U);
  EXPECT_EQ(c.ops[0], DataType::bf16);
  EXPECT_EQ(c.ops[1], DataType::fp32);
  ASSERT_EQ(c.casts.size(), 2U);
  for (const PlannedCast& cast : c.casts) EXPECT_EQ(cast.to, DataType::fp32);
}

TEST(PrecisionWhole, CastsOfAutocastVanishThoseOfTheProgramStay) {
  const Step step = cast_by_both(true);
  const Dataflow flow = dataflow(step);
  const TypeChange c = whole(step.trace, flow, DataType::bf16, 256);
  ASSERT_EQ(flow.ops.size(), 5U);
  EXPECT_EQ(c.removed, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(c.casts.empty());
  EXPECT_EQ(c.ops[2], DataType::bf16);
  EXPECT_EQ(c.ops[4], DataType::fp32);
}

TEST(PrecisionWhole, IsToldByWhatLayersAreHanded) {
  EXPECT_EQ(traced_precision(cast_by_both(true)), Precision::bf16);
  EXPECT_EQ(traced_precision(cast_by_both(false)), Precision::bf16w);
  for (const Precision to : {Precision::fp16w, Precision::bf16w}) {
    EXPECT_EQ(traced_precision(in_precision(two_linear_layers(), to)), to);
  }
}

TEST(PrecisionWhole, ThereAndBackLeavesTheSameKernels) {
  for (const Precision from : {Precision::fp16w, Precision::bf16w}) {
    for (const Precision to : {Precision::fp32, Precision::tf32, Precision::amp, Precision::bf16}) {
      PrecisionReport report;
      const Step step = in_precision(in_precision(two_linear_layers(), from), to, &report);
      EXPECT_EQ(report.from, from);
      EXPECT_EQ(step.plan.works.size(), in_precision(two_linear_layers(), to).plan.works.size());
    }
  }
}

// Lists of weights: 8 us, of which at least what does not move bytes stays.
TEST(PrecisionWhole, OptimizersReadAndWriteNarrowerWeights) {
  FlowMaker m;
  m.op("aten::linear>aten::mm", "[[64,256],[256,256]]", two_floats, "", "sgemm");
  m.op("aten::_foreach_add_", "[[],[],[]]", R"(["TensorList","TensorList","Scalar"])", "",
       "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, "
       "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(int)");
  const Step out = in_precision(m.step(), Precision::bf16w);
  const KernelClass& kernel = out.kernels.of(out.plan.works[1].source);
  EXPECT_EQ(kernel.traits.data, DataType::bf16);
  EXPECT_LE(out.plan.works[1].duration, from_us(8));
  EXPECT_GE(out.plan.works[1].duration, from_us(4));
  const Step amp = in_precision(m.step(), Precision::bf16);
  EXPECT_EQ(amp.plan.works.back().duration, from_us(8));
}

// The library normalizes FP16 beside weights in FP32 only: then statistics, their update and the
// transform are kernels of the framework.
TEST(PrecisionWhole, NormsOfChannelsLeaveTheLibrary) {
  FlowMaker m;
  test::add_half_convolution(m, "32,64,56,56", "64,64,3,3");
  m.around_dims = "[[32,64,56,56],[64]]", m.around_types = R"(["c10::Half","float"])";
  m.op("aten::batch_norm>aten::cudnn_batch_norm", "[[32,64,56,56],[64],[64],[64],[64]]",
       R"(["c10::Half","float","float","float","float"])", "",
       "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512>(int)");
  m.around_dims.clear();
  m.op("aten::copy_", "[[64],[64]]", R"(["c10::Half","float"])");
  const Step step = m.step();
  ASSERT_EQ(traced_precision(step), Precision::amp);
  const Step out = in_precision(step, Precision::fp16w);
  std::vector<Kind> kinds;
  for (const DeviceWork& work : out.plan.works) {
    kinds.push_back(out.kernels.of(work.source).traits.kind);
  }
  ASSERT_EQ(kinds.size(), 4U);
  EXPECT_EQ(kinds[1], Kind::bn_statistics);
  EXPECT_EQ(kinds[3], Kind::bn_transform);
}

// Parameters of 100 bytes and states of 200 take half; 30 that were measured besides stay.
TEST(PrecisionWhole, WeightsOfHalfTheWidthTakeHalfTheMemory) {
  PeakMemory memory;
  memory.kept.parameters = 100, memory.kept.states = 200, memory.kept.workspaces = 40;
  memory.kept_bytes = 100 + 200 + 40 + 30;
  memory.update_bytes = 120;
  const PeakMemory half = with_weights(memory, 0.5);
  EXPECT_DOUBLE_EQ(half.kept.parameters, 50);
  EXPECT_DOUBLE_EQ(half.kept.states, 100);
  EXPECT_DOUBLE_EQ(half.kept.workspaces, 40);
  EXPECT_DOUBLE_EQ(half.kept_bytes, 50 + 100 + 40 + 30);
  EXPECT_DOUBLE_EQ(half.update_bytes, 60);
}

}  // namespace
}  // namespace tandem
