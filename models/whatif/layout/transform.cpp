#include "models/whatif/layout/transform.h"

namespace tandem {

namespace {

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& /*out*/) {
  throw InputError(std::string(in.traced.path), "--layout", "a trace",
                   "a network (tandem run NETWORK), whose kernels are not chosen yet");
}

}  // namespace

Transform layout_transform() {
  return {.name = "layout",
          .json = "layout",
          .doc =
              "another order of images in memory, of networks only: convolutions lose their layout "
              "transforms, norms and pooling take kernels of that order",
          .options = {{.name = "layout",
                       .doc = "run a network with model and images in this order",
                       .names = {channels_last_layout}}},
          .apply = apply};
}

}  // namespace tandem
