// Steps of a few framework operations with shapes, for the dataflow and fusion tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/runtime/device_timing.h"
#include "models/runtime/measured_plan.h"
#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem::test {

// Types of two operands.
inline constexpr std::string_view half2 = R"(["c10::Half","c10::Half"])";
inline constexpr const char* two_floats = R"(["float","float"])";

/// One step of operations one after the other, each of 20 us with one kernel of 8 us.
class FlowMaker {
 public:
  /// An operation and its kernel; `inside`: names of operations around it, outermost first, joined
  /// by '>'. Returns its row.
  std::uint32_t op(std::string_view path, std::string_view dims, std::string_view types,
                   std::string_view concrete = "", std::string_view kernel = "vectorized") {
    const double begin = 10 + 20.0 * n_;
    const std::uint32_t row = enter(path, begin, {dims, types, strides, concrete});
    maker_.launch(begin + 8, 4, 100 + n_, thread);
    run_kernel(begin + 14, 8, 100 + n_, kernel);
    ++n_;
    return row;
  }

  /// The same of an operation that fills zeros of these dimensions for its result first, or
  /// (`behind`) behind its own kernel.
  void op_on_zeros(std::string_view path, std::string_view dims, std::string_view types,
                   std::string_view zeros, bool behind = false, std::string_view concrete = "") {
    const double begin = 10 + 20.0 * n_;
    enter(path, begin, {dims, types, strides, concrete});
    const std::uint32_t fill = maker_.op("aten::fill_", begin + 4, 3, thread);
    maker_.operands(fill, {zeros, R"(["float","Scalar"])", "", ""});
    maker_.launch(begin + 5, 1, 100 + n_, thread);
    run_kernel(begin + 6, 2, 100 + n_, "vectorized");
    maker_.launch(begin + (behind ? 3.5 : 9), 0.2, 300 + n_, thread);
    run_kernel(begin + (behind ? 4.5 : 11), 1, 300 + n_, "vectorized");
    ++n_;
  }

  /// The same of an operation that first copies a list of places from memory of the host.
  void op_by_list(std::string_view path, std::string_view dims, std::string_view types) {
    const double begin = 10 + 20.0 * n_;
    enter(path, begin, {dims, types, "", ""});
    const std::uint32_t row = maker_.op("aten::copy_", begin + 3, 2, thread);
    maker_.operands(row, {"[[8],[8],[]]", R"(["long int","long int","Scalar"])", "", ""});
    maker_.trace.ops.sequence[row] = sequence;
    maker_.call("cudaMemcpyAsync", begin + 3.5, 1, 300 + n_, thread);
    const std::uint32_t copy = maker_.activity(
        ActivityKind::memcpy, "Memcpy HtoD (Pageable -> Device)", begin + 5, 1, 300 + n_);
    maker_.trace.activities.bytes[copy] = 64;
    maker_.launch(begin + 8, 1, 100 + n_, thread);
    run_kernel(begin + 14, 4, 100 + n_, "vectorized");
    ++n_;
  }

  /// The same of an operation that takes a slice of its result before its own kernel.
  void op_on_slices(std::string_view path, std::string_view dims, std::string_view types,
                    std::string_view made, std::string_view made_type, std::string_view concrete) {
    const double begin = 10 + 20.0 * n_;
    enter(path, begin, {dims, types, "", concrete});
    const std::uint32_t slice = maker_.op("aten::narrow", begin + 3, 2, thread);
    maker_.operands(slice, {made, made_type, "", ""});
    maker_.launch(begin + 8, 4, 100 + n_, thread);
    run_kernel(begin + 14, 8, 100 + n_, "vectorized");
    ++n_;
  }

  /// A value is copied to the host, which waits for it; `computes`: behind a kernel.
  void read(std::string_view path, bool computes = false, std::string_view type = R"(["bool"])") {
    const double begin = 10 + 20.0 * n_;
    enter(path, begin, {"[[256]]", type, "", ""});
    if (computes) {
      maker_.launch(begin + 3, 1, 300 + n_, thread);
      run_kernel(begin + 5, 1, 300 + n_, "vectorized");
    }
    maker_.call("cudaMemcpyAsync", begin + 6, 2, 100 + n_, thread);
    const std::uint32_t copy = maker_.activity(
        ActivityKind::memcpy, "Memcpy DtoH (Device -> Pageable)", begin + 9, 1, 100 + n_);
    maker_.trace.activities.bytes[copy] = 1;
    maker_.call("cudaStreamSynchronize", begin + 8.5, 3, 200 + n_, thread);
    ++n_;
  }

  /// An operation that launches nothing.
  void idle(std::string_view name, std::string_view dims, std::string_view types) {
    const std::uint32_t row = maker_.op(name, 10 + 20.0 * n_, 2, thread);
    maker_.operands(row, {dims, types, "", ""});
    ++n_;
  }

  /// The traced step as a what-if gets it.
  Step step() {
    maker_.step(0, 0, 20.0 * n_ + 40);
    const HostModel host = load_host_model(source_path("configs/hosts/default.json"));
    const Links links = link_trace(maker_.trace);
    const DeviceTiming timing(maker_.trace, links, host);
    const MeasuredPlan measured = measured_plan(maker_.trace, links, host, timing);
    return cut_step(maker_.trace, links, step_plan(maker_.trace, measured, host, Profiler::keep));
  }

  std::int64_t sequence = -1;      // of the operations to come
  std::int64_t own_sequence = -1;  // of the innermost ones of them, where it is another one
  std::string strides;             // likewise; empty: not recorded
  std::string around_dims;  // operands of the outermost operation around; empty: not recorded
  std::string around_types;
  std::string around_strides;
  std::string between_dims;  // of those between it and the innermost one, likewise
  std::string between_types;
  bool within_last = false;  // operations to come run in the outermost one of the last
  std::int64_t forward_thread = 0;
  std::size_t thread = 0;

 private:
  /// Operations in each other, outermost first, of which the innermost has these operands.
  std::uint32_t enter(std::string_view path, double begin, const kineto::OperandTexts& operands) {
    std::uint32_t row = 0;
    double depth = 0;
    for (std::size_t at = 0; at != std::string_view::npos;) {
      const std::size_t end = path.find('>', at);
      const bool last = end == std::string_view::npos;
      if (at == 0 && within_last) {
        row = outermost_;
        maker_.trace.ops.duration[row] += from_us(20);
      } else {
        row = maker_.op(path.substr(at, last ? end : end - at), begin + depth, 18 - 2 * depth,
                        thread);
      }
      if (at == 0) outermost_ = row;
      maker_.trace.ops.sequence[row] = last && own_sequence >= 0 ? own_sequence : sequence;
      maker_.trace.ops.forward_thread[row] = forward_thread;
      if (last) maker_.operands(row, operands);
      if (at == 0 && !last && !around_dims.empty()) {
        maker_.operands(row, {around_dims, around_types, around_strides, ""});
      }
      if (at > 0 && !last && !between_dims.empty()) {
        maker_.operands(row, {between_dims, between_types, "", ""});
      }
      depth += 0.5;
      at = last ? end : end + 1;
    }
    return row;
  }
  void run_kernel(double begin_us, double us, std::int64_t correlation, std::string_view name) {
    const std::uint32_t a = maker_.kernel(begin_us, us, correlation, 0, name);
    if (maker_.trace.geometries.empty()) maker_.trace.geometries.push_back({});
    maker_.trace.activities.geometry[a] = GeometryId{0};
  }

  TraceMaker maker_;
  int n_ = 0;
  std::uint32_t outermost_ = 0;
};

/// A layer, a sine behind it, and gradients of both: the node of the sine multiplies its gradient
/// by the cosine of what was kept for it. `dims`: of one tensor.
inline void add_sine_and_gradient(FlowMaker& m, const std::string& dims) {
  const std::string one = "[" + dims + "]", two = "[" + dims + "," + dims + "]";
  const std::string_view type = R"(["float"])";
  m.sequence = 1;
  m.op("aten::relu", one, type);
  m.sequence = 2;
  m.op("aten::sin", one, type);
  m.thread = 1;
  m.forward_thread = 1;
  m.sequence = 3;
  m.op("MulBackward0>aten::mul", one, type);
  m.sequence = 2;
  m.op("SinBackward0>aten::cos", one, type);
  m.within_last = true;
  m.op("SinBackward0>aten::mul", two, R"(["float","float"])");
}

/// A convolution in FP16 with strides and padding of one; `images` and `filters`: their dimensions.
inline void add_half_convolution(
    FlowMaker& m, const std::string& images, const std::string& filters,
    std::string_view kernel = "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc",
    int groups = 1) {
  const bool flat = std::count(filters.begin(), filters.end(), ',') > 2;
  const std::string ones = flat ? R"("[1, 1]")" : R"("[1]")";
  m.op("aten::cudnn_convolution", "[[" + images + "],[" + filters + "],[],[],[],[]]",
       R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","",)" + ones + "," + ones + "," + ones + ",\"" + std::to_string(groups) + "\"]",
       kernel);
}

/// Operation that made operand `argument` of operation `op`; no_row: none of the step.
inline std::uint32_t maker_of(const Dataflow& flow, std::size_t op, std::uint8_t argument) {
  for (const FlowUse& use : flow.inputs_of(flow.ops[op])) {
    if (use.argument == argument) return flow.tensors[use.tensor].producer;
  }
  ADD_FAILURE() << "no operand " << int{argument};
  return no_row;
}

}  // namespace tandem::test
