#include "sim/trace/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/bounds/trace_size.h"
#include "sim/trace/importers/importers.h"
#include "sim/trace/traced_devices.h"

namespace tandem {

namespace {

struct Importer {
  std::string_view name;
  std::string_view what;  // for the error about content that none recognises
  bool (*recognise)(std::string_view prefix);
  Trace (*read)(ByteSource& source, std::size_t most_rows);
};

// One row a format; the first that recognises the content reads it.
constexpr std::array importers{
    Importer{"nsys", "what nsys export --type sqlite writes", is_nsys, read_nsys},
    Importer{"xprof", "a TensorFlow / JAX (XProf) trace in JSON", is_xprof, read_xprof},
    Importer{"kineto", "a PyTorch (Kineto) trace in JSON", is_kineto, read_kineto},
};

std::string printable(std::string_view text) {
  std::string out = "`";
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : '.';
  return out += '`';
}

/// "one of: ", and what each importer reads.
std::string what_is_read() {
  std::string text = "one of: ";
  for (const Importer& importer : importers) {
    if (&importer != &importers.front()) text += ", ";
    text += importer.what;
  }
  return text;
}

const Importer& recognise(ByteSource& source) {
  for (const Importer& importer : importers) {
    if (importer.recognise(source.prefix())) return importer;
  }
  constexpr std::size_t shown = 40;
  const std::string_view start = source.prefix().substr(0, shown);
  throw InputError(source.path(), "byte 0", start.empty() ? "no content" : printable(start),
                   what_is_read());
}

/// Why events were left out, the most frequent reasons first.
std::string reasons(const LossList& losses) {
  constexpr std::size_t shown = 3;
  std::vector<Loss> all(losses.all());
  if (losses.any(Severity::data_loss)) {  // what nobody reads anyway is then no reason
    std::erase_if(all, [](const Loss& loss) { return loss.severity != Severity::data_loss; });
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Loss& a, const Loss& b) { return a.count > b.count; });
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, all.size()); ++i) {
    text += fmt::format("{} {} ({} x): {}", i == 0 ? ":" : ";", all[i].code, all[i].count,
                        all[i].description);
  }
  return text;
}

bool is_empty(const Trace& t) {
  return t.ops.size() + t.calls.size() + t.activities.size() + t.syncs.size() +
             t.annotations.size() + t.overheads.size() ==
         0;
}

}  // namespace

Trace import_trace(const std::string& path, const ImportOptions& options) {
  ByteSource source(path, options.progress);
  const Importer& importer = recognise(source);
  Trace trace = importer.read(source, limits::rows);
  trace.path = path;
  if (trace.format.empty()) trace.format = importer.name;
  trace.file_bytes = source.file_bytes();
  trace.json_bytes = source.bytes_read();
  if (is_empty(trace)) {
    throw InputError(path, "", "no event that can be used" + reasons(trace.losses),
                     "at least one operation, call or device activity");
  }
  order_devices(trace);
  if (options.progress) options.progress(source.file_bytes(), source.file_bytes());
  return trace;
}

}  // namespace tandem
