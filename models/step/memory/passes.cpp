#include "models/step/memory/passes.h"

#include <algorithm>

namespace tandem {
namespace {

bool alike(const LayerUse& a, const LayerUse& b) {
  return a.embedding == b.embedding && a.cell == b.cell &&
         std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), same_dims);
}

/// Whether the layers repeat those of a pass of `size` layers to their end.
bool repeats(std::span<const LayerUse> layers, std::size_t size) {
  return layers.size() % size == 0 &&
         std::equal(layers.begin(), layers.end() - std::ptrdiff_t(size),
                    layers.begin() + std::ptrdiff_t(size), alike);
}

/// Tables alone are looked up once more for each feature of an item; a model has other layers, too.
bool is_model(std::span<const LayerUse> pass) {
  return pass.front().embedding && std::any_of(pass.begin(), pass.end(), [](const LayerUse& layer) {
           return !layer.embedding;
         });
}

}  // namespace

std::size_t layers_before_repeats(std::span<const LayerUse> layers) {
  for (std::size_t first = 0; first < layers.size(); ++first) {
    if (!layers[first].embedding) continue;
    const auto rest = layers.subspan(first);
    for (std::size_t size = 2; 2 * size <= rest.size(); ++size) {
      if (!rest[size].embedding || !is_model(rest.first(size)) || !repeats(rest, size)) continue;
      return first + size;
    }
  }
  return layers.size();
}

namespace {

constexpr std::size_t most_layers = 64;  // of a step of time

/// The steps behind the first one of a loop that begins at `first`, or nothing.
std::span<const LayerUse> further_steps(std::span<const LayerUse> layers, std::size_t first) {
  for (std::size_t size = 1; size <= most_layers && first + 2 * size <= layers.size(); ++size) {
    const auto step = layers.subspan(first), behind = layers.subspan(first + size);
    const auto end = std::mismatch(behind.begin(), behind.end(), step.begin(), alike).first;
    const auto again = static_cast<std::size_t>(end - behind.begin());
    if (again >= size) return behind.first(again);
  }
  return {};
}

}  // namespace

std::vector<bool> repeated_steps(std::span<const LayerUse> layers) {
  std::vector<bool> out(layers.size(), false);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].cell || out[i]) continue;
    const auto steps = further_steps(layers, i);
    if (steps.empty()) continue;
    std::fill_n(out.begin() + (steps.data() - layers.data()), steps.size(), true);
  }
  return out;
}

}  // namespace tandem
