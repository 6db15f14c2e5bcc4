#include "sim/sweep/ranks/share.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <vector>

#include "sim/sweep/ranks/messages.h"
#include "sim/sweep/ranks/workers.h"

namespace tandem {

namespace {

using Clock = std::chrono::steady_clock;

// MPI has no way to wait that leaves the core to others, so we look now and then; ranks have a
// point in hand meanwhile.
constexpr auto look_interval = std::chrono::microseconds(200);

/// One that runs and one that waits, a thread.
constexpr int points_a_thread = 2;

/// What a rank has been given and not brought back, in this order.
struct Hand {
  int threads = 0;  // 0: takes no part (yet)
  std::deque<std::size_t> points;
  Clock::time_point heard{};
};

/// Rank 0 at work. Only the thread that calls run() touches anything here.
class Desk {
 public:
  Desk(Ranks& ranks, std::span<const std::size_t> open, const TakeOutcome& take,
       const ShareOptions& options)
      : ranks_(ranks),
        take_(take),
        options_(options),
        open_(open.begin(), open.end()),
        left_(open.size()),
        hands_(static_cast<std::size_t>(ranks.size())) {}

  void run(Workers& own) {
    hands_[0].threads = options_.threads;
    give_all(own);
    while (left_ > 0) {
      bool heard = false;
      while (const auto message = ranks_.receive()) {
        hear(*message, own);
        heard = true;
      }
      while (auto finished = own.take()) {
        settle(0, finished->point, std::move(finished->outcome));
        give(0, own);
        heard = true;
      }
      look_for_lost(own);
      if (!heard) std::this_thread::sleep_for(look_interval);
    }
  }

 private:
  void hear(const RankMessage& message, Workers& own) {
    Hand& hand = hands_[static_cast<std::size_t>(message.from)];
    hand.heard = Clock::now();
    Letter letter = letter_of(message.bytes);
    switch (letter.told) {
      case Told::hello: welcome(message.from, letter); break;
      case Told::refused:
        note(fmt::format("rank {} takes no part: {}", message.from, letter.rest));
        break;
      case Told::done: settle(message.from, letter.number, outcome_of(letter.rest)); break;
      case Told::beat: ranks_.send(message.from, bytes_of({Told::beat})); break;
      case Told::point:
      case Told::stop: break;
    }
    give(message.from, own);
  }

  void welcome(int rank, const Letter& hello) {
    if (hello.number == options_.inputs) {
      hands_[static_cast<std::size_t>(rank)].threads = std::stoi(hello.rest);
      return;
    }
    note(fmt::format("rank {} takes no part: its program, trace or configs are others", rank));
    ranks_.send(rank, bytes_of({Told::stop}));
  }

  /// A lost rank that was only slow brings what has failed already, or is run elsewhere.
  void settle(int rank, std::size_t point, Outcome outcome) {
    auto& points = hands_[static_cast<std::size_t>(rank)].points;
    const auto held = std::find(points.begin(), points.end(), point);
    if (held == points.end()) return;
    points.erase(held);
    --left_;
    take_(point, std::move(outcome));
  }

  void give(int rank, Workers& own) {
    Hand& hand = hands_[static_cast<std::size_t>(rank)];
    const auto room = static_cast<std::size_t>(hand.threads * points_a_thread);
    while (hand.points.size() < room && !open_.empty()) {
      const std::size_t point = open_.front();
      open_.pop_front();
      hand.points.push_back(point);
      if (rank == 0) {
        own.give(point);
      } else {
        ranks_.send(rank, bytes_of({Told::point, point}));
      }
    }
  }

  void give_all(Workers& own) {
    for (int rank = 0; rank < ranks_.size(); ++rank) give(rank, own);
  }

  void look_for_lost(Workers& own) {
    const auto now = Clock::now();
    if (now - looked_ < options_.silence / 10) return;
    looked_ = now;
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      Hand& hand = hands_[static_cast<std::size_t>(rank)];
      if (hand.threads == 0 || now - hand.heard < options_.silence) continue;
      lose(rank, hand);
      give_all(own);
    }
  }

  /// Its threads ran the first points of its hand; nobody has begun the others.
  void lose(int rank, Hand& hand) {
    ranks_.give_up(rank);
    note(fmt::format("rank {} is lost; a rerun fills its points", rank));
    const auto began = std::min(static_cast<std::size_t>(hand.threads), hand.points.size());
    const std::vector<std::size_t> failed(hand.points.begin(), hand.points.begin() + began);
    open_.insert(open_.begin(), hand.points.begin() + began, hand.points.end());
    hand.points.resize(began);
    hand.threads = 0;
    for (const std::size_t point : failed) {
      settle(rank, point, {{{}, "lost with its rank; run the sweep again"}, false});
    }
  }

  void note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  Ranks& ranks_;
  const TakeOutcome& take_;
  const ShareOptions& options_;
  std::deque<std::size_t> open_;
  std::size_t left_;  // points without an outcome
  std::vector<Hand> hands_;
  Clock::time_point looked_ = Clock::now();
};

}  // namespace

ShareOptions share_options(const RunOptions& options) {
  ShareOptions share;
  share.threads = threads_of_rank(options.threads, options.ranks->neighbours());
  share.inputs = options.inputs;
  share.note = options.note;
  return share;
}

void share_points(Ranks& ranks, std::span<const std::size_t> open, const RunPoint& run,
                  const TakeOutcome& take, const ShareOptions& options) {
  Workers own(options.threads, run);
  Desk(ranks, open, take, options).run(own);
}

void run_shared_points(Ranks& ranks, const RunPoint& run, const ShareOptions& options) {
  Workers own(options.threads, run);
  ranks.send(0, bytes_of({Told::hello, options.inputs, std::to_string(options.threads)}));
  auto told = Clock::now();
  std::optional<Clock::time_point> heard;  // rank 0 may still be reading the trace
  const auto patience = 6 * options.silence;
  while (!heard || Clock::now() - *heard < patience) {
    bool busy = false;
    while (const auto message = ranks.receive()) {
      const Letter letter = letter_of(message->bytes);
      if (letter.told == Told::stop) {
        if (letter.number != 0) ranks.give_up(static_cast<int>(letter.number));
        return;
      }
      if (letter.told == Told::point) own.give(letter.number);
      heard = Clock::now();
      busy = true;
    }
    while (const auto finished = own.take()) {
      ranks.send(0, bytes_of({Told::done, finished->point, outcome_bytes(finished->outcome)}));
      told = Clock::now();
      busy = true;
    }
    if (Clock::now() - told > options.silence / 10) {
      ranks.send(0, bytes_of({Told::beat}));
      told = Clock::now();
    }
    if (!busy) std::this_thread::sleep_for(look_interval);
  }
  ranks.give_up(0);
}

void refuse(Ranks& ranks, const std::string& why) {
  // A message has to be shorter than a page.
  ranks.send(0, bytes_of({Told::refused, 0, why.substr(0, 1000)}));
}

void stop_ranks(Ranks& ranks) {
  const auto lost = static_cast<std::uint64_t>(ranks.lost().value_or(0));  // rank 0 is here
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, bytes_of({Told::stop, lost}));
}

}  // namespace tandem
