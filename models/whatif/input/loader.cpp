#include "models/whatif/input/loader.h"

namespace tandem {

std::uint32_t reader_of(const Plan& plan) {
  std::uint32_t reader = 0;
  for (std::uint32_t i = 1; i < plan.items.size(); ++i) {
    const bool first = plan.items[reader].kind == ItemKind::step_begin;
    if (first || plan.items[i].input > plan.items[reader].input) reader = i;
  }
  for (std::uint32_t i = reader; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    if (item.thread == plan.items[reader].thread && item.after == no_index) return i;
  }
  return reader;
}

void drop_input_waits(Plan& plan) {
  for (HostItem& item : plan.items) {
    item.gap -= item.input;
    item.input = Duration::zero();
  }
}

void add_loader(Duration each, std::uint32_t reader, Plan& plan) {
  HostItem loads;
  loads.gap = each;
  loads.input = each;
  loads.thread = static_cast<std::uint16_t>(plan.threads.size());
  loads.first_work = plan.items[reader].first_work;
  plan.threads.push_back({"input", plan.threads.front().begin});
  for (HostItem& item : plan.items) {
    if (item.after != no_index && item.after >= reader) ++item.after;
  }
  for (DeviceWork& work : plan.works) {
    if (work.item != no_index && work.item >= reader) ++work.item;
  }
  plan.items.insert(plan.items.begin() + reader, loads);
  HostItem& waits = plan.items[reader + 1];
  waits.after = reader;
  waits.own_gap = true;
}

}  // namespace tandem
