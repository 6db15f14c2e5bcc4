#include "models/kernel/time/rates.h"

#include "sim/core/fields/field.h"

namespace tandem {

std::vector<Field<FloorAndShare>> floor_and_share_fields(const std::string& name,
                                                         const std::string& floor_doc,
                                                         const std::string& share_doc) {
  using R = FloorAndShare;
  return {field(name + "_floor_us", "us", floor_doc, &R::floor_us),
          field(name + "_dram_share", "ratio", share_doc, &R::dram_share)};
}

}  // namespace tandem
