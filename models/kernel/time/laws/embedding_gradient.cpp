#include "models/kernel/time/laws/embedding_gradient.h"

#include "models/kernel/launch_rules.h"
#include "sim/core/fields/field.h"

namespace tandem {

std::vector<Field<EmbeddingGradient>> embedding_gradient_fields() {
  using G = EmbeddingGradient;
  return {field("embedding_token_us", "us", "gradient of an embedding, per token, direct",
                &G::token_us),
          field("embedding_sort_us", "us", "the same with sorted indices, constant", &G::sort_us),
          field("embedding_sort_token_us", "us", "the same with sorted indices, per token",
                &G::sort_token_us)};
}

bool sorts_tokens(double tokens) { return tokens > most_unsorted_indices; }

double embedding_gradient_us(const EmbeddingGradient& gradient, double tokens) {
  return sorts_tokens(tokens) ? gradient.sort_us + tokens * gradient.sort_token_us
                              : tokens * gradient.token_us;
}

}  // namespace tandem
