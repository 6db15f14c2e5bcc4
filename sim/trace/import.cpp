#include "sim/trace/import.h"

#include <array>
#include <string>

#include "sim/trace/importers/importers.h"

namespace tandem {

namespace {

struct Importer {
  std::string_view name;
  bool (*recognise)(std::string_view prefix);
  void (*import)(JsonWindow& content, Trace& trace);
};

// One row a format; the first that recognises the content reads it.
constexpr std::array importers{
    Importer{"xprof", is_xprof, import_xprof},
    Importer{"kineto", is_kineto, import_kineto},
};

std::string printable(std::string_view text) {
  std::string out = "`";
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : '.';
  return out += '`';
}

const Importer& recognise(const JsonWindow& content) {
  for (const Importer& importer : importers) {
    if (importer.recognise(content.view())) return importer;
  }
  constexpr std::size_t shown = 40;
  const std::string_view start = content.view().substr(0, shown);
  throw InputError(content.path(), "byte 0", start.empty() ? "no content" : printable(start),
                   "a PyTorch (Kineto) or TensorFlow / JAX (XProf) trace in JSON");
}

bool is_empty(const Trace& t) {
  return t.ops.size() + t.calls.size() + t.activities.size() + t.syncs.size() +
             t.annotations.size() + t.overheads.size() ==
         0;
}

}  // namespace

Trace import_trace(const std::string& path, const ImportOptions& options) {
  Trace trace;
  trace.path = path;
  ByteSource source(path);
  JsonWindow content(source, options.progress);
  content.fill();
  const Importer& importer = recognise(content);
  trace.format = importer.name;
  importer.import(content, trace);
  trace.file_bytes = source.file_bytes();
  trace.json_bytes = source.bytes_read();
  if (is_empty(trace)) {
    throw InputError(path, "", "no event that can be used",
                     "at least one operation, call or device activity");
  }
  if (options.progress) options.progress(source.file_bytes(), source.file_bytes());
  return trace;
}

}  // namespace tandem
