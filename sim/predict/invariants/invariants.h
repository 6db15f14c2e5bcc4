// What holds of the numbers of every result, whatever the input: one table, which results are held
// against where they arise and documents where they leave.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

/// What a number may be. Nothing may be infinite or NaN.
struct NumberRange {
  double least = 0;
  double most = std::numeric_limits<double>::max();
};

/// Of a number called `name`, in `unit`: a ratio or a share is 0 to 1 and nothing is negative but
/// for the names that the table lists.
NumberRange range_of(std::string_view name, std::string_view unit);

/// What is wrong with `value`, rounding aside: "is -1, not 0 to 1"; empty: nothing.
std::string out_of(const NumberRange& range, double value);

/// Two numbers of one object, by their names: `small` is at most `large`.
struct NumberOrder {
  std::string_view small, large;
};
std::span<const NumberOrder> number_orders();

/// `small` is not above `large`, rounding aside.
bool in_order(double small, double large);

/// Numbers of a document, by their paths with [] for every element of a list: `parts` sum to
/// `whole`, or to 1 where that is empty. "+" stands between paths whose numbers are added.
struct NumberSum {
  std::string_view parts, whole;
  bool all = true;  // else the sum is at most the whole: what a list leaves out is not there
};
std::span<const NumberSum> number_sums();

}  // namespace tandem
