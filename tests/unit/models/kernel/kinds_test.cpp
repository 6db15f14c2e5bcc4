// The table of kinds and the patterns that lead to it: nothing forgotten, nothing hidden.
#include "models/kernel/kinds.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/kernel/classify/classify.h"

namespace tandem {
namespace {

// A name in which nothing but the pattern occurs; where the pattern is not tied to the start of the
// name, it does not stand there.
std::string name_with(const PatternRow& row) {
  const std::string pattern(row.pattern);
  return pattern.starts_with('^') ? pattern.substr(1) : "void x" + pattern;
}

TEST(Patterns, EveryRowIsReached) {
  ASSERT_GT(pattern_rows().size(), 200U);
  for (const PatternRow& row : pattern_rows()) {
    const KernelClass c = classify(name_with(row), row.op);
    EXPECT_EQ(row_of(c.traits).name, row_of(row.kind).name)
        << row.pattern << " is hidden by an earlier pattern";
  }
}

TEST(Kinds, EveryKindIsReachedByAName) {
  std::set<Kind> reached{Kind::unknown};
  for (const PatternRow& row : pattern_rows()) reached.insert(row.kind);
  ASSERT_GT(kind_rows().size(), 100U);
  for (const KindRow& row : kind_rows()) EXPECT_TRUE(reached.contains(row.kind)) << row.name;
}

TEST(Kinds, RowsStandInTheOrderOfTheEnumerators) {
  for (std::size_t i = 0; i < kind_rows().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kind_rows()[i].kind), i) << kind_rows()[i].name;
    EXPECT_EQ(&row_of(kind_rows()[i].kind), &kind_rows()[i]);
  }
}

// The columns that a macro cannot demand are those that follow from another one.
TEST(Kinds, ColumnsAgree) {
  for (const KindRow& row : kind_rows()) {
    const bool uses = row.work == WorkRule::arguments || row.work == WorkRule::padded_rows ||
                      row.work == WorkRule::reduction;
    EXPECT_EQ(row.use.reads != 0 || row.use.writes != 0, uses && row.kind != Kind::nll_loss)
        << row.name << ": which arguments?";
    const bool normalises = row.family == KernelFamily::batch_norm;
    EXPECT_EQ(row.norm != NormForm::none, normalises) << row.name << ": how does it walk?";
    EXPECT_EQ(row.work == WorkRule::multi_tensor, row.loop == Loop::chunks) << row.name;
    if (row.role == Role::set_up) {
      EXPECT_EQ(row.time, TimeLaw::latency) << row.name;
    }
    if (row.role == Role::helper) {
      EXPECT_EQ(row.time, TimeLaw::memory) << row.name;
    }
    const bool matrix = row.family == KernelFamily::gemm ||
                        row.family == KernelFamily::convolution ||
                        row.family == KernelFamily::attention;
    if (row.time == TimeLaw::matrix) {
      EXPECT_TRUE(matrix) << row.name;
    }
    EXPECT_FALSE(row.key.empty()) << row.name;
  }
}

// What the batch what-if leaves as it is, and what `--gpu` calls a helper, are columns of one row:
// there is no second list that could disagree.
TEST(Kinds, SetUpAndSomeHelpersDoNotGrow) {
  const auto traits = [](const char* name) { return classify(name).traits; };
  const KernelTraits set_up = traits("cudnn::cnn::kern_precompute_ffsetsKernel");
  EXPECT_TRUE(is_set_up(set_up) && is_helper(set_up) && has_fixed_size(set_up));
  const KernelTraits sum = traits("void cublasLt::splitKreduce_kernel<32, 16, int, float>");
  EXPECT_TRUE(!is_set_up(sum) && is_helper(sum) && has_fixed_size(sum));
  const KernelTraits transform = traits("void cudnn::winograd::winogradForwardFilter4x4<float>");
  EXPECT_TRUE(!is_set_up(transform) && is_helper(transform) && !has_fixed_size(transform));
  const KernelTraits product = traits("volta_sgemm_128x64_nt");
  EXPECT_FALSE(is_set_up(product) || is_helper(product) || has_fixed_size(product));
}

}  // namespace
}  // namespace tandem
