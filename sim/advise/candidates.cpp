#include "sim/advise/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/runtime/executor_modes.h"
#include "models/whatif/layout/transform.h"
#include "models/whatif/optimizer/update.h"
#include "models/whatif/precision/precision.h"

namespace tandem {

namespace {

std::optional<std::string> has_precision(const AdviceBase& base, Precision to) {
  if (!states_types(base.run.traced_step)) return {};
  const Precision from = traced_precision(base.run.traced_step);
  if (from == to) return fmt::format("the step is in {} already", to_string(from));
  if (is_whole(from))
    return fmt::format("weights and all else are in 16 bits ({})", to_string(from));
  const bool in_16_bits = from == Precision::amp || from == Precision::bf16;
  if (to == Precision::tf32 && in_16_bits) {
    return fmt::format("products of the step are in {}, of fewer bits", to_string(from));
  }
  return {};
}

std::optional<std::string> has_amp(const AdviceBase& b) { return has_precision(b, Precision::amp); }
std::optional<std::string> has_bf16(const AdviceBase& b) {
  return has_precision(b, Precision::bf16);
}
std::optional<std::string> has_tf32(const AdviceBase& b) {
  return has_precision(b, Precision::tf32);
}

std::optional<std::string> is_asynchronous(const AdviceBase& base) {
  const Step& step = base.run.traced_step;
  if (has_nodes(step.plan)) {
    if (!has_executor(step.plan)) return {};
    return "operations go to an executor of their own already";
  }
  const bool waits =
      std::any_of(step.plan.items.begin(), step.plan.items.end(), [&](const HostItem& item) {
        return item.wait != WaitFor::nothing && launches_kernel(step.trace, step.plan, item);
      });
  if (waits) return {};
  return "no launch waits for its kernel";
}

/// Above, what a capture would add is less than what predictions of captured steps are off by.
constexpr double all_captured = 0.95;

std::optional<std::string> is_captured(const AdviceBase& base) {
  const Result& r = base.result;
  if (base.run.measured.device_only) return "the trace tells nothing of the host";
  if (r.step.gpu_kernel_us <= 0) return "the step has no work on a GPU";
  const double share = r.graph_captured_us / r.step.gpu_kernel_us;
  if (share < all_captured) return {};
  return fmt::format("CUDA graphs hold {:.0f} % of the GPU time already", 100 * share);
}

std::optional<std::string> waits_for_no_input(const AdviceBase& base) {
  if (base.result.input_wait_us > 0) return {};
  return "the step as traced does not wait for its input";
}

std::optional<std::string> is_fused(const AdviceBase& base) {
  if (!has_fused_update(base.run.traced_step.trace)) return {};
  return "the optimizer is fused already";
}

const std::vector<Candidate>& table() {
  static const std::vector<Candidate> rows = {
      {.name = "AMP",
       .choice = Choice::precision,
       .how = "torch.autocast(\"cuda\", torch.float16), GradScaler where it trains",
       .what_ifs = {{"precision", "amp"}},
       .obstacle = has_amp},
      {.name = "BF16",
       .choice = Choice::precision,
       .how = "torch.autocast(\"cuda\", torch.bfloat16)",
       .what_ifs = {{"precision", "bf16"}},
       .obstacle = has_bf16},
      {.name = "TF32",
       .choice = Choice::precision,
       .how = "torch.set_float32_matmul_precision(\"high\")",
       .what_ifs = {{"precision", "tf32"}},
       .obstacle = has_tf32},
      {.name = "asynchronous launches",
       .choice = Choice::waits,
       .how = "no CUDA_LAUNCH_BLOCKING=1, no synchronous execution",
       .mode = Mode::eager_async,
       .obstacle = is_asynchronous},
      {.name = "CUDA graph",
       .how = "torch.cuda.graph around the step",
       .mode = Mode::cuda_graph,
       .obstacle = is_captured},
      {.name = "compile", .how = "torch.compile(model)", .what_ifs = {{"compile", "inductor"}}},
      {.name = "compile reduce-overhead",
       .how = "torch.compile(model, mode=\"reduce-overhead\")",
       .what_ifs = {{"compile", "reduce-overhead"}}},
      {.name = "no input wait",
       .choice = Choice::input,
       .how = "more workers, prefetching or a faster source for the data loader",
       .what_ifs = {{"input", "none"}},
       .obstacle = waits_for_no_input},
      {.name = "channels-last",
       .choice = Choice::layout,
       .how = "model and images .to(memory_format=torch.channels_last)",
       .what_ifs = {{"layout", std::string(channels_last_layout)}}},
      {.name = "fused optimizer",
       .choice = Choice::update,
       .how = "fused=True of torch.optim's SGD, Adam or AdamW",
       .what_ifs = {{"update", "fused"}},
       .obstacle = is_fused},
      {.name = "batch x2", .choice = Choice::batch, .how = "twice the batch", .batch_factor = 2},
      {.name = "batch x4",
       .choice = Choice::batch,
       .how = "four times the batch",
       .batch_factor = 4},
      {.name = "largest batch",
       .choice = Choice::batch,
       .how = "the largest doubled batch that fits",
       .largest_batch = true},
  };
  return rows;
}

/// The traced batch doubled while it fits, the peak at the far end of its band; halved until it
/// does where the traced one does not.
std::optional<std::int64_t> largest_doubled(std::int64_t batch, const Result& base,
                                            std::string& refusal) {
  if (!base.memory) {
    refusal = "the peak of memory is not known";
    return {};
  }
  const MemorySummary& memory = *base.memory;
  const double most =
      static_cast<double>(memory.largest_batch) * memory.peak_bytes / memory.high_bytes;
  std::int64_t largest = batch;
  while (!memory.fits && static_cast<double>(largest) > most && largest > 1) largest /= 2;
  while (2.0 * static_cast<double>(largest) <= most) largest *= 2;
  if (static_cast<double>(largest) > most) {
    refusal = fmt::format("not even a batch of {} fits", largest);
    return {};
  }
  if (largest < batch || largest > 4 * batch) return largest;
  refusal = fmt::format("no more than {} fit for sure, which other rows cover", largest);
  return {};
}

}  // namespace

std::span<const Candidate> candidates() { return table(); }

Candidate gpu_candidate(const std::string& name) {
  return {.name = name,
          .choice = Choice::gpu,
          .how = "another GPU beside the same host",
          .what_ifs = {{"gpu", name}}};
}

std::optional<std::int64_t> batch_of(const Candidate& candidate, const Result& base,
                                     std::string& refusal) {
  const std::optional<std::int64_t> batch = base.scenario.batch;
  if (!batch) {
    refusal = "the batch of the step is not known; --traced-batch says it";
    return {};
  }
  if (candidate.largest_batch) return largest_doubled(*batch, base, refusal);
  return std::llround(candidate.batch_factor * static_cast<double>(*batch));
}

}  // namespace tandem
