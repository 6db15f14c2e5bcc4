#include "workloads/layout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "models/ops/op_table.h"
#include "sim/core/error.h"

namespace tandem {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

std::optional<std::int64_t> number(const Expression& e) {
  if (!e.is_number()) return {};
  return e.at({});
}

class Rewriter {
 public:
  explicit Rewriter(Network network) : network_(std::move(network)) {
    images_.assign(network_.storages.size(), none);
    written_in_place_ = network_.tensors.size();
  }
  Network write();

 private:
  NetworkTensor& tensor(std::uint32_t t) { return network_.tensors[t]; }
  bool is_image(const NetworkTensor& t) const { return t.dims.size() == 4 && t.strides.empty(); }
  bool is_turned(std::uint32_t t) const {
    return is_image(network_.tensors[t]) && images_[network_.tensors[t].storage] != none;
  }
  void turn(std::uint32_t t);
  void turn_weights_and_inputs();
  void follow(const NetworkOp& op);
  /// Strides of a view of a turned storage; nothing where one dimension runs over both channels and
  /// pixels.
  std::optional<std::vector<Expression>> moved(const NetworkTensor& view) const;
  std::optional<Expression> moved(const Expression& stride, const Expression& size,
                                  std::int64_t channels, std::int64_t pixels) const;
  void follow_views(NetworkOp& op, std::vector<NetworkOp>& out);
  std::uint32_t copy_of(std::uint32_t view, const NetworkOp& reader, std::vector<NetworkOp>& out);

  Network network_;
  std::vector<std::uint32_t> images_;              // by storage: a turned tensor of it, or none
  std::map<std::uint32_t, std::uint32_t> copies_;  // by view
  std::size_t written_in_place_ = 0;
};

/// Strides are written once all storages are known.
void Rewriter::turn(std::uint32_t t) {
  if (is_image(tensor(t))) images_[tensor(t).storage] = t;
}

void Rewriter::turn_weights_and_inputs() {
  if (network_.framework != Framework::pytorch) {
    throw InputError(network_.path, "--layout", "a network of another framework than PyTorch",
                     "one of PyTorch, where the order of images is a choice of the user");
  }
  for (const NetworkOp& op : network_.ops) {
    const OpRow& row = op_row(op.name);
    if (row.kind != OpKind::convolution || op.arguments.size() < 2) continue;
    for (const NetworkArgument* a : {&op.arguments[0], &op.arguments[1]}) {
      for (const std::uint32_t t : a->tensors) {
        const StorageKind kind = network_.storages[tensor(t).storage];
        if (kind != StorageKind::activation) turn(t);
      }
    }
  }
  if (std::all_of(images_.begin(), images_.end(), [](std::uint32_t t) { return t == none; })) {
    throw InputError(network_.path, "--layout", "no convolution of images",
                     "a network with one, whose images have an order");
  }
}

void Rewriter::follow(const NetworkOp& op) {
  bool turned = false;
  for (const NetworkArgument& a : op.arguments) {
    turned = turned || std::any_of(a.tensors.begin(), a.tensors.end(),
                                   [&](std::uint32_t t) { return is_turned(t); });
  }
  if (!turned) return;
  for (const std::uint32_t t : op.outputs) turn(t);
}

/// A step of n elements in NCHW order as a step in NHWC order: images stay, channels come closer,
/// pixels move apart.
std::optional<Expression> Rewriter::moved(const Expression& stride, const Expression& size,
                                          std::int64_t channels, std::int64_t pixels) const {
  const auto step = number(stride);
  const auto count = number(size);
  if (!step) return stride;                             // images, whose number is a symbol
  if (*step % (channels * pixels) == 0) return stride;  // images
  if (!count) return {};
  const std::int64_t end = *step * *count;
  if (*step < pixels && end <= pixels) return Expression(*step * channels);
  if (*step % pixels == 0 && end <= channels * pixels) return Expression(*step / pixels);
  return {};
}

std::optional<std::vector<Expression>> Rewriter::moved(const NetworkTensor& view) const {
  const NetworkTensor& base = network_.tensors[images_[view.storage]];
  const auto channels = number(base.dims[1]);
  const auto height = number(base.dims[2]);
  const auto width = number(base.dims[3]);
  if (!channels || !height || !width) return {};
  const std::int64_t pixels = *height * *width;
  if (pixels == 1 || *channels == 1) return view.strides;
  std::vector<Expression> strides = view.strides;
  if (strides.empty()) {
    strides.assign(view.dims.size(), Expression(1));
    for (std::size_t d = view.dims.size(); d-- > 1;) {
      strides[d - 1] = strides[d] * view.dims[d];
    }
  }
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const auto one = number(view.dims[d]);
    if (one && *one == 1) continue;
    const auto step = moved(strides[d], view.dims[d], *channels, pixels);
    if (!step) return {};
    strides[d] = *step;
  }
  return strides;
}

/// A tensor of its own with the view's elements, and the operation before the reader that fills it.
std::uint32_t Rewriter::copy_of(std::uint32_t view, const NetworkOp& reader,
                                std::vector<NetworkOp>& out) {
  const auto known = copies_.find(view);
  if (known != copies_.end()) return known->second;
  NetworkTensor copy = tensor(view);
  copy.strides.clear();
  copy.storage = static_cast<std::uint32_t>(network_.storages.size());
  network_.storages.push_back(StorageKind::activation);
  images_.push_back(none);
  const auto made = static_cast<std::uint32_t>(network_.tensors.size());
  network_.tensors.push_back(copy);
  // The copy walks over the images; in which order it reads them is told by their strides.
  const std::uint32_t images = images_[tensor(view).storage];
  NetworkTensor target = tensor(images);
  target.strides.clear();
  target.storage = copy.storage;
  const auto written = static_cast<std::uint32_t>(network_.tensors.size());
  network_.tensors.push_back(std::move(target));
  NetworkOp op;
  op.name = "aten::copy_";
  op.phase = reader.phase;
  op.module = reader.module;
  op.node = reader.node;
  op.sequence = reader.sequence;
  for (const std::uint32_t t : {written, images}) {
    op.arguments.push_back({NetworkArgument::Form::tensor, {t}, {}, {}});
  }
  op.outputs = {written};
  out.push_back(std::move(op));
  copies_[view] = made;
  return made;
}

/// Views that an operation reads of turned storages take the strides that they have there, or are
/// copied first.
void Rewriter::follow_views(NetworkOp& op, std::vector<NetworkOp>& out) {
  for (NetworkArgument& a : op.arguments) {
    for (std::uint32_t& t : a.tensors) {
      if (images_[tensor(t).storage] == none || is_image(tensor(t))) continue;
      if (!moved(tensor(t))) t = copy_of(t, op, out);
    }
  }
}

Network Rewriter::write() {
  turn_weights_and_inputs();
  for (const NetworkOp& op : network_.ops) follow(op);
  std::vector<NetworkOp> ops;
  std::vector<std::uint32_t> places;  // of the operations, among copies
  ops.reserve(network_.ops.size());
  for (NetworkOp& op : network_.ops) {
    follow_views(op, ops);
    places.push_back(static_cast<std::uint32_t>(ops.size()));
    ops.push_back(std::move(op));
  }
  network_.ops = std::move(ops);
  if (network_.held) {
    for (HeldMemory& held : *network_.held) held.until = places[held.until];
  }
  for (std::size_t t = 0; t < written_in_place_; ++t) {
    NetworkTensor& one = network_.tensors[t];
    if (images_[one.storage] == none) continue;
    if (is_image(one)) {
      const std::vector<Expression>& d = one.dims;
      one.strides = {d[1] * d[2] * d[3], Expression(1), d[3] * d[1], d[1]};
    } else if (auto strides = moved(one)) {
      one.strides = std::move(*strides);
    }
  }
  return std::move(network_);
}

}  // namespace

Network with_channels_last(Network network) { return Rewriter(std::move(network)).write(); }

}  // namespace tandem
