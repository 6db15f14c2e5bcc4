#include "sim/report/fields/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "sim/report/fields/field_tree.h"

namespace tandem {

namespace {

/// One document beside the tree of its fields. Paths are written out only of what is wrong.
class Comparison {
 public:
  explicit Comparison(std::set<std::string>& wrong) : wrong_(wrong) {}

  void compare(const Json& json, const FieldNode& node) {
    if (json.is_null()) {
      if (node.kind != FieldKind::any && !node.may_be_null()) say("is null");
    } else if (json.is_array()) {
      compare_list(json, node);
    } else if (json.is_object()) {
      compare_object(json, node);
    } else if (!node.children.empty()) {
      say("is a value, not an object");
    } else {
      compare_value(json, node);
    }
  }

  void within(std::string_view part) { path_.push_back(part); }

 private:
  void say(std::string_view what) {
    std::string path;
    for (const std::string_view part : path_) {
      path += (path.empty() || part == "[]" ? "" : ".") + std::string(part);
    }
    wrong_.insert(path.empty() ? std::string(what) : path + " " + std::string(what));
  }
  void say(std::string_view child, std::string_view what) {
    path_.push_back(child);
    say(what);
    path_.pop_back();
  }

  void compare_value(const Json& json, const FieldNode& node) {
    const bool number = json.is_number();
    if (number && (node.kind == FieldKind::number || node.kind == FieldKind::any)) {
      const std::string out = out_of(node.range, json.get<double>());
      if (!out.empty()) say(out);
    } else if (number || (json.is_string() && node.kind == FieldKind::number) ||
               (json.is_string() && node.kind == FieldKind::truth) ||
               (json.is_boolean() && node.kind != FieldKind::truth &&
                node.kind != FieldKind::any)) {
      say(std::string("is a ") + json.type_name() + ", which it cannot be");
    }
  }

  void compare_list(const Json& json, const FieldNode& node) {
    path_.emplace_back("[]");
    if (node.is_list()) {
      for (const Json& one : json) compare(one, node.children.front());
    } else {
      say("is not described");
    }
    path_.pop_back();
  }

  void compare_object(const Json& json, const FieldNode& node) {
    if (node.kind == FieldKind::map) return;
    if (node.kind == FieldKind::any && node.children.empty()) {
      for (const auto& item : json.items()) compare(item.value(), node);
      return;
    }
    // Documents are mostly written in the order of their tables, so the next child is looked at
    // first.
    std::vector<const Json*> values(node.children.size(), nullptr);
    std::size_t next = 0;
    for (const auto& item : json.items()) {
      std::size_t at = next;
      const std::size_t all = node.children.size();
      std::size_t looked = 0;
      for (; looked < all && node.children[at % all].name != item.key(); ++looked) ++at;
      if (looked == all) {
        say(item.key(), "is not described");
        continue;
      }
      at %= all;
      next = at + 1;
      values[at] = &item.value();
      path_.push_back(node.children[at].name);
      compare(item.value(), node.children[at]);
      path_.pop_back();
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == nullptr && !node.children[i].may_be_absent()) {
        say(node.children[i].name, "is described, but not there");
      }
    }
    compare_orders(values, node);
  }

  void compare_orders(const std::vector<const Json*>& values, const FieldNode& node) {
    for (const auto& [small, large] : node.orders) {
      const Json* a = values[small];
      const Json* b = values[large];
      if (a == nullptr || b == nullptr || !a->is_number() || !b->is_number()) continue;
      if (in_order(a->get<double>(), b->get<double>())) continue;
      say(node.children[small].name, fmt::format("is {}, not at most {}, {}", a->dump(),
                                                 node.children[large].name, b->dump()));
    }
  }

  std::set<std::string>& wrong_;
  std::vector<std::string_view> path_;
};

/// The sum of the numbers at a path, from its part `at` on; false: a part is not there, or null.
bool add_numbers(const Json& json, std::span<const std::string> path, double& sum) {
  if (path.empty()) {
    if (json.is_number()) sum += json.get<double>();
    return json.is_number();
  }
  if (path.front() == "[]") {
    if (!json.is_array()) return false;
    for (const Json& one : json) {
      if (!add_numbers(one, path.subspan(1), sum)) return false;
    }
    return true;
  }
  if (!json.is_object()) return false;
  const auto found = json.find(path.front());
  return found != json.end() && add_numbers(*found, path.subspan(1), sum);
}

struct SumPaths {
  const NumberSum* sum;
  std::vector<std::vector<std::string>> parts;
  std::vector<std::string> whole;
};

std::vector<SumPaths> sum_paths() {
  std::vector<SumPaths> out;
  for (const NumberSum& sum : number_sums()) {
    SumPaths paths{&sum, {}, {}};
    if (!sum.whole.empty()) paths.whole = path_parts(sum.whole);
    std::string_view rest = sum.parts;
    for (std::size_t plus = 0; plus != std::string_view::npos;) {
      plus = rest.find('+');
      paths.parts.push_back(path_parts(rest.substr(0, plus)));
      if (plus != std::string_view::npos) rest.remove_prefix(plus + 1);
    }
    out.push_back(std::move(paths));
  }
  return out;
}

void compare_sums(const Json& json, std::set<std::string>& wrong) {
  static const std::vector<SumPaths> all = sum_paths();
  for (const SumPaths& paths : all) {
    double parts = 0, whole = paths.whole.empty() ? 1 : 0;
    if (!paths.whole.empty() && !add_numbers(json, paths.whole, whole)) continue;
    bool known = true;
    for (const auto& path : paths.parts) known = known && add_numbers(json, path, parts);
    if (!known || (in_order(parts, whole) && (!paths.sum->all || in_order(whole, parts)))) continue;
    wrong.insert(fmt::format("{} is {}, not {}{}{}{}", paths.sum->parts, parts,
                             paths.sum->all ? "" : "at most ", paths.sum->whole,
                             paths.whole.empty() ? "" : ", ", whole));
  }
}

void fail(const std::set<std::string>& wrong) {
  if (wrong.empty()) return;
  throw std::logic_error(
      fmt::format("result: {} ({} in all are not as published)", *wrong.begin(), wrong.size()));
}

}  // namespace

struct Published::Tree {
  std::vector<PublishedField> fields;
  FieldNode root;
};

Published::Published(std::vector<PublishedField> fields) : tree_(std::make_unique<Tree>()) {
  tree_->fields = std::move(fields);
  tree_->root = field_tree(tree_->fields);
}

Published::~Published() = default;

std::vector<std::string> Published::differences(const Json& document) const {
  std::set<std::string> wrong;
  Comparison(wrong).compare(document, tree_->root);
  compare_sums(document, wrong);
  return {wrong.begin(), wrong.end()};
}

void Published::check(const Json& document) const {
  std::set<std::string> wrong;
  Comparison(wrong).compare(document, tree_->root);
  compare_sums(document, wrong);
  fail(wrong);
}

void Published::check_element(const std::string& list, const Json& element) const {
  const FieldNode* node = &tree_->root;
  std::set<std::string> wrong;
  Comparison comparison(wrong);
  for (const std::string_view name : {std::string_view(list), std::string_view("[]")}) {
    const auto child = std::find_if(node->children.begin(), node->children.end(),
                                    [&](const FieldNode& c) { return c.name == name; });
    if (child == node->children.end()) throw std::logic_error("result: " + list + " is no list");
    node = &*child;
    comparison.within(name);
  }
  comparison.compare(element, *node);
  fail(wrong);
}

}  // namespace tandem
