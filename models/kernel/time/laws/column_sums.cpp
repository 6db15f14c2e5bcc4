#include "models/kernel/time/laws/column_sums.h"

#include "sim/core/fields/field.h"

namespace tandem {
namespace {

constexpr double unrolled = 4;  // values a thread has in flight
constexpr double most_direct_tokens = 3072;

}  // namespace

std::vector<Field<ColumnSums>> column_sums_fields() {
  using S = ColumnSums;
  return {
      field("column_step_us", "us", "four loads of a thread that adds up", &S::step_us),
      field("column_split_us", "us", "adding up the partial sums of several blocks", &S::split_us)};
}

// Every thread adds up its values, four loads at a time; with several blocks per output the last
// one adds up their partial sums. The loads of both chains depend on each other only through
// latency.
double column_sum_us(const GpuArch& gpu, const ColumnSums& sums, const CachedMemory& memory,
                     const ColumnSum& work) {
  const double values = work.inputs / (work.threads * work.blocks);
  const double us = values / unrolled * sums.step_us + cached_memory_us(gpu, memory, work.bytes);
  if (work.blocks == 1) return us;
  return us + sums.split_us + work.blocks / work.threads * sums.step_us;
}

std::vector<Field<EmbeddingGradient>> embedding_gradient_fields() {
  using G = EmbeddingGradient;
  return {field("embedding_token_us", "us", "gradient of an embedding, per token, direct",
                &G::token_us),
          field("embedding_sort_us", "us", "the same with sorted indices, constant", &G::sort_us),
          field("embedding_sort_token_us", "us", "the same with sorted indices, per token",
                &G::sort_token_us)};
}

bool sorts_tokens(double tokens) { return tokens > most_direct_tokens; }

double embedding_gradient_us(const EmbeddingGradient& gradient, double tokens) {
  return sorts_tokens(tokens) ? gradient.sort_us + tokens * gradient.sort_token_us
                              : tokens * gradient.token_us;
}

}  // namespace tandem
