#include "models/whatif/ranks/shared_host.h"

#include <cmath>

namespace tandem {

void share_host(int from, int to, double exponent, Plan& plan) {
  const double factor = std::pow(static_cast<double>(to) / from, exponent);
  for (HostItem& item : plan.items) {
    if (item.after == no_index) item.gap = item.input + scale(item.gap - item.input, factor);
    item.call = scale(item.call, factor);
    item.submit = scale(item.submit, factor);
  }
}

}  // namespace tandem
