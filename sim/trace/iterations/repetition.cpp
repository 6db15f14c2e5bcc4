#include "sim/trace/iterations/repetition.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tandem {

namespace {

/// Common share of two iterations that count as alike: some launch a few copies more.
constexpr double alike_share = 0.9;
/// Share of an iteration that a warm-up has in common with it: libraries try other kernels there.
constexpr double warm_up_share = 0.4;
/// An iteration has that many launches at least: a loop over one kernel has no step.
constexpr std::size_t fewest_launches = 3;
/// Counts of occurrence that are tried, most frequent first.
constexpr std::size_t tried_counts = 32;
/// Launches by which the beginning of a run is recognised in a later iteration.
constexpr std::size_t compared_launches = 8;
/// Marked ends that one iteration may hold: several optimizers, or several parts of a batch.
constexpr std::size_t most_ends = 4;

/// How often each token stands in a range; empty between uses.
class Bag {
 public:
  explicit Bag(const TokenSequence& sequence)
      : tokens_(sequence.token), counts_(sequence.essential.size(), 0) {}

  void fill(const TokenRange& range) {
    clear();
    range_ = range;
    for (std::size_t i = range.begin; i < range.end; ++i) ++counts_[tokens_[i]];
  }
  void clear() {
    for (std::size_t i = range_.begin; i < range_.end; ++i) counts_[tokens_[i]] = 0;
    range_ = {};
  }
  bool has(std::uint32_t token) const { return counts_[token] > 0; }
  /// Tokens of `range` that the bag holds too, each as often as there.
  std::size_t common(const TokenRange& range) {
    std::size_t found = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) found += counts_[tokens_[i]]-- > 0;
    for (std::size_t i = range.begin; i < range.end; ++i) ++counts_[tokens_[i]];
    return found;
  }
  std::size_t size() const { return range_.size(); }

 private:
  const std::vector<std::uint32_t>& tokens_;
  std::vector<std::int64_t> counts_;
  TokenRange range_;
};

double alike(Bag& reference, const TokenRange& range) {
  const std::size_t longer = std::max(reference.size(), range.size());
  if (longer == 0) return 0;
  return static_cast<double>(reference.common(range)) / static_cast<double>(longer);
}

/// The range of middle length, of two the shorter: a warm-up is the longer one.
TokenRange middle(std::span<const TokenRange> ranges) {
  std::vector<TokenRange> sorted(ranges.begin(), ranges.end());
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), at, sorted.end(), [](const TokenRange& a, const TokenRange& b) {
    return a.size() != b.size() ? a.size() < b.size() : a.begin < b.begin;
  });
  return *at;
}

bool is_step(const TokenSequence& sequence, const TokenRange& range) {
  if (range.size() < fewest_launches) return false;
  const auto first = sequence.token.begin() + static_cast<std::ptrdiff_t>(range.begin);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(range.size()),
                     [&](std::uint32_t t) { return t != *first; });
}

/// Whether `range` holds essential work that the reference has not.
bool has_other_work(const TokenSequence& sequence, const Bag& reference, const TokenRange& range) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const std::uint32_t t = sequence.token[i];
    if (sequence.essential[t] && !reference.has(t)) return true;
  }
  return false;
}

/// Whether `head`, which stands before the first iteration, is an iteration of other work.
bool is_warm_up(Bag& reference, const TokenRange& head) {
  if (2 * head.size() < reference.size()) return false;
  return static_cast<double>(reference.common(head)) >=
         warm_up_share * static_cast<double>(reference.size());
}

/// The ranges of `cut` that are alike; nothing if fewer than two thirds are, or than `least`.
std::vector<TokenRange> alike_ranges(Bag& reference, std::span<const TokenRange> cut,
                                     std::size_t least) {
  std::vector<TokenRange> out;
  for (const TokenRange& range : cut) {
    if (alike(reference, range) >= alike_share) out.push_back(range);
  }
  if (out.size() < least || 3 * out.size() < 2 * cut.size()) out.clear();
  return out;
}

/// Iterations that begin at or `shift` before the places of a token that each has once.
std::vector<TokenRange> ranges_of(const TokenSequence& sequence,
                                  const std::vector<std::size_t>& places) {
  const std::vector<std::uint32_t>& tokens = sequence.token;
  std::size_t least = tokens.size();
  std::vector<TokenRange> out;
  for (std::size_t i = 1; i < places.size(); ++i) {
    out.push_back({places[i - 1], places[i]});
    least = std::min(least, out.back().size());
  }
  const std::size_t most = std::min(places[0], least - 1);
  std::size_t shift = 0;
  while (shift < most && tokens[places[0] - shift - 1] == tokens[places[1] - shift - 1]) ++shift;
  for (TokenRange& range : out) range.begin -= shift, range.end -= shift;
  const std::size_t last = places.back() - shift;
  out.push_back({last, std::min(tokens.size(), last + middle(out).size())});
  return out;
}

/// Iterations around the places of one token, if they explain all work. `strict`: nothing essential
/// may be left over.
std::optional<Repetition> repetition_at(const TokenSequence& sequence, Bag& reference,
                                        const std::vector<std::size_t>& places, bool strict) {
  std::vector<TokenRange> cut = ranges_of(sequence, places);
  reference.fill(middle({cut.data(), cut.size() - 1}));
  if (alike(reference, cut.back()) < alike_share) cut.pop_back();  // the run ends within it
  Repetition out;
  out.iterations = alike_ranges(reference, cut, 2);
  if (out.iterations.empty() || !is_step(sequence, out.iterations.back())) return {};
  const TokenRange head{0, out.iterations.front().begin};
  out.other_first = is_warm_up(reference, head);
  if (!strict) return out;
  if (!out.other_first && has_other_work(sequence, reference, head)) return {};
  const TokenRange rest{head.end, sequence.token.size()};
  if (has_other_work(sequence, reference, rest)) return {};
  return out;
}

/// Places of tokens that stand equally often in the sequence; of each count the token that stands
/// first. By the share of the sequence that such tokens have, the largest first.
std::vector<std::vector<std::size_t>> anchors(const TokenSequence& sequence, std::size_t count) {
  const std::vector<std::uint32_t>& tokens = sequence.token;
  std::vector<std::size_t> counts(sequence.essential.size(), 0);
  for (const std::uint32_t t : tokens) ++counts[t];
  std::map<std::size_t, std::pair<std::size_t, std::uint32_t>> groups;  // share, first token
  for (const std::uint32_t t : tokens) {
    if (counts[t] < 2 || (count > 0 && counts[t] != count && counts[t] != count + 1)) continue;
    std::pair<std::size_t, std::uint32_t>& group =
        groups.try_emplace(counts[t], 0, t).first->second;
    ++group.first;
  }
  std::vector<std::pair<std::size_t, std::uint32_t>> sorted;
  for (const auto& [of_count, group] : groups) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (sorted.size() > tried_counts) sorted.resize(tried_counts);
  std::vector<std::vector<std::size_t>> out;
  for (const auto& [share, token] : sorted) {
    out.emplace_back();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == token) out.back().push_back(i);
    }
  }
  return out;
}

/// How much work of an iteration stands behind its marked end (an update of the loss scale): the
/// run begins with what follows that. 0 where the run begins elsewhere.
std::size_t work_behind_ends(const TokenSequence& sequence, std::span<const std::size_t> ends) {
  if (ends.size() < 2) return 0;
  const auto first = sequence.token.begin();
  const auto at = [&](std::size_t i) { return first + static_cast<std::ptrdiff_t>(i); };
  const std::size_t most = (ends[1] - ends[0]) / 10;
  for (std::size_t shift = 0; shift <= most; ++shift) {
    if (ends[0] < compared_launches || ends[0] + shift + compared_launches > ends[1]) break;
    if (std::equal(first, at(compared_launches), at(ends[0] + shift))) return shift;
  }
  return 0;
}

/// The ranges between every `each`-th of the ends, counted from the last one.
std::vector<TokenRange> between(std::span<const std::size_t> ends, std::size_t each) {
  std::vector<TokenRange> out;
  for (std::size_t i = (ends.size() - 1) % each; i < ends.size(); i += each) {
    const std::size_t begin = i < each ? 0 : ends[i - each];
    if (ends[i] > begin) out.push_back({begin, ends[i]});
  }
  return out;
}

}  // namespace

std::optional<Repetition> find_repetition(const TokenSequence& sequence, std::size_t count) {
  Bag reference(sequence);
  std::optional<Repetition> best;
  for (const std::vector<std::size_t>& places : anchors(sequence, count)) {
    auto found = repetition_at(sequence, reference, places, count == 0);
    if (!found || (count > 0 && found->iterations.size() != count)) continue;
    if (!best || found->iterations.size() > best->iterations.size()) best = std::move(found);
  }
  return best;
}

std::optional<Repetition> find_repetition(const TokenSequence& sequence,
                                          std::span<const std::size_t> marked) {
  Bag reference(sequence);
  const std::size_t shift = work_behind_ends(sequence, marked);
  std::vector<std::size_t> ends(marked.begin(), marked.end());
  for (std::size_t& end : ends) end = std::min(end + shift, sequence.token.size());
  for (std::size_t each = 1; each <= std::min(most_ends, ends.size()); ++each) {
    const std::vector<TokenRange> cut = between(ends, each);
    if (cut.size() < 2) continue;
    const std::span<const TokenRange> later(cut.data() + 1, cut.size() - 1);
    reference.fill(middle(later));
    Repetition out;
    out.iterations = alike_ranges(reference, later, 1);
    if (out.iterations.empty() || !is_step(sequence, out.iterations.back())) continue;
    if (4 * out.iterations.size() < 3 * later.size()) continue;  // two optimizers take turns
    if (alike(reference, cut.front()) >= alike_share) {
      out.iterations.insert(out.iterations.begin(), cut.front());
    } else {
      out.other_first = is_warm_up(reference, cut.front());
    }
    if (out.iterations.size() > 1 || out.other_first) return out;
  }
  return {};
}

}  // namespace tandem
