// Sides of a comparison, written in microseconds.
#pragma once

#include <string>

#include "sim/diff/side.h"

namespace tandem::test {

class SideMaker {
 public:
  explicit SideMaker(double step_us, double device_us = 0) {
    side.path = "made";
    side.step = from_us(step_us);
    side.device = from_us(device_us);
  }
  SideMaker& part(PathKind kind, const std::string& op, const std::string& layer,
                  const std::string& name, std::int64_t count, double us) {
    side.parts.push_back({kind, op, layer, name, count, from_us(us)});
    return *this;
  }
  /// A kernel of the whole step, whether or not it stands on the path.
  SideMaker& kernel(const std::string& name, const std::string& op, const std::string& layer,
                    std::int64_t count, double us) {
    side.kernels.push_back({name, count, from_us(us), op, layer});
    side.ops.push_back({op, count, from_us(us), {}, {}});
    side.layers.push_back({layer, count, from_us(us), {}, {}});
    return *this;
  }
  DiffSide side;
};

}  // namespace tandem::test
