// Imports one trace and prints speed and peak memory against its bound, or writes a large trace:
//   import_once FILE              one line "key=value ..."; exit 1 if the bound is broken
//   import_once --write EVENTS FILE|-   repeats the events of a measured trace (a synthetic one, if
//                                       there is none); -: to standard output
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "bench/host/large_trace.h"
#include "sim/trace/import.h"

namespace {

constexpr double mebi = 1024.0 * 1024.0;

int write(const std::string& events, const std::string& path) {
  const std::string source = tandem::bench::measured_trace();
  const tandem::bench::RepeatedTrace trace(source.empty() ? tandem::bench::synthetic_content()
                                                          : tandem::bench::read_content(source));
  std::FILE* const out = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (out == nullptr) throw std::runtime_error("cannot write " + path);
  const auto size = trace.write(std::stoll(events), out);
  std::cerr << "events=" << size.events << " bytes=" << size.bytes << '\n';
  return std::fclose(out) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int import(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  const tandem::Trace trace = tandem::import_trace(path);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double trace_mib = static_cast<double>(tandem::memory_bytes(trace)) / mebi;
  const double peak_mib = static_cast<double>(usage.ru_maxrss) / 1024.0;
  const double bound_mib = 1.2 * trace_mib + 64.0;
  const double json_mb = static_cast<double>(trace.json_bytes) / 1e6;
  std::cout << "json_mb=" << json_mb << " seconds=" << time.count()
            << " mb_per_s=" << json_mb / time.count() << " trace_mib=" << trace_mib
            << " peak_rss_mib=" << peak_mib << " bound_mib=" << bound_mib << '\n';
  return peak_mib <= bound_mib ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count == 2) return import(arguments[1]);
  if (count == 4 && std::string(arguments[1]) == "--write")
    return write(arguments[2], arguments[3]);
  std::cerr << "usage: import_once FILE | import_once --write EVENTS FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
