// What generated kernels compute: the operations that their names list.
#include <algorithm>
#include <bit>
#include <iterator>

#include "models/kernel/classify/classify.h"

namespace tandem {
namespace {

// A kernel computes once what several of its operations need: of a group, what stands first here
// covers the others. The gradient of GELU takes GELU's error function; a backward pass multiplies
// by the mask that the forward pass has drawn; other gradients need the function only where the
// forward operation is named too, for then it is computed again. Reductions that loop over their
// rows merge running means and variances element by element; what a norm divides by is taken from
// a stored variance for every element.
constexpr FusedRow fused[] = {
    {"gelu_backward", "gelu_backward", FusedGroup::error_function},
    {"gelu", "gelu", FusedGroup::error_function},
    {"erf", "gelu", FusedGroup::error_function},
    {"native_dropout_backward", "mask", FusedGroup::random},
    {"native_dropout", "random", FusedGroup::random},
    {"bernoulli", "random", FusedGroup::random},
    {"rand", "random", FusedGroup::random},
    {"rand_like", "random", FusedGroup::random},
    {"silu_backward", "logistic", FusedGroup::logistic},
    {"silu", "logistic", FusedGroup::logistic},
    {"sigmoid", "logistic", FusedGroup::logistic},
    {"mish_backward", "mish", FusedGroup::logistic},
    {"mish", "mish", FusedGroup::logistic},
    {"softplus", "logistic", FusedGroup::logistic},
    {"sigmoid_backward", "mask", FusedGroup::logistic},
    {"tanh", "tanh", FusedGroup::tangent},
    {"tanh_backward", "mask", FusedGroup::tangent},
    {"prepare_softmax_online", "online", FusedGroup::exponent, FusedIn::loops},
    {"softmax", "exponent", FusedGroup::exponent, FusedIn::all, 2},
    {"_softmax", "exponent", FusedGroup::exponent, FusedIn::all, 2},
    {"_safe_softmax", "exponent", FusedGroup::exponent, FusedIn::all, 2},
    {"_log_softmax", "exponent", FusedGroup::exponent, FusedIn::all, 2},
    {"prepare_softmax_online", "exponent", FusedGroup::exponent, FusedIn::all, 2},
    {"exp", "exponent", FusedGroup::exponent},
    {"elu", "exponent", FusedGroup::exponent},
    {"_softmax_backward_data", "mask", FusedGroup::exponent},
    {"_log_softmax_backward_data", "mask", FusedGroup::exponent},
    {"native_batch_norm_backward", "norm_gradient", FusedGroup::statistics},
    {"native_layer_norm_backward", "norm_gradient", FusedGroup::statistics, FusedIn::all, 2},
    {"native_group_norm_backward", "group_norm", FusedGroup::statistics},
    {"native_group_norm", "group_norm", FusedGroup::statistics},
    {"_native_batch_norm_legit", "moments", FusedGroup::statistics, FusedIn::loops},
    {"_native_batch_norm_legit_functional", "moments", FusedGroup::statistics, FusedIn::loops},
    {"native_layer_norm", "moments", FusedGroup::statistics, FusedIn::loops},
    {"var_mean", "moments", FusedGroup::statistics, FusedIn::loops},
    {"_native_batch_norm_legit_no_training", "root", FusedGroup::root, FusedIn::pointwise},
    {"sqrt", "root", FusedGroup::root, FusedIn::pointwise},
    {"rsqrt", "root", FusedGroup::root, FusedIn::pointwise},
    {"hardswish_backward", "hardswish", FusedGroup::hard},
    {"hardswish", "hardswish", FusedGroup::hard},
    {"cat", "join", FusedGroup::join},
    {"max_pool2d_with_indices_backward", "pool_gradient", FusedGroup::pool},
    {"max_pool2d_with_indices", "pool", FusedGroup::pool},
    {"cos", "angle", FusedGroup::angle},
    {"sin", "angle", FusedGroup::angle},
    {"zeros", "fill", FusedGroup::fill},
    {"new_zeros", "fill", FusedGroup::fill},
    {"zeros_like", "fill", FusedGroup::fill},
    {"full", "fill", FusedGroup::fill},
    {"new_full", "fill", FusedGroup::fill},
    {"full_like", "fill", FusedGroup::fill},
    {"ones", "fill", FusedGroup::fill},
    {"ones_like", "fill", FusedGroup::fill},
    {"arange", "fill", FusedGroup::fill},
    {"embedding_dense_backward", "fill", FusedGroup::fill},
};

// Whether `part` stands at `at` of a name whose words are joined by underscores.
bool stands_at(std::string_view name, std::size_t at, std::string_view part) {
  const std::size_t end = at + part.size();
  return name.substr(at).starts_with(part) && (end == name.size() || name[end] == '_');
}

// The row of the longest operation that begins at `at`; as many as there are rows: none.
std::size_t row_at(std::string_view name, std::size_t at) {
  std::size_t best = std::size(fused);
  for (std::size_t i = 0; i < std::size(fused); ++i) {
    const bool longer =
        best == std::size(fused) || fused[i].pattern.size() > fused[best].pattern.size();
    if (longer && stands_at(name, at, fused[i].pattern)) best = i;
  }
  return best;
}

bool costs_in(FusedIn in, Kind kind) {
  switch (in) {
    case FusedIn::all: return true;
    case FusedIn::pointwise: return kind == Kind::triton_pointwise;
    case FusedIn::loops: return kind == Kind::triton_reduction;
  }
  return true;
}

/// Calls `visit` with the rows whose bits are set, in their order.
template <class Visit>
void for_each_row(std::uint64_t operations, const Visit& visit) {
  for (; operations != 0; operations &= operations - 1) visit(fused[std::countr_zero(operations)]);
}

}  // namespace

std::span<const FusedRow> fused_rows() { return fused; }

std::uint64_t fused_operations(std::string_view name, Kind kind) {
  static_assert(std::size(fused) <= 64);
  constexpr std::string_view begin = "_fused_";
  const std::size_t list = name.find(begin);
  if (list == std::string_view::npos) return 0;
  std::size_t first_of_group[fused_groups];
  for (std::size_t& row : first_of_group) row = std::size(fused);
  for (std::size_t at = list + begin.size(); at < name.size();) {
    const std::size_t row = row_at(name, at);
    std::size_t end = name.find('_', at + 1);
    if (row < std::size(fused)) {
      std::size_t& first = first_of_group[static_cast<std::size_t>(fused[row].group)];
      if (costs_in(fused[row].in, kind)) first = std::min(first, row);
      end = at + fused[row].pattern.size();
    }
    at = end == std::string_view::npos ? name.size() : end + 1;
  }
  std::uint64_t out = 0;
  for (const std::size_t row : first_of_group) {
    if (row < std::size(fused)) out |= std::uint64_t{1} << row;
  }
  return out;
}

bool fills(std::uint64_t operations) {
  bool out = false;
  for_each_row(operations, [&](const FusedRow& row) { out |= row.group == FusedGroup::fill; });
  return out;
}

int row_results(std::uint64_t operations) {
  int most = 1;
  for_each_row(operations, [&](const FusedRow& row) { most = std::max(most, row.row_results); });
  return most;
}

}  // namespace tandem
