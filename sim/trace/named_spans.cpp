#include "sim/trace/named_spans.h"

#include <algorithm>

#include "sim/trace/importers/step_marks.h"

namespace tandem {

std::vector<HostSpan> spans_named(const Trace& trace,
                                  const std::function<bool(std::string_view)>& wanted) {
  std::vector<bool> picked(trace.strings.size());
  for (std::size_t i = 0; i < picked.size(); ++i)
    picked[i] = wanted(trace.strings.get(StringId{i}));
  std::vector<HostSpan> spans;
  const auto add = [&](const auto& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows.name[i].valid() || !picked[rows.name[i].index()]) continue;
      spans.push_back({rows.begin[i], rows.begin[i] + rows.duration[i]});
    }
  };
  add(trace.annotations);
  if (spans.empty()) add(trace.ops);  // before 2022 annotations were operations
  std::stable_sort(spans.begin(), spans.end(), [](const HostSpan& a, const HostSpan& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<HostSpan> outer;
  for (const HostSpan& span : spans) {
    if (outer.empty() || span.begin >= outer.back().end) outer.push_back(span);
  }
  return outer;
}

std::vector<HostSpan> optimizer_spans(const Trace& trace) {
  return spans_named(trace, [](std::string_view text) { return text.starts_with(optimizer_mark); });
}

}  // namespace tandem
