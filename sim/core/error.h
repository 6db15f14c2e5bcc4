// What can go wrong with input, and what was lost on the way: errors and counted losses.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// The input cannot be used. Text: `file:place: found X, expected Y`. The command line exits
/// with 2.
class InputError : public std::runtime_error {
 public:
  InputError(std::string_view file, std::string_view place, std::string_view found,
             std::string_view expected);
  const std::string& found() const { return found_; }
  const std::string& expected() const { return expected_; }

 private:
  std::string found_, expected_;
};

/// How bad a counted loss is. `data_loss` makes the command line exit with 3 unless allowed.
/// Text from input for a terminal: control characters other than ends of lines become '?'.
std::string printable(std::string text);

enum class Severity : std::uint8_t { info, warning, data_loss };
std::string_view to_string(Severity s);

/// One kind of thing that was not read, not modelled or repaired, with how often it happened.
struct Loss {
  std::string code;  // stable, snake_case
  Severity severity = Severity::info;
  std::int64_t count = 0;
  std::string description;  // what happened and what was done about it; may name the first case
};

/// The losses of one run, in order of first appearance. Adding to a known code raises its count.
class LossList {
 public:
  void add(std::string_view code, Severity severity, std::string_view description,
           std::int64_t count = 1);
  void merge(const LossList& other);
  std::int64_t count(std::string_view code) const;
  bool any(Severity at_least) const;
  const std::vector<Loss>& all() const { return losses_; }

 private:
  std::vector<Loss> losses_;
};

}  // namespace tandem
