// The claims of the repository, simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/source_dir/source_dir.h"
#include "validation/papers/draw.h"
#include "validation/papers/load.h"
#include "validation/papers/report.h"

namespace tandem {
namespace {

const Claims& claims() {
  static const Claims all = load_claims(source_path("validation/claims"), source_path("configs"));
  return all;
}

/// Figures show much of what the claims are about.
Simulations& simulations() {
  static Simulations all(source_dir());
  return all;
}

const std::vector<ClaimResult>& claim_results() {
  static const std::vector<ClaimResult> all = evaluate_claims(claims().claims, simulations());
  return all;
}

const ClaimResult& row(const std::string& id) {
  return *std::find_if(claim_results().begin(), claim_results().end(),
                       [&](const ClaimResult& r) { return r.claim.id == id; });
}

TEST(PaperClaims, EveryNumberThatASimulatorCanProduceHasARow) {
  EXPECT_EQ(claim_results().size(), 134u);
  std::printf("%s", claims_text(claim_results(), false).c_str());
}

TEST(PaperClaims, WhatIsMissedOrNotSimulatedSaysWhy) {
  int seen = 0;
  for (const ClaimResult& r : claim_results()) {
    if (r.verdict == ClaimVerdict::met) continue;
    EXPECT_FALSE(r.reason.empty()) << r.claim.id;
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(PaperClaims, OnlyWorkloadsAndNumbersThatAreAbsentAreNotSimulated) {
  for (const ClaimResult& r : claim_results()) {
    if (r.verdict != ClaimVerdict::not_simulated || r.claim.checks.empty()) continue;
    EXPECT_TRUE(r.reason.starts_with("no n")) << r.claim.id << ": " << r.reason;
  }
}

// What rests on models that were scored by themselves: the tiny launches (E001 to E006), the
// invariants of the levels (D005), energy of the matrix product (T142, T143).
TEST(PaperClaims, WhatIsKnownToHoldHolds) {
  for (const char* id : {"E001", "E002", "E003", "E004", "E005", "E006", "D005", "T142", "T143"}) {
    EXPECT_EQ(row(id).verdict, ClaimVerdict::met) << claims_text({row(id)}, true);
  }
}

// 2 n^3 FLOP over 3 n^2 words of 4 bytes: n / 6.
TEST(PaperClaims, AClaimThatContradictsPhysicsIsMissedAndSaysSo) {
  const ClaimResult& r = row("T144");
  EXPECT_EQ(r.verdict, ClaimVerdict::missed);
  EXPECT_NEAR(r.checks.at(0).taken.at(0), 4096.0 / 6, 1e-9);
  EXPECT_NE(r.reason.find("n / 6"), std::string::npos);
}

// Nsight Compute sees kernels; the GPU is busy while it copies the input, too (thesis table 4.1).
TEST(PaperClaims, CopiesAreNoCyclesOfKernels) {
  const auto numbers = [](const char* network) -> const Numbers& {
    return simulations()
        .of({{"batch", "256"}, {"gpu", "a100_sxm4_80gb"}, {"network", network}})
        .numbers;
  };
  const Numbers& copies = numbers("tf_resnet50_v1_5_amp");
  const Numbers& none = numbers("resnet50");
  for (const std::string name : {"smsp_active", "smsp_issue", "tc_active", "tc_issue"}) {
    const double stated = copies.at("profiled_" + name).value;
    EXPECT_GT(stated, 1.02 * copies.at(name + "_utilization").value) << name;
    EXPECT_LE(stated, copies.at("gpu_utilization").value) << name;
    const double level = none.at(name + "_utilization").value;
    EXPECT_NEAR(none.at("profiled_" + name).value, level, 0.01 * level) << name;
  }
}

// One of each kind: steps of networks, kernels, caches, products, tiny launches, an eager runtime.
TEST(PaperClaims, FiguresAreDrawn) {
  const std::set<std::string> names{"thesis_3_7_queue",       "thesis_4_1_mixed_precision",
                                    "thesis_4_7_issue_slots", "thesis_5_4_caches",
                                    "thesis_5_11_matmul",     "euromlsys_1_square"};
  std::vector<Figure> figures = claims().figures;
  std::erase_if(figures, [&](const Figure& f) { return !names.contains(f.name); });
  EXPECT_EQ(figures.size(), names.size());
  for (const DrawnFigure& f : draw_figures(figures, simulations())) {
    EXPECT_TRUE(f.svg.starts_with("<svg")) << f.name;
  }
}

}  // namespace
}  // namespace tandem
