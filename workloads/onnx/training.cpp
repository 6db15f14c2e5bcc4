#include "workloads/onnx/training.h"

#include <map>

#include "sim/core/tensors/data_type.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

/// One operation over lists of tensors. Lists, a letter each: p parameters, g gradients, m and v
/// averages of the optimizer, n and d lists that the step makes.
struct ListOp {
  std::string_view name, lists;
  std::optional<double> number;
  char result;
  bool number_each = false;  // a number for every tensor
};

struct Optimizer {
  std::string_view name;
  std::vector<ListOp> ops;
};

/// As torch.optim runs them in list form, with the rates of the recorded networks; the numbers
/// change nothing but the results.
const std::vector<Optimizer>& optimizers() {
  static const std::vector<ListOp> adam = {
      {"aten::_foreach_lerp_", "mg", 0.1, 'm'},
      {"aten::_foreach_mul_", "v", 0.999, 'v'},
      {"aten::_foreach_addcmul_", "vgg", 0.001, 'v'},
      {"aten::_foreach_sqrt", "v", {}, 'd'},
      {"aten::_foreach_div_", "d", 0.0447, 'd', true},
      {"aten::_foreach_add_", "d", 1e-8, 'd'},
      {"aten::_foreach_addcdiv_", "pmd", -0.000526, 'p', true}};
  static const std::vector<Optimizer> all = [] {
    std::vector<ListOp> adamw = {{"aten::_foreach_mul_", "p", 0.999999, 'p'}};
    adamw.insert(adamw.end(), adam.begin(), adam.end());
    return std::vector<Optimizer>{{"sgd",
                                   {{"aten::_foreach_add", "gp", 1e-4, 'n'},
                                    {"aten::_foreach_mul_", "m", 0.9, 'm'},
                                    {"aten::_foreach_add_", "mn", 1, 'm'},
                                    {"aten::_foreach_add_", "pm", -0.1, 'p'}}},
                                  {"adam", adam},
                                  {"adamw", adamw}};
  }();
  return all;
}

using Lists = std::map<char, std::vector<TensorId>>;

void run_list_op(Step& step, const ListOp& op, Lists& lists) {
  Arguments arguments;
  for (const char letter : op.lists) arguments.push_back(list(lists[letter]));
  if (op.number && op.number_each) {
    arguments.push_back(plain(std::vector<double>(lists['p'].size(), *op.number)));
  } else if (op.number) {
    arguments.push_back(plain(*op.number));
  }
  const bool in_place = op.lists[0] == op.result;
  std::vector<TensorId> made;
  for (const TensorId t : lists[op.lists[0]]) {
    made.push_back(in_place ? step.rewritten(t)
                            : step.make(step.tensor(t).type, step.tensor(t).dims));
  }
  step.emit(std::string(op.name), std::move(arguments), made);
  lists[op.result] = std::move(made);
}

TensorId ones_like(Step& step, TensorId loss) {
  return step.run(
      "aten::ones_like",
      {of(loss), nothing(), nothing(), nothing(), plain(false), plain("torch.preserve_format")},
      DataType::fp32, {});
}

void add_yes_or_no_loss(Step& step, const Value& x) {
  const TensorId scores = *x.tensor;
  const TensorId target = step.make(x.type, x.dims, StorageKind::input);
  Value loss =
      step.value(step.run("aten::binary_cross_entropy_with_logits",
                          {of(scores), of(target), nothing(), nothing(), whole(1)}, x.type, {}));
  const TensorId start = ones_like(step, *loss.tensor);
  step.differentiable("BinaryCrossEntropyWithLogitsBackward0", {&loss}, {x},
                      [&step, x, scores, target](const Step::Gradients& g) {
                        TensorId made = step.run("aten::sigmoid", {of(scores)}, x.type, x.dims);
                        const auto change = [&](const char* name, Arguments arguments) {
                          const TensorId next = step.rewritten(made);
                          arguments.insert(arguments.begin(), of(made));
                          step.emit(name, std::move(arguments), {next});
                          made = next;
                        };
                        change("aten::sub_", {of(target), whole(1)});
                        change("aten::mul_", {of(*g[0])});
                        change("aten::div_", {size(count_of(x.dims))});
                        step.give(x, made);
                      });
  step.give(loss, start);
}

/// Scores with the classes in dimension 1.
struct Classes {
  Value scores;
  std::string_view loss, gradient, node;
};

Classes with_classes(Step& step, const Value& x) {
  if (x.dims.size() == 4) {
    return {x, "aten::nll_loss2d_forward", "aten::nll_loss2d_backward", "NllLoss2DBackward0"};
  }
  Classes out{x, "aten::nll_loss_forward", "aten::nll_loss_backward", "NllLossBackward0"};
  if (x.dims.size() == 2) return out;
  const Expression columns = x.dims.empty() ? Expression(1) : x.dims.back();
  Expression rows(1);
  for (std::size_t d = 0; d + 1 < x.dims.size(); ++d) rows = rows * x.dims[d];
  out.scores = step.value(reshaped(step, *x.tensor, {rows, columns}));
  step.differentiable("ViewBackward0", {&out.scores}, {x}, [&step, x](const Step::Gradients& g) {
    step.give(x, reshaped(step, *g[0], x.dims));
  });
  return out;
}

}  // namespace

void add_loss(Step& step, const Value& scores) {
  if (!scores.dims.empty() && scores.dims.back() == Expression(1))
    return add_yes_or_no_loss(step, scores);
  const Classes classes = with_classes(step, scores);
  const Value x = classes.scores;
  const std::string type(to_string(x.type));
  const TensorId y =
      step.run("aten::_log_softmax", {of(*x.tensor), whole(1), plain(false)}, x.type, x.dims);
  Value logs = step.value(y);
  step.differentiable(
      "LogSoftmaxBackward0", {&logs}, {x}, [&step, x, y, type](const Step::Gradients& g) {
        step.give(x, step.run("aten::_log_softmax_backward_data",
                              {of(*g[0]), of(y), whole(1), plain(type)}, x.type, x.dims));
      });
  Dims rows = x.dims;
  rows.erase(rows.begin() + 1);
  const TensorId target = step.make(DataType::int64, rows, StorageKind::input);
  const TensorId result = step.make(DataType::fp32, {}), weight = step.make(DataType::fp32, {});
  step.emit(std::string(classes.loss), {of(y), of(target), nothing(), whole(1), whole(-100)},
            {result, weight});
  Value loss = step.value(result);
  const TensorId start = ones_like(step, result);
  step.differentiable(std::string(classes.node), {&loss}, {logs},
                      [=, &step](const Step::Gradients& g) {
                        step.give(logs, step.run(std::string(classes.gradient),
                                                 {of(*g[0]), of(y), of(target), nothing(), whole(1),
                                                  whole(-100), of(weight)},
                                                 logs.type, logs.dims));
                      });
  step.give(loss, start);
}

void add_optimizer(Step& step, std::string_view optimizer, const std::vector<Value>& parameters) {
  step.begin_optimizer();
  Lists lists;
  for (const Value& parameter : parameters) {
    const auto gradient = step.gradient(parameter);
    if (!gradient) continue;
    step.network().storages[step.tensor(*gradient).storage] = StorageKind::gradient;
    lists['p'].push_back(*parameter.tensor);
    lists['g'].push_back(*gradient);
  }
  for (const Step::Rows& r : step.row_gradients()) {
    step.emit("aten::index_add_", {of(r.of), whole(0), of(r.rows), of(r.values), plain(-0.1)},
              {step.rewritten(r.of)});
  }
  if (lists.empty()) return;
  for (const Optimizer& row : optimizers()) {
    if (row.name != optimizer) continue;
    for (const ListOp& op : row.ops) {
      for (const char letter : op.lists) {
        if (lists.count(letter) > 0) continue;
        for (const TensorId p : lists['p']) {
          lists[letter].push_back(
              step.make(step.tensor(p).type, step.tensor(p).dims, StorageKind::state));
        }
      }
      run_list_op(step, op, lists);
    }
  }
}

std::string optimizer_names() {
  std::string out;
  for (const Optimizer& row : optimizers()) out.append(out.empty() ? "" : ", ").append(row.name);
  return out;
}

bool is_optimizer(std::string_view name) {
  for (const Optimizer& row : optimizers()) {
    if (row.name == name) return true;
  }
  return false;
}

}  // namespace tandem::onnx
