// Where a compiled model leaves its graph.
#include "models/whatif/compile/host/graph_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::kernel_names;

constexpr std::string_view pixels = "[[256,256]]";
constexpr std::string_view of_float = R"(["float"])";

void relu(FlowMaker& m) { m.op("aten::relu", pixels, of_float); }

/// A number that Python reads.
void read_number(FlowMaker& m) {
  m.around_dims = "[[]]", m.around_types = of_float;
  m.read("aten::item>aten::_local_scalar_dense", false, of_float);
  m.around_dims.clear();
}

std::vector<std::uint32_t> graphs_of(const Step& step) {
  return graph_cuts(step, dataflow(step)).graph_of;
}

/// Two layers and what Python does between them.
template <typename Between>
Step around(Between between) {
  FlowMaker m;
  relu(m);
  between(m);
  relu(m);
  return m.step();
}

using Graphs = std::vector<std::uint32_t>;

// LayerDrop draws a number on the host and asks whether it is small.
TEST(GraphCuts, LieWhereATruthValueOfTheHostIsAsked) {
  const Step step = around([](FlowMaker& m) { m.idle("aten::is_nonzero", "[[]]", R"(["bool"])"); });
  EXPECT_EQ(graphs_of(step), (Graphs{0, 1}));
  CompileBench s;
  const Step out = s.compile(step);
  EXPECT_EQ(s.report.breaks, 1U);
  EXPECT_EQ(out.plan.works.size(), 2U);  // no kernel for both layers
  EXPECT_EQ(s.compile(step, Compiler::xla).plan.works.size(), 1U);
}

TEST(GraphCuts, DoNotLieWhereOneOfTheDeviceIsAsked) {
  const Step step = around([](FlowMaker& m) { m.read("aten::is_nonzero"); });
  CompileBench s;
  EXPECT_EQ(s.compile(step).plan.works.size(), 1U);
  EXPECT_EQ(s.report.breaks, 0U);
}

// What an operation asks of its own operand (aten::fill_ of a tensor's value) is none of Python's.
TEST(GraphCuts, DoNotLieWithinOperations) {
  const Step step = around([](FlowMaker& m) {
    m.read("aten::fill_>aten::item>aten::_local_scalar_dense", false, of_float);
  });
  CompileBench s;
  EXPECT_EQ(s.compile(step).plan.works.size(), 1U);
  EXPECT_EQ(s.report.breaks, 0U);
}

// Old profilers tell no types: a question may be either.
TEST(GraphCuts, DoNotLieWhereTheTypeIsNotKnown) {
  const Step step = around([](FlowMaker& m) { m.idle("aten::item", "[[]]", R"([""])"); });
  EXPECT_EQ(graph_cuts(step, dataflow(step)).breaks, 0U);
}

// Tensor.item() of a number: the host waits for it as it did.
TEST(GraphCuts, LieWhereANumberIsRead) {
  const Step step = around(read_number);
  CompileBench s;
  const Step out = s.compile(step);
  EXPECT_EQ(s.report.breaks, 1U);
  EXPECT_EQ(out.plan.works.size(), 3U);  // two layers and the copy
  EXPECT_EQ(std::count_if(out.plan.items.begin(), out.plan.items.end(),
                          [](const HostItem& item) { return item.wait != WaitFor::nothing; }),
            1);
}

// Each graph costs its entry: a step cut once costs one region more, of the forward pass alone.
TEST(GraphCuts, CostHostTime) {
  CompileBench s;
  s.compile(around([](FlowMaker&) {}));
  const double whole = s.report.host_after_us;
  s.compile(around([](FlowMaker& m) { m.idle("aten::is_nonzero", "[[]]", R"(["bool"])"); }));
  const double cut = s.report.host_after_us;
  EXPECT_GT(cut - whole, s.law.host.region_host_us * s.law.host.inference_host_share * 0.5);
}

/// A layer, a recurrent layer, a further layer of the same function, a residual of the one around
/// it, a layer behind, and their gradients.
Step recurrent(bool halves = false) {
  FlowMaker m;
  m.sequence = 1;
  relu(m);
  m.sequence = 2;
  m.op("aten::lstm>aten::_cudnn_rnn", pixels, of_float, "", "RNN_blockPersist");
  m.sequence = 3;
  relu(m);
  m.sequence = 4;
  m.strides = halves ? "[[512,1],[512,1]]" : "[[256,1],[256,1]]";
  m.op("aten::add", "[[256,256],[256,256]]", R"(["float","float"])");
  m.strides.clear();
  m.sequence = 5;
  relu(m);
  m.thread = 1, m.forward_thread = 1;
  for (m.sequence = 5; m.sequence > 0; --m.sequence) {
    m.op("autograd::engine::evaluate_function: ReluBackward0>aten::threshold_backward",
         "[[256,256],[256,256]]", R"(["float","float"])");
  }
  return m.step();
}

TEST(GraphCuts, LeaveARecurrentLayerAndTheRestOfItsFunctionToTheFramework) {
  const Step step = recurrent();
  EXPECT_EQ(graphs_of(step), (Graphs{0, runs_eager, runs_eager, 1, 1,  // forward
                                     1, 1, runs_eager, runs_eager, 0}));
  CompileBench s;
  const auto names = kernel_names(s.compile(step));
  EXPECT_EQ(s.report.breaks, 1U);
  EXPECT_EQ(s.report.unknown_share, 0);  // they are known to run as they did
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const auto& n) { return n.starts_with("triton_"); }),
            4);  // two graphs, forward and backward
}

// The sum of both directions of a layer is one of its parts, and no residual.
TEST(GraphCuts, DoNotEndAFunctionWhereHalvesAreAdded) {
  EXPECT_EQ(graphs_of(recurrent(true)),
            (Graphs{0, runs_eager, runs_eager, runs_eager, runs_eager, runs_eager, runs_eager,
                    runs_eager, runs_eager, 0}));
}

std::vector<std::uint32_t> forward_graphs(const Step& step) {
  const Dataflow flow = dataflow(step);
  const GraphCuts cuts = graph_cuts(step, flow);
  Graphs out;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (flow.ops[i].in_model) out.push_back(cuts.graph_of[i]);
  }
  return out;
}

// A layer; three turns of a number that Python reads and two operations; two of the function
// around.
TEST(GraphCuts, LeaveALoopThatReadsInEachTurnToTheFramework) {
  FlowMaker m;
  relu(m);
  for (int turn = 0; turn < 3; ++turn) {
    read_number(m);
    relu(m);
    m.op("aten::sigmoid", pixels, of_float);
  }
  m.op("aten::tanh", pixels, of_float);
  relu(m);
  constexpr std::uint32_t left = runs_eager;
  EXPECT_EQ(forward_graphs(m.step()), (Graphs{0, left, left, left, left, left, left, 1, 1}));
}

// Layers that read a number each add residuals: functions that the loop over them calls.
TEST(GraphCuts, CompileTheLayersOfALoop) {
  FlowMaker m;
  relu(m);
  for (int layer = 0; layer < 3; ++layer) {
    read_number(m);
    m.op("aten::add", "[[256,256],[256,256]]", R"(["float","float"])");
  }
  EXPECT_EQ(forward_graphs(m.step()), (Graphs{0, 1, 2, 3}));
}

// The product of experts reads how many rows each has. What chooses them behind the last product,
// what follows up to the residual, and residuals everywhere run as they did.
TEST(GraphCuts, LeaveFunctionsAroundAProductThatReadsToTheFramework) {
  FlowMaker m;
  const auto residual = [&] { m.op("aten::add", "[[256,256],[256,256]]", R"(["float","float"])"); };
  const auto product = [&](std::string_view path) {
    m.op(path, "[[256,256],[256,256]]", R"(["float","float"])", "", "gemm");
  };
  relu(m);
  residual();
  product("aten::mm");
  relu(m);
  m.read("aten::_grouped_mm>aten::item>aten::_local_scalar_dense", false, of_float);
  m.within_last = true;
  product("aten::_grouped_mm>aten::mm");
  m.within_last = false;
  relu(m);
  residual();
  relu(m);
  constexpr std::uint32_t left = runs_eager;
  EXPECT_EQ(forward_graphs(m.step()), (Graphs{0, left, 1, left, left, left, left, 2}));
}

/// Passes of a layer with its activation, their loss, which Python reads, and their gradients.
Step added_up(int passes) {
  FlowMaker m;
  for (int pass = 0; pass < passes; ++pass) {
    m.thread = 0, m.forward_thread = 0;
    m.sequence = 1 + 10 * pass;
    m.op("aten::mm", "[[256,256],[256,256]]", R"(["float","float"])", "", "gemm");
    m.sequence = 2 + 10 * pass;
    relu(m);
    relu(m);
    m.sequence = 3 + 10 * pass;
    m.op("aten::mse_loss", "[[256,256],[256,256],[]]", R"(["float","float","Scalar"])");
    m.around_dims = "[[]]", m.around_types = of_float;
    m.read("aten::item>aten::_local_scalar_dense", false, of_float);
    m.around_dims.clear();
    m.thread = 1, m.forward_thread = 1;
    m.sequence = 2 + 10 * pass;
    for (int k = 0; k < 2; ++k) {
      m.op("autograd::engine::evaluate_function: ReluBackward0>aten::threshold_backward",
           "[[256,256],[256,256]]", R"(["float","float"])");
    }
    m.sequence = 1 + 10 * pass;
    m.op("autograd::engine::evaluate_function: MmBackward0>MmBackward0>aten::mm",
         "[[256,256],[256,256]]", R"(["float","float"])", "", "gemm");
  }
  return m.step();
}

// Of two passes each has the graphs, kernels and entries of one alone; what Python reads between
// them cuts nothing.
TEST(GraphCuts, EachPassHasGraphsOfItsOwn) {
  CompileBench one, two;
  const auto generated = [](const Step& step) {
    const auto names = kernel_names(step);
    return std::count_if(names.begin(), names.end(),
                         [](const auto& n) { return n.starts_with("triton_"); });
  };
  const auto of_one = generated(one.compile(added_up(1)));
  EXPECT_EQ(of_one, 2);  // of the activations, forward and backward
  EXPECT_EQ(generated(two.compile(added_up(2))), 2 * of_one);
  EXPECT_EQ(two.report.breaks, 0U);
  // Apart from what the first pass left in L2.
  EXPECT_NEAR(two.report.gpu_after_us, 2 * one.report.gpu_after_us, 0.5);
  EXPECT_NEAR(two.report.host_after_us, 2 * one.report.host_after_us,
              0.1 * one.report.host_after_us);
  one.compile(added_up(1), Compiler::reduce_overhead);
  two.compile(added_up(2), Compiler::reduce_overhead);
  EXPECT_EQ(one.report.graphs, 2U);
  EXPECT_EQ(two.report.graphs, 4U);
}

// Each graph of a cut model is a CUDA graph of its own, forward and backward.
TEST(GraphCuts, AreThoseOfCudaGraphs) {
  CompileBench s;
  s.compile(recurrent(), Compiler::reduce_overhead);
  EXPECT_EQ(s.report.graphs, 4U);
}

/// `layers`: products with 4 MiB of weight each, behind an operation without parameters; then their
/// gradients, which other ranks add to (`summed`).
Step trained(int layers, bool summed = false) {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::relu", "[[256,1024]]", of_float);
  for (int k = 0; k < layers; ++k) {
    m.sequence = 2 + k;
    m.op("aten::linear", "[[256,1024],[1024,1024]]", R"(["float","float"])", "", "gemm");
  }
  m.thread = 1, m.forward_thread = 1;
  for (; m.sequence > 1; --m.sequence) {
    m.op("autograd::engine::evaluate_function: MmBackward0>aten::mm", "[[1024,256],[256,1024]]",
         R"(["float","float"])", "", "gemm");
  }
  m.sequence = -1;
  for (int k = 0; k < layers; ++k) {
    m.idle("torch::autograd::AccumulateGrad", "[[1024,1024]]", of_float);
    if (!summed) continue;
    m.op(
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad>"
        "torch::distributed::reducer::mul_out",
        "[[1048576],[],[1048576]]", R"(["float","","float"])");
  }
  return m.step();
}

Graphs pieces(const Step& step, double first_mib, double further_mib) {
  constexpr double mib = 1024 * 1024;
  const Dataflow flow = dataflow(step);
  const GraphCuts cuts = graph_cuts(step, flow, {first_mib * mib, further_mib * mib});
  Graphs model;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (flow.ops[i].in_model) model.push_back(cuts.graph_of[i]);
  }
  return model;
}

// Filled from the last layer of 4 MiB on. The first bucket is full with it; one of 6 MiB takes two
// layers. Gradients are of the piece of their layer.
TEST(GraphCuts, LieAtTheBucketsOfRanks) {
  const Step step = trained(3);
  EXPECT_EQ(pieces(step, 1, 6), (Graphs{0, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(pieces(step, 5, 6), (Graphs{0, 0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(pieces(step, 0, 0), (Graphs{0, 0, 0, 0, 0, 0, 0}));
}

// Buckets of 4 MiB would leave the operation in front of the first layer alone.
TEST(GraphCuts, MakeNoPieceWithoutParameters) {
  EXPECT_EQ(pieces(trained(2), 1, 4), (Graphs{0, 0, 1, 1, 0}));
}

// A step trains alone unless its gradients are summed, or ranks are asked for; one entry each of
// the forward and of the backward pass more costs the host.
TEST(GraphCuts, ComeWithRanks) {
  const auto compiled = [](const Step& step, std::optional<std::int64_t> ranks) {
    CompileBench s;
    JitOptions options;
    options.buckets = {1024 * 1024, 25 * 1024 * 1024};
    options.ranks = ranks;
    with_jit(step, options, s.constants(), s.losses, &s.report);
    return s.report;
  };
  const JitReport alone = compiled(trained(2), {});
  EXPECT_EQ(alone.bucket_cuts, 0U);
  const JitReport asked = compiled(trained(2), 2);
  EXPECT_EQ(asked.bucket_cuts, 1U);
  EXPECT_EQ(asked.breaks, 0U);
  EXPECT_GT(asked.host_after_us, alone.host_after_us);
  EXPECT_EQ(compiled(trained(2, true), {}).bucket_cuts, 1U);
  EXPECT_EQ(compiled(trained(2, true), 1).bucket_cuts, 0U);
}

}  // namespace
}  // namespace tandem
