// Gradients of tables of rows.
#pragma once

#include <vector>

#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Documentation: embedding_gradient.cpp; times in us.
struct EmbeddingGradient {
  double token_us = 0;
  double sort_us = 0;
  double sort_token_us = 0;
};
std::vector<Field<EmbeddingGradient>> embedding_gradient_fields();

/// Above so many tokens the framework sorts the indices.
bool sorts_tokens(double tokens);
double embedding_gradient_us(const EmbeddingGradient& gradient, double tokens);

}  // namespace tandem
