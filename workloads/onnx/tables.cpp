// Elements chosen by numbers that the device knows: embeddings and alike.
#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

/// Rows of a table, e.g. of words.
void embedding(Call& call) {
  Step& step = call.step;
  const Value table = call.input(0);
  const TensorId rows = call.tensor(1), in = call.tensor(0);
  Dims dims = call.dims(1);
  dims.push_back(table.dims[1]);
  const TensorId y =
      step.run("aten::embedding", {of(in), of(rows), whole(-1), plain(false), plain(false)},
               table.type, dims);
  const Expression count = table.dims[0];
  call.result(y, "EmbeddingBackward0", {table}, [&step, table, rows, count](TensorId g) {
    step.give(table, step.run("aten::embedding_dense_backward",
                              {of(g), of(rows), size(count), whole(-1), plain(false)}, table.type,
                              table.dims));
  });
}

/// One position of a dimension, which goes.
void select(Call& call, std::size_t axis, const Expression& position) {
  Step& step = call.step;
  const Value x = call.input(0);
  const TensorId in = call.tensor(0);
  Dims dims = x.dims, strides = strides_of(step.tensor(in));
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
  const TensorId y = step.view(in, dims, strides);
  const auto at = static_cast<std::int64_t>(axis);
  call.result(y, "SelectBackward0", {x}, [&step, x, at, position](TensorId g) {
    step.give(x, step.run("aten::select_backward",
                          {of(g), sizes(x.dims), whole(at), size(position)}, x.type, x.dims));
  });
}

/// Positions along one dimension.
void pick(Call& call, std::size_t axis) {
  Step& step = call.step;
  const Value x = call.input(0);
  const TensorId in = call.tensor(0), positions = call.tensor(1);
  Dims dims(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), call.dims(1).begin(), call.dims(1).end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.dims.end());
  const TensorId y = step.run("aten::index", {of(in), list({positions})}, x.type, dims);
  call.result(y, "IndexBackward0", {x}, [&step, x, positions](TensorId g) {
    const TensorId empty = step.run("aten::new_zeros", {of(g), sizes(x.dims)}, x.type, x.dims);
    const TensorId filled = step.rewritten(empty);
    step.emit("aten::_index_put_impl_",
              {of(empty), list({positions}), of(g), plain(true), plain(true)}, {filled});
    step.give(x, filled);
  });
}

}  // namespace

void gather(Call& call) {
  const Value& x = call.input(0);
  const std::size_t axis = call.axis(call.number("axis", 0), x.dims.size());
  const Value& positions = call.input(1);
  if (positions.numbers && positions.dims.empty() && positions.numbers->size() == 1) {
    return select(call, axis, positions.numbers->front());
  }
  if (axis == 0 && x.dims.size() == 2) return embedding(call);
  pick(call, axis);
}

/// Sums of rows. Their gradient is sparse, as those of large tables are: the rows' own values.
void embedding_bag(Call& call) {
  Step& step = call.step;
  const Value table = call.input(0);
  if (table.dims.size() != 2 || call.dims(1).size() != 1 || call.numbers(2).size() != 1) {
    call.fail("a table or positions of other dimensions", "a matrix and a list");
  }
  const Expression bags = call.numbers(2).front(), count = call.dims(1).front();
  const TensorId in = call.tensor(0), rows = call.tensor(1);
  const TensorId offsets = step.make(DataType::int64, {bags}, StorageKind::input);
  const TensorId y = step.make(table.type, {bags, table.dims[1]});
  const TensorId bag_of = step.make(DataType::int64, {count}),
                 lengths = step.make(DataType::int64, {bags});
  const TensorId largest = step.make(DataType::int64, {Expression(0)});
  const Arguments mode{plain(false), whole(0), plain(true), nothing()};
  Arguments arguments{of(in), of(rows), of(offsets)};
  arguments.insert(arguments.end(), mode.begin(), mode.end());
  arguments.insert(arguments.end(), {plain(false), whole(-1)});
  step.emit("aten::_embedding_bag", std::move(arguments), {y, bag_of, lengths, largest});
  call.result(y, "EmbeddingBagBackward0", {table}, [=, &step](TensorId g) {
    Arguments back{of(g),       of(rows),    of(offsets),        of(bag_of),
                   of(lengths), of(largest), size(table.dims[0])};
    back.insert(back.end(), mode.begin(), mode.end());
    back.push_back(whole(-1));
    const TensorId made = step.make(table.type, {count, table.dims[1]}, StorageKind::gradient);
    step.emit("aten::_embedding_bag_backward", std::move(back), {made});
    step.give_rows(table, rows, made);
  });
}

void gather_elements(Call& call) {
  Step& step = call.step;
  const Value x = call.input(0);
  const auto axis = static_cast<std::int64_t>(call.axis(call.number("axis", 0), x.dims.size()));
  const TensorId in = call.tensor(0), positions = call.tensor(1);
  const TensorId y = step.run("aten::gather", {of(in), whole(axis), of(positions), plain(false)},
                              x.type, call.dims(1));
  call.result(y, "GatherBackward0", {x}, [&step, x, positions, axis](TensorId g) {
    const TensorId empty = step.run("aten::new_zeros", {of(g), sizes(x.dims)}, x.type, x.dims);
    const TensorId filled = step.rewritten(empty);
    step.emit("aten::scatter_add_", {of(empty), whole(axis), of(positions), of(g)}, {filled});
    step.give(x, filled);
  });
}

void gather_nd(Call& call) {
  Step& step = call.step;
  const Value x = call.input(0);
  const Dims& positions = call.dims(1);
  const std::int64_t batch = call.number("batch_dims", 0);
  if (positions.empty() || batch < 0 || batch >= static_cast<std::int64_t>(positions.size())) {
    call.fail("batch_dims " + std::to_string(batch), "fewer than the positions have dimensions");
  }
  const std::int64_t depth = call.fixed(positions.back(), "the length of a position");
  const auto taken = static_cast<std::size_t>(batch + depth);
  if (depth < 1 || batch + depth > static_cast<std::int64_t>(x.dims.size())) {
    call.fail("positions of " + std::to_string(depth) + " numbers",
              "at most one for every dimension");
  }
  Dims dims(positions.begin(), positions.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(taken), x.dims.end());
  const TensorId in = call.tensor(0), where = call.tensor(1);
  const TensorId y = step.run("aten::index", {of(in), list({where})}, x.type, dims);
  call.result(y, "IndexBackward0", {x}, [&step, x, where](TensorId g) {
    const TensorId empty = step.run("aten::new_zeros", {of(g), sizes(x.dims)}, x.type, x.dims);
    const TensorId filled = step.rewritten(empty);
    step.emit("aten::_index_put_impl_", {of(empty), list({where}), of(g), plain(true), plain(true)},
              {filled});
    step.give(x, filled);
  });
}

void scatter_nd(Call& call) {
  Step& step = call.step;
  const Value x = call.input(0), updates = call.input(2);
  const TensorId in = call.tensor(0), where = call.tensor(1), values = call.tensor(2);
  const TensorId copy = step.run("aten::clone", {of(in), nothing()}, x.type, x.dims);
  const TensorId y = step.rewritten(copy);
  step.emit("aten::index_put_", {of(copy), list({where}), of(values), plain(false)}, {y});
  call.result(y, "IndexPutBackward0", {x, updates}, [&step, x, updates, where](TensorId g) {
    if (updates.needs_gradient) {
      step.give(updates,
                step.run("aten::index", {of(g), list({where})}, updates.type, updates.dims));
    }
    step.give(x, g);
  });
}

void triangle(Call& call) {
  Step& step = call.step;
  const Value x = call.input(0);
  const std::string name = call.number("upper", 1) != 0 ? "aten::triu" : "aten::tril";
  const TensorId y = step.run(name, {of(call.tensor(0)), whole(0)}, x.type, x.dims);
  call.result(y, "TriuBackward0", {x}, [&step, x, name](TensorId g) {
    step.give(x, step.run(name, {of(g), whole(0)}, x.type, x.dims));
  });
}

}  // namespace tandem::onnx
