#include "sim/sweep/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "sim/core/fields/field.h"
#include "sim/core/files/input_file.h"

namespace tandem {

namespace {

Json values_json(const PointResult& result) {
  Json values = Json::object();
  const auto metrics = sweep_metrics();
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const double v = result.values[i];
    values[std::string(metrics[i].name)] = std::isnan(v) ? Json(nullptr) : Json(v);
  }
  return values;
}

/// Nothing unless exactly the metrics of this version are there.
std::optional<PointResult> read_values(const Json& values) {
  PointResult result;
  const auto metrics = sweep_metrics();
  if (!values.is_object() || values.size() != metrics.size()) return {};
  for (const SweepMetric& m : metrics) {
    const auto found = values.find(std::string(m.name));
    if (found == values.end() || (!found->is_number() && !found->is_null())) return {};
    result.values.push_back(found->is_null() ? std::numeric_limits<double>::quiet_NaN()
                                             : found->get<double>());
  }
  return result;
}

std::optional<PointResult> read_result(const Json& line) {
  const auto error = line.find("error");
  if (error != line.end() && error->is_string() && !error->get_ref<const std::string&>().empty()) {
    return PointResult{{}, error->get<std::string>()};
  }
  const auto values = line.find("values");
  return values == line.end() ? std::nullopt : read_values(*values);
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

bool is_text(const Json& line, const char* key) {
  return line.contains(key) && line[key].is_string();
}

// A line is the text of its object with the hash of that text as first member.
constexpr std::string_view before_hash = R"({"hash":")", behind_hash = "\",";
constexpr std::size_t hash_digits = 16;
constexpr std::size_t hashed_begin = before_hash.size() + hash_digits + behind_hash.size();

std::string hash_of(std::string_view object) {
  ContentHash hash;
  hash.add(object);
  return hash_text(hash.value());
}

/// `object`: "{...}" with at least one member.
std::string with_hash(std::string_view object) {
  return fmt::format("{}{}{}{}", before_hash, hash_of(object), behind_hash, object.substr(1));
}

/// The object that with_hash() was given. Errors: InputError for a line that it did not make.
std::string without_hash(std::string_view line, const Place& place) {
  const bool has = line.starts_with(before_hash) && line.size() > hashed_begin &&
                   line.substr(hashed_begin - behind_hash.size()).starts_with(behind_hash);
  if (!has) {
    place.fail("a line without its hash",
               "a line as a sweep writes it; --fresh runs all points again");
  }
  const std::string_view stated = line.substr(before_hash.size(), hash_digits);
  std::string object = "{" + std::string(line.substr(hashed_begin));
  const std::string found = hash_of(object);
  if (found == stated) return object;
  place.fail("content of hash " + found + ", so it was changed",
             fmt::format("hash \"{}\", as the line states; --fresh runs all points again", stated));
}

}  // namespace

void ContentHash::add(std::string_view bytes) {
  for (const char c : bytes) {
    hash_ ^= static_cast<unsigned char>(c);
    hash_ *= 1099511628211ull;
  }
  // The length closes the text, so that "ab" + "c" differs from "a" + "bc".
  for (std::size_t n = bytes.size(); n > 0; n >>= 8) {
    hash_ ^= n & 0xff;
    hash_ *= 1099511628211ull;
  }
}

void ContentHash::add_file(const std::string& path, std::string_view name) {
  InputFile in(path, "a file that can be read again");
  add(name);
  std::vector<char> piece(1 << 20);
  std::size_t read = 0;
  do {
    read = in.read(piece);
    add({piece.data(), read});
  } while (read == piece.size());
}

PointStore::PointStore(std::string path, std::uint64_t inputs, bool fresh)
    : path_(std::move(path)), inputs_(inputs) {
  try {
    open_alone(fresh);
    std::ifstream in(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in || text.size() != std::filesystem::file_size(path_)) {
      throw InputError(path_, "", "a file of which only a part can be read", "a file of points");
    }
    read_lines(text);
    // What a killed run left half written must not swallow the next line.
    cut_to(text.rfind('\n') + 1);
  } catch (...) {
    if (file_ >= 0) close(file_);
    throw;
  }
}

PointStore::~PointStore() { close(file_); }

void PointStore::open_alone(bool fresh) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InputError(path_, "", "a folder or a device", "a file of points");
  }
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw InputError(path_, "", std::strerror(errno), "a file that can be written");
  // A file system without locks cannot tell; whoever is killed holds nothing any more.
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw InputError(path_, "", "another sweep that writes to it", "its end, or another --out");
  }
  if (fresh && ftruncate(file_, 0) != 0) {
    throw InputError(path_, "", std::strerror(errno), "a file that can be emptied");
  }
}

void PointStore::read_lines(std::string_view text) {
  const std::string inputs = hash_text(inputs_);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;
    const Place place{path_, fmt::format("line {}", number)};
    const Json line = Json::parse(without_hash(text.substr(0, end), place), nullptr, false);
    text.remove_prefix(end + 1);
    if (!line.is_object() || !is_text(line, "inputs") || !is_text(line, "point")) continue;
    if (line["inputs"].get_ref<const std::string&>() != inputs) continue;
    if (auto result = read_result(line)) {
      found_.insert_or_assign(line["point"].get<std::string>(), std::move(*result));
    }
  }
}

const PointResult* PointStore::find(const Point& point) const {
  const auto found = found_.find(to_text(point));
  return found == found_.end() ? nullptr : &found->second;
}

std::string point_line(std::uint64_t inputs, const Point& point, const PointResult& result) {
  Json line = {{"inputs", hash_text(inputs)}, {"point", to_text(point)}};
  if (result.failed()) {
    line["error"] = result.error;
  } else {
    line["values"] = values_json(result);
  }
  return with_hash(line.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string PointStore::line(const Point& point, const PointResult& result) const {
  return point_line(inputs_, point, result);
}

void PointStore::append(std::string_view line) {
  const std::lock_guard lock(mutex_);
  const off_t before = lseek(file_, 0, SEEK_END);
  try {
    write(line);
  } catch (const InputError&) {
    // Another thread may still find room for its point, behind whole lines only.
    cut_to(static_cast<std::size_t>(before));
    throw;
  }
}

void PointStore::cut_to(std::size_t bytes) {
  if (ftruncate(file_, static_cast<off_t>(bytes)) == 0) return;
  throw InputError(path_, "", std::strerror(errno), "a file that can be cut");
}

void PointStore::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file_, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw InputError(path_, "", std::strerror(errno), "room to write");
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace tandem
