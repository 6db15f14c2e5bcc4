// Sequence alignment (Needleman-Wunsch) that takes memory for a few rows, not for the matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tandem {

struct AlignedPair {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  friend bool operator==(const AlignedPair&, const AlignedPair&) = default;
};

struct AlignmentCosts {
  double gap = 0.5;     // of a row or column that is passed over between two pairs
  double restart = 10;  // of going on at any other column, backward or forward
};

struct Alignment {
  double score = 0;
  std::vector<AlignedPair> pairs;  // increasing in rows, in columns between restarts
};

/// The pairs with the largest sum of score(row, column) less the costs. Rows and columns before the
/// first pair, behind the last one and around a restart cost nothing: the rows may be a part of the
/// columns, hold them several times, or hold other things as well.
/// Time rows * columns, twice; memory columns * sqrt(rows): every sqrt(rows)-th row of the matrix
/// is kept, and the way back recomputes the block of rows that it passes through.
template <class Score>
class Aligner {
 public:
  Aligner(std::size_t rows, std::size_t columns, const Score& score, AlignmentCosts costs)
      : rows_(rows),
        columns_(columns),
        score_(score),
        costs_(costs),
        stride_(static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(rows) + 1)))) {}

  Alignment run() {
    forward();
    Alignment out;
    Cell at = best_.back();
    out.score = at.score;
    moves_.resize(stride_ * (columns_ + 1));
    while (at.row > 0) {
      const std::size_t block = (at.row - 1) / stride_;
      recompute(block, at.row);
      trace_back(block * stride_, at, out.pairs);
    }
    std::reverse(out.pairs.begin(), out.pairs.end());
    return out;
  }

 private:
  static constexpr double impossible = -std::numeric_limits<double>::infinity();
  enum class Move : std::uint8_t { first_pair, pair, row_gap, column_gap };

  /// Where an alignment can end. Rows and columns count from 1; row 0: nowhere.
  struct Cell {
    double score = 0;
    std::size_t row = 0;
    std::size_t column = 0;
  };

  /// What a pair of row `row` can begin from: nothing, or the best alignment that ends above it.
  double start_score(std::size_t row) const {
    return std::max(0.0, best_[row - 1].score - costs_.restart);
  }

  /// Row `row` from the one above it, in place.
  template <class Record>
  void step(std::size_t row, std::vector<double>& line, Record record) const {
    const double start = start_score(row);
    double above_left = line[0];
    for (std::size_t c = 1; c <= columns_; ++c) {
      const double above = line[c];
      Move move = above_left >= start ? Move::pair : Move::first_pair;
      double best = std::max(above_left, start) + score_(row - 1, c - 1);
      if (line[c - 1] - costs_.gap > best) {
        best = line[c - 1] - costs_.gap;
        move = Move::column_gap;
      }
      if (above - costs_.gap > best) {
        best = above - costs_.gap;
        move = Move::row_gap;
      }
      record(c, move, best);
      line[c] = best;
      above_left = above;
    }
  }

  /// Keeps the rows above the blocks and the best end so far of every row.
  void forward() {
    std::vector<double> line(columns_ + 1, impossible);
    best_.assign(1, Cell{});
    for (std::size_t row = 1; row <= rows_; ++row) {
      if ((row - 1) % stride_ == 0) kept_.insert(kept_.end(), line.begin(), line.end());
      Cell best = best_.back();
      step(row, line, [&](std::size_t c, Move, double score) {
        if (score > best.score) best = {score, row, c};
      });
      best_.push_back(best);
    }
  }

  /// Moves of the rows of a block, down to `last`.
  void recompute(std::size_t block, std::size_t last) {
    const auto from = kept_.begin() + static_cast<std::ptrdiff_t>(block * (columns_ + 1));
    std::vector<double> line(from, from + static_cast<std::ptrdiff_t>(columns_ + 1));
    for (std::size_t row = block * stride_ + 1; row <= last; ++row) {
      Move* const moves = moves_.data() + (row - block * stride_ - 1) * (columns_ + 1);
      step(row, line, [&](std::size_t c, Move move, double) { moves[c] = move; });
    }
  }

  /// Follows the moves up to row `top`.
  void trace_back(std::size_t top, Cell& at, std::vector<AlignedPair>& pairs) const {
    while (at.row > top) {
      const Move move = moves_[(at.row - top - 1) * (columns_ + 1) + at.column];
      if (move == Move::pair || move == Move::first_pair) {
        pairs.push_back(
            {static_cast<std::uint32_t>(at.row - 1), static_cast<std::uint32_t>(at.column - 1)});
      }
      if (move == Move::first_pair) {
        at = start_score(at.row) > 0 ? best_[at.row - 1] : Cell{};
        continue;
      }
      if (move != Move::column_gap) --at.row;
      if (move != Move::row_gap) --at.column;
    }
  }

  std::size_t rows_;
  std::size_t columns_;
  const Score& score_;
  AlignmentCosts costs_;
  std::size_t stride_;
  std::vector<double> kept_;  // the row above each block
  std::vector<Move> moves_;   // of one block
  std::vector<Cell> best_;    // per row: the best end at or above it
};

template <class Score>
Alignment align(std::size_t rows, std::size_t columns, const Score& score, AlignmentCosts costs) {
  return Aligner<Score>(rows, columns, score, costs).run();
}

}  // namespace tandem
