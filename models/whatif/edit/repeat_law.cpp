#include "models/whatif/edit/repeat_law.h"

#include "sim/core/fields/constants.h"

namespace tandem {

RepeatLaw load_repeat_law(const std::string& path) {
  using L = RepeatLaw;
  const std::vector<Field<L>> fields{
      field<L>("layer_forward", "ratio", "host time of a checkpointed layer over a launch call",
               &L::layer_forward),
      field<L>("layer_again", "ratio", "the same before it runs again", &L::layer_again),
      field<L>("saved_forward", "ratio", "the same of a tensor that it would save",
               &L::saved_forward),
      field<L>("saved_again", "ratio", "... when it runs again", &L::saved_again),
      field<L>("saved_backward", "ratio", "... when its gradient asks for it", &L::saved_backward),
      field<L>("bare", "ratio", "share of these that is Python alone", &L::bare),
      field<L>("between_runs", "ratio", "GPU time of one program in two runs", &L::between_runs),
      field<L>("of_sums", "ratio", "error of the time in which gradients are added", &L::of_sums)};
  return load_constants<L>(path, fields);
}

}  // namespace tandem
