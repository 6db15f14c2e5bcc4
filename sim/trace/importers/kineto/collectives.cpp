#include "sim/trace/importers/kineto/collectives.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/core/bounds/limits.h"
#include "sim/trace/importers/kineto/names.h"
#include "sim/trace/json/token.h"

namespace tandem::kineto {

namespace {

constexpr int most_ranks = 1 << 24;

/// The numbers of "[0, 1]"; none where the profiler left some out ("[0, 1, ..., 63]").
std::vector<int> numbers_of(std::string_view text) {
  std::vector<int> out;
  if (text.find("...") != std::string_view::npos) return out;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) out.push_back(number);
    at = error == std::errc() ? next : at + 1;
  }
  return out;
}

std::int64_t bytes_of(const OpTensors& tensors) {
  std::int64_t sum = 0;
  for (const TensorShape& t : tensors.shapes) {
    const std::int64_t elements = std::clamp<std::int64_t>(t.elements(), 0, limits::bytes / 16);
    sum = std::min(limits::bytes, sum + elements * element_bytes(t.type));
  }
  return sum;
}

}  // namespace

std::int64_t CollectiveReader::message(const TraceEvent& e, std::string_view elements) {
  if (elements.empty()) return 0;
  const std::int64_t count = build_.bytes(elements);
  const auto* const type = type_bytes.find(unquote(e.args[arg::message_type]));
  if (type != nullptr && count <= limits::bytes / type->value) return count * type->value;
  build_.lose("unknown_message_size", Severity::warning,
              "collectives of an unknown data type or an absurd size; taken as 0 bytes");
  return 0;
}

CollectiveId CollectiveReader::intern(std::string key, const Collective& collective) {
  const auto [it, fresh] =
      known_.try_emplace(std::move(key), CollectiveId(trace_.collectives.size()));
  if (fresh) {
    build_.check_room(trace_.collectives.size(), limits::collectives, "different collectives");
    trace_.collectives.push_back(collective);
  }
  return it->second;
}

CollectiveId CollectiveReader::read(const TraceEvent& e) {
  const std::string_view name = unquote(e.name);
  if (e.args[arg::collective].empty()) return {};
  Collective c;
  c.kind = parse_collective(unquote(e.args[arg::collective]));
  if (c.kind == CollectiveKind::unknown) c.kind = collective_of_kernel(name);
  c.in_bytes = message(e, e.args[arg::message_elements]);
  const std::string_view out = e.args[arg::out_elements];
  c.out_bytes = out == e.args[arg::message_elements] ? c.in_bytes : message(e, out);
  const std::int64_t ranks = build_.integer(e.args[arg::group_size], 0);
  c.ranks = ranks > 0 && ranks < most_ranks ? static_cast<int>(ranks) : 0;
  c.group = unquote(e.args[arg::group_name]);
  c.members = numbers_of(unquote(e.args[arg::group_ranks]));
  std::string key(to_string(c.kind));
  for (const arg::Slot slot : {arg::message_elements, arg::out_elements, arg::message_type,
                               arg::group_size, arg::group_name, arg::group_ranks}) {
    key.append("|").append(e.args[slot]);
  }
  return intern(std::move(key), c);
}

void CollectiveReader::note(std::string_view name, const Span& span, ThreadId thread,
                            OperandsId operands) {
  build_.check_room(notes_.size(), limits::rows, "annotations of collectives");
  notes_.push_back({thread, span.begin, span.begin + span.duration, parse_collective(name),
                    bytes_of(trace_.operands.get(operands).tensors)});
}

const CollectiveReader::Note* CollectiveReader::note_around(std::uint32_t call) const {
  const ThreadId thread = trace_.calls.thread[call];
  const TimePoint begin = trace_.calls.begin[call];
  auto after = std::upper_bound(
      notes_.begin(), notes_.end(), std::pair(thread, begin),
      [](const auto& at, const Note& note) { return at < std::pair(note.thread, note.begin); });
  if (after == notes_.begin()) return nullptr;
  const Note& note = *std::prev(after);
  return note.thread == thread && begin < note.end ? &note : nullptr;
}

/// Activities that are kernels of collectives without arguments.
std::vector<std::uint32_t> CollectiveReader::silent_kernels() const {
  std::vector<bool> named(trace_.strings.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    named[i] = trace_.strings.get(StringId{i}).starts_with("nccl");
  }
  const Activities& acts = trace_.activities;
  std::vector<std::uint32_t> out;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    const bool kernel = acts.kind[a] == ActivityKind::kernel && !acts.collective[a].valid();
    if (kernel && acts.name[a].valid() && named[acts.name[a].index()]) out.push_back(a);
  }
  return out;
}

void CollectiveReader::finish() {
  const std::vector<std::uint32_t> silent = silent_kernels();
  if (silent.empty()) return;
  std::sort(notes_.begin(), notes_.end(), [](const Note& a, const Note& b) {
    return std::pair(a.thread, a.begin) < std::pair(b.thread, b.begin);
  });
  std::unordered_map<std::int64_t, std::uint32_t> call_of;
  for (std::uint32_t c = 0; c < trace_.calls.size(); ++c) {
    call_of.emplace(trace_.calls.correlation[c], c);
  }
  std::int64_t unknown = 0;
  for (const std::uint32_t activity : silent) {
    const auto call = call_of.find(trace_.activities.correlation[activity]);
    const Note* const note = call == call_of.end() ? nullptr : note_around(call->second);
    Collective c;
    if (note != nullptr) c.kind = note->kind;
    if (c.kind == CollectiveKind::unknown) {
      c.kind = collective_of_kernel(text_of(trace_, trace_.activities.name[activity]));
    }
    if (note != nullptr) c.in_bytes = c.out_bytes = note->bytes;
    unknown += c.in_bytes == 0;
    trace_.activities.bytes[activity] = c.in_bytes;
    std::string key("note|");
    key.append(to_string(c.kind)).append("|").append(std::to_string(c.in_bytes));
    trace_.activities.collective[activity] = intern(std::move(key), c);
  }
  trace_.losses.add("collective_size_unknown", Severity::warning,
                    "collectives of which the trace does not say how much they move; they last as "
                    "long as they were measured",
                    unknown);
}

}  // namespace tandem::kineto
