#include "models/step/memory/frames.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "models/step/memory/stated_lives.h"

namespace tandem {

namespace {

/// A product with weights: its kind and the size of its window.
struct Product {
  std::uint32_t op = 0;
  OpKind kind = OpKind::other;
  std::int64_t window = 0;
  /// Layers of one build are equal.
  bool operator==(const Product& other) const {
    return kind == other.kind && window == other.window;
  }
  bool operator<(const Product& other) const {
    return kind != other.kind ? kind < other.kind : window < other.window;
  }
};

/// The operations from after one join of two paths up to the next.
struct Branch {
  std::uint32_t first = 0, join = 0;
  std::vector<Product> products;
  std::size_t own = 0;     // the first of its products that belongs to its last block
  bool added = false;      // false: joined side by side
  bool known = true;       // where its last block begins
  bool on_skip = false;    // its last product lies on the skip
  std::int64_t width = 0;  // elements of what it makes
  std::size_t around = 0;  // the first of its products that the join's older operand goes around
};

std::int64_t window_of(const Step& step, const FlowOp& op) {
  if (op.kind != OpKind::convolution) return 1;
  const std::uint8_t weight = op.row->arguments.at(ArgumentName::weight);
  const TensorShape* const shape = operands_of(step.trace, op.op).tensors.at(weight);
  std::int64_t window = 1;
  for (std::size_t d = 2; shape != nullptr && d < shape->rank; ++d) window *= shape->dims[d];
  return window;
}

bool normalizes(OpKind kind) {
  return kind == OpKind::batch_norm || kind == OpKind::row_norm || kind == OpKind::reduction;
}

/// More than elements one by one, or their sums.
bool runs_layer(OpKind kind) {
  return is_core(kind) || kind == OpKind::batch_norm || kind == OpKind::pooling;
}

/// Finds the branches of a pass.
class Branches {
 public:
  Branches(const Step& step, const Dataflow& flow) : step_(step), flow_(flow) {
    for (const FlowOp& op : flow.ops) layers_.push_back(layers_.back() + runs_layer(op.kind));
    find();
  }
  std::vector<Branch> take() { return std::move(branches_); }

 private:
  /// Whether one of the operands was there before a layer of another one's path ran.
  bool joins(std::uint32_t i) const {
    const FlowOp& op = flow_.ops[i];
    const bool adds = op.row->is(adds_gradients) && op.input_count == 2;
    if (!adds && !concatenates(op)) return false;
    const std::int64_t width = flow_.tensors[flow_.outputs_of(op)[0]].elements;
    std::uint32_t oldest = i, made = 0;
    bool moved = false;  // one that others read, too, and whose maker only moved it
    for (const FlowUse& use : flow_.inputs_of(op)) {
      const FlowTensor& t = flow_.tensors[use.tensor];
      if (t.producer == no_row || (adds && t.elements != width)) continue;
      oldest = std::min(oldest, t.producer), ++made;
      moved |= t.consumers > 1 && flow_.ops[t.producer].kind == OpKind::cast;
    }
    if (made < 2) return false;
    return (adds && moved) || layers_[i] > layers_[oldest + 1];
  }

  void find() {
    Branch now;
    for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
      const FlowOp& op = flow_.ops[i];
      if (op.phase != FlowPhase::forward || !op.in_model) continue;
      if (is_core(op.kind)) now.products.push_back({i, op.kind, window_of(step_, op)});
      const auto outputs = flow_.outputs_of(op);
      if (outputs.size() != 1 || !joins(i)) continue;
      now.width = flow_.tensors[outputs[0]].elements;
      now.added = op.row->is(adds_gradients);
      now.join = i;
      now.around = around(now);
      branches_.push_back(std::exchange(now, Branch{i + 1, 0, {}}));
    }
  }

  std::size_t around(const Branch& branch) const {
    std::uint32_t oldest = branch.join;
    for (const FlowUse& use : flow_.inputs_of(flow_.ops[branch.join])) {
      const FlowTensor& t = flow_.tensors[use.tensor];
      if (t.producer != no_row && t.elements == branch.width) oldest = std::min(oldest, t.producer);
    }
    std::size_t k = 0;
    while (k < branch.products.size() && branch.products[k].op <= oldest) ++k;
    return k;
  }

  const Step& step_;
  const Dataflow& flow_;
  std::vector<std::uint32_t> layers_{0};  // that run before each operation
  std::vector<Branch> branches_;
};

/// Whether `products` hold those of `block` from `at` on.
bool matches(const std::vector<Product>& products, std::size_t at,
             const std::vector<Product>& block) {
  return at + block.size() <= products.size() &&
         std::equal(block.begin(), block.end(), products.begin() + std::ptrdiff_t(at));
}

using Block = std::vector<Product>;

/// A block is what lies between two skips of one width, or what the only skip of a width goes
/// around; one of each build, the longest first.
std::vector<Block> blocks_of(const std::vector<Branch>& branches) {
  constexpr std::size_t least = 2;  // products of a block that no other skip tells of
  std::vector<Block> out;
  for (std::size_t k = 0; k < branches.size(); ++k) {
    const Branch& now = branches[k];
    if (!now.added || now.products.empty()) continue;
    const bool again = k > 0 && branches[k - 1].added && branches[k - 1].width == now.width;
    const std::size_t first = again ? 0 : now.around;
    if (!again && (first == 0 || first + least > now.products.size())) continue;
    out.emplace_back(now.products.begin() + std::ptrdiff_t(first), now.products.end());
  }
  std::sort(out.begin(), out.end(), [](const Block& a, const Block& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Where the last block of a branch begins that holds more: at the products of another block, up
/// to one more that the skip takes.
void find_own(Branch& branch, bool first, const std::vector<Block>& blocks) {
  constexpr std::size_t on_skip = 1;
  for (const Block& block : blocks) {
    const std::size_t size = block.size(), all = branch.products.size();
    for (std::size_t after = 0; after <= on_skip && size + after <= all; ++after) {
      if (!matches(branch.products, all - after - size, block)) continue;
      branch.own = all - after - size, branch.on_skip = after > 0;
      return;
    }
  }
  branch.known = !first;
}

std::optional<std::uint32_t> largest_input(const Dataflow& flow, const FlowOp& op) {
  std::optional<std::uint32_t> out;
  for (const FlowUse& use : flow.inputs_of(op)) {
    const FlowTensor& t = flow.tensors[use.tensor];
    if (t.producer == no_row || contains(op.row->arguments.parameters, use.argument)) continue;
    if (!out || t.elements > flow.tensors[*out].elements) out = use.tensor;
  }
  return out;
}

/// What the operation reads, before it was converted or put into another order.
std::optional<std::uint32_t> given_to(const Dataflow& flow, const FlowOp& op) {
  std::optional<std::uint32_t> out = largest_input(flow, op);
  while (out && flow.ops[flow.tensors[*out].producer].kind == OpKind::cast) {
    const auto before = largest_input(flow, flow.ops[flow.tensors[*out].producer]);
    if (!before || *before >= *out) break;
    out = before;
  }
  return out;
}

std::optional<std::uint32_t> result_of(const Dataflow& flow, std::uint32_t op) {
  const auto out = flow.outputs_of(flow.ops[op]);
  return out.empty() ? std::nullopt : std::optional(out[0]);
}

std::optional<std::uint32_t> first_norm(const Dataflow& flow, std::uint32_t from,
                                        std::uint32_t to) {
  for (std::uint32_t i = from; i < to; ++i) {
    if (normalizes(flow.ops[i].kind)) return i;
  }
  return {};
}

/// Whether norms end blocks (as in the first transformers), and do not begin them: then the first
/// block has none before its products, or one whose result is dropped from, that of embeddings.
bool ends_with_norm(const Step& step, const Dataflow& flow, const std::vector<Branch>& branches) {
  if (branches.size() < 2 || !branches[0].known || branches[0].products.empty()) return false;
  if (branches[1].products.empty()) return false;
  const auto later = first_norm(flow, branches[1].first, branches[1].products[0].op);
  if (!later || flow.ops[*later].kind == OpKind::batch_norm) return false;
  const Branch& first = branches[0];
  const std::uint32_t product = first.products[first.own].op;
  const std::uint32_t from = first.own == 0 ? first.first : first.products[first.own - 1].op;
  const auto norm = first_norm(flow, from, product);
  if (!norm) return true;
  const HostOps& ops = step.trace.ops;
  const TimePoint begin = ops.begin[flow.ops[*norm].op];
  const TimePoint end = ops.begin[flow.ops[product].op];
  for (std::uint32_t row = 0; row < ops.size(); ++row) {
    if (ops.begin[row] <= begin || ops.begin[row] >= end) continue;
    if (op_row(text_of(step.trace, ops.name[row])).kind == OpKind::dropout) return true;
  }
  return false;
}

/// 0 where no operation is one.
std::uint32_t last_layer(const Dataflow& flow) {
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (is_core(flow.ops[i].kind)) last = i;
  }
  return last;
}

/// What the frames of one pass hold.
class Frames {
 public:
  Frames(const Step& step, const Dataflow& flow)
      : flow_(flow), branches_(Branches(step, flow).take()) {
    const auto blocks = blocks_of(branches_);
    for (std::size_t k = 0; k < branches_.size(); ++k) find_own(branches_[k], k == 0, blocks);
    norm_last_ = ends_with_norm(step, flow, branches_);
    for (std::size_t k = 0; k < branches_.size(); ++k) given_.push_back(hold_branch(k));
    hold_stages();
    hold_without_skip(blocks);
    hold_arguments();
    hold_converted();
  }
  FrameLives take() { return std::move(out_); }

 private:
  void hold(std::optional<std::uint32_t> tensor, std::uint32_t until) {
    if (tensor && flow_.tensors[*tensor].producer != no_row) out_.held.push_back({*tensor, until});
  }

  /// Returns what the last block of branch `k` was given.
  std::optional<std::uint32_t> hold_branch(std::size_t k) {
    const Branch& branch = branches_[k];
    if (!branch.known) return {};
    const bool whole = branch.own == 0 && k > 0;
    const auto before = whole ? result_of(flow_, branches_[k - 1].join) : std::nullopt;
    if (branch.products.empty()) return before;
    const Product& product = branch.products[branch.own];
    const std::uint32_t from = branch.own == 0 ? branch.first : branch.products[branch.own - 1].op;
    const auto read = given_to(flow_, flow_.ops[product.op]);
    const auto norm = whole && !norm_last_ ? first_norm(flow_, from, product.op) : std::nullopt;
    if (whole && !branches_[k - 1].added) {  // a list's owner holds the parts, a call the whole
      hold(before, norm ? product.op : branch.join);
      return before;
    }
    hold(read, branch.join);
    if (norm) hold(before, branch.join);
    const auto given = norm ? before : read;
    if (given && flow_.tensors[*given].producer != no_row) see_skip(branch);
    return given;
  }

  /// The way around a block ends with its join, or with the product on it.
  void see_skip(const Branch& branch) {
    if (!branch.added) return;
    if (branch.on_skip) {
      const std::uint32_t product = branch.products.back().op;
      if (const auto read = largest_input(flow_, flow_.ops[product])) {
        out_.skips.insert({product, *read});
      }
      return;
    }
    const auto in = flow_.inputs_of(flow_.ops[branch.join]);
    const std::uint32_t older = std::min(in[0].tensor, in[1].tensor);
    const std::uint32_t maker = flow_.tensors[older].producer;
    const bool path = maker > branch.products[branch.own].op && maker != no_row &&
                      flow_.ops[maker].kind == OpKind::batch_norm;  // ends beside this one
    if (!path) out_.skips.insert({branch.join, older});
  }

  /// Length of the pattern that the branches from `first` to `last` repeat.
  std::size_t period(std::size_t first, std::size_t last) const {
    constexpr std::size_t longest = 3;  // attention, attention to another sequence, products
    const auto same = [&](std::size_t a, std::size_t b) {
      const auto &x = branches_[a], &y = branches_[b];
      const std::size_t size = std::min(x.products.size(), y.products.size());
      return size > 0 &&
             std::equal(x.products.end() - std::ptrdiff_t(size), x.products.end(),
                        y.products.end() - std::ptrdiff_t(size)) &&
             x.products.size() - x.own == y.products.size() - y.own;
    };
    for (std::size_t p = 1; p <= longest && first + 2 * p <= last + 1; ++p) {
      bool repeats = true;
      for (std::size_t k = first + p; k <= last; ++k) repeats = repeats && same(k, k - p);
      if (repeats) return p;
    }
    return 1;
  }

  void hold_stages() {
    for (std::size_t first = 0; first < branches_.size();) {
      std::size_t last = first;
      const auto goes_on = [&](std::size_t k) {
        return k < branches_.size() && branches_[k].added &&
               branches_[k].width == branches_[first].width;
      };
      while (branches_[first].added && goes_on(last + 1)) ++last;
      hold(given_[first], branches_[last].join);
      const std::size_t p = period(first, last);
      for (std::size_t k = first; k <= last; ++k) {
        hold(given_[k - (k - first) % p], branches_[k].join);
      }
      first = last + 1;
    }
  }

  void hold_without_skip(const std::vector<Block>& blocks) {
    for (const Branch& branch : branches_) {
      std::size_t end = branch.known ? branch.own : 0;
      for (bool found = end > 0; found;) {
        found = false;
        for (const Block& block : blocks) {
          const std::size_t size = block.size();
          if (size < 2 || size > end || !matches(branch.products, end - size, block)) {
            continue;
          }
          hold(given_to(flow_, flow_.ops[branch.products[end - size].op]),
               branch.products[end].op - 1);
          end -= size;
          found = true;
          break;
        }
      }
    }
  }

  /// What a layer or norm converts first is its caller's: it stays there until the call returns.
  void hold_converted() {
    for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
      const FlowOp& op = flow_.ops[i];
      const bool converts = is_core(op.kind) || normalizes(op.kind) || op.kind == OpKind::softmax;
      if (op.phase != FlowPhase::forward || !converts) continue;
      const auto given = given_to(flow_, op);
      if (given && given != largest_input(flow_, op)) hold(given, i);
    }
  }

  /// An activation that is spelled as several operations is a function: what it was given stays
  /// there until it returns. What is left to do behind the last layer stands in the model itself,
  /// under the name of what it takes the place of (bounds of logits).
  void hold_arguments() {
    std::vector<bool> joins(flow_.ops.size(), false);
    for (const Branch& branch : branches_) joins[branch.join] = true;
    const auto spelled = [&](std::uint32_t i) {
      const OpKind kind = flow_.ops[i].kind;
      return !joins[i] && (kind == OpKind::pointwise || kind == OpKind::cast);
    };
    for (std::uint32_t i = 0, end = last_layer(flow_); i < end; ++i) {
      if (!is_core(flow_.ops[i].kind) || flow_.ops[i + 1].kind != OpKind::pointwise) continue;
      std::uint32_t last = i;
      while (last + 1 < flow_.ops.size() && spelled(last + 1)) ++last;
      if (last > i) hold(result_of(flow_, i), last);
    }
  }

  const Dataflow& flow_;
  std::vector<Branch> branches_;
  std::vector<std::optional<std::uint32_t>> given_;  // to the last block of each branch
  FrameLives out_;
  bool norm_last_ = false;
};

/// A list that is joined for one convolution is named by the function that calls it: list and whole
/// stay until the convolution's module, which normalizes, has returned.
void hold_lists(const Dataflow& flow, std::vector<HeldTensor>& held) {
  std::vector<std::uint32_t> last_reader(flow.tensors.size(), no_row);
  std::vector<std::uint32_t> readers(flow.tensors.size(), 0);
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (flow.ops[i].phase != FlowPhase::forward) continue;
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) {
      last_reader[use.tensor] = i, ++readers[use.tensor];
    }
  }
  const auto only_reader = [&](std::optional<std::uint32_t> tensor) {
    return tensor && readers[*tensor] == 1 ? last_reader[*tensor] : no_row;
  };
  for (const FlowOp& op : flow.ops) {
    if (!concatenates(op) || op.output_count == 0 || op.phase != FlowPhase::forward) continue;
    const std::uint32_t whole = flow.outputs_of(op)[0];
    std::uint32_t reader = only_reader(whole);
    if (reader != no_row && flow.ops[reader].kind == OpKind::cast) {  // of autocast
      reader = only_reader(result_of(flow, reader));
    }
    if (reader == no_row || flow.ops[reader].kind != OpKind::convolution) continue;
    const std::uint32_t norm = only_reader(result_of(flow, reader));
    const std::uint32_t until = norm == no_row ? reader : norm;
    held.push_back({whole, until});
    for (const FlowUse& use : flow.inputs_of(op)) {
      if (flow.tensors[use.tensor].producer != no_row) held.push_back({use.tensor, until});
    }
  }
}

}  // namespace

FrameLives held_by_frames(const Step& step, const Dataflow& flow) {
  if (flow.has_graphs()) return {};
  if (auto stated = stated_lives(step, flow)) return {std::move(*stated)};
  FrameLives out = flow.trains() ? FrameLives{} : Frames(step, flow).take();
  hold_lists(flow, out.held);
  return out;
}

}  // namespace tandem
