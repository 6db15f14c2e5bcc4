// Rows of the operands and the result of a matrix product, by which libraries choose their loads.
#pragma once

#include <cstdint>

#include "models/kernel/time/time_model.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

/// Whether rows of `elements` begin at multiples of `bytes`.
inline bool aligned_rows(std::int64_t elements, DataType type, double bytes) {
  return elements * element_bytes(type) % static_cast<std::int64_t>(bytes) == 0;
}

/// Of lengths of rows of both operands and of the result.
template <class Predicate>
bool rows_of_all(const GemmShape& s, Predicate holds) {
  return holds(s.a_k_major ? s.k : s.m) && holds(s.b_k_major ? s.k : s.n) && holds(s.n);
}

/// Whether all of them begin at multiples of `bytes`.
inline bool aligned_product(const GemmShape& s, double bytes) {
  return rows_of_all(s, [&](std::int64_t n) { return aligned_rows(n, s.type, bytes); });
}

}  // namespace tandem
