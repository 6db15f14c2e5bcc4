// Thesis figures 5.6 to 5.10 (A100) against the H200's recordings and the models of the A100.
#include <cmath>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "models/energy/recording.h"
#include "tests/source_dir/source_dir.h"
#include "tests/validation/claims_for_tests.h"
#include "validation/papers/tiled_matmul.h"

namespace tandem {
namespace {

/// Energy per access with one block an SM of so many threads, or of the bound for 0.
double at_threads(const AccessCalibration& c, double sms, double threads) {
  if (threads == 0) return c.bound_pj.value;
  for (const ThreadPoint& p : c.curve) {
    if (p.threads == threads && p.blocks == sms) return p.pj.value;
  }
  ADD_FAILURE() << c.kernel << " was not recorded with " << threads << " threads";
  return 0;
}

/// Last but one point of the curve over the last one: with twice the warps an SM, or as many again.
double last_doubling(const AccessCalibration& c) {
  const std::size_t n = c.curve.size();
  return c.curve[n - 2].pj.value / c.curve[n - 1].pj.value;
}

void add_levels(const EnergyRecording& r, double sms, ClaimValues& values) {
  double before = 0;
  for (const char* kernel : {"shared_load", "l1_load", "l2_load", "dram_load"}) {
    const AccessCalibration& c = find_access(r, kernel)->access;
    const std::string level = std::string(kernel).substr(0, std::string(kernel).find('_'));
    values["one_thread_over_bound_" + level].push_back(at_threads(c, sms, 1) / c.bound_pj.value);
    values["one_thread_over_four_" + level].push_back(at_threads(c, sms, 1) /
                                                      at_threads(c, sms, 4));
    values["last_doubling"].push_back(last_doubling(c));
    values["r2_whole_warps"].push_back(c.line.r2);
    for (const auto& [few, many] : {std::pair(1.0, 32.0), {32.0, 128.0}, {128.0, 0.0}}) {
      values["fewer_over_more_threads"].push_back(at_threads(c, sms, few) /
                                                  at_threads(c, sms, many));
    }
    if (before > 0) values[level + "_over_level_below"].push_back(c.bound_pj.value / before);
    before = c.bound_pj.value;
  }
}

void add_recording(const EnergyRecording& r, double sms, ClaimValues& values) {
  add_levels(r, sms, values);
  values["l1_one_thread_pj"].push_back(at_threads(find_access(r, "l1_load")->access, sms, 1));
  values["l2_few_threads_pj"].push_back(at_threads(find_access(r, "l2_load")->access, sms, 1));
  values["l2_few_threads_pj"].push_back(at_threads(find_access(r, "l2_load")->access, sms, 4));
  constexpr double warp = 32;
  values["divide_l1_over_l2"].push_back(r.l1_divide->value / r.l2_divide->value);
  values["divide_warp_nj"].push_back(warp * r.l1_divide->value / 1000);
  values["divide_warp_nj"].push_back(warp * r.l2_divide->value / 1000);
  values["idle_over_sleep"].push_back(r.phases->idle_w / r.phases->sleep_w);
  values["idle_after_over_before"].push_back(r.phases->idle_after_w / r.phases->idle_w);
}

TEST(EnergyClaims, Figures56To510) {
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  const double sms = find_gpu(gpus, "h200_sxm").sm_count;
  ClaimValues values;
  for (const char* session : {"session1", "session2"}) {
    const std::string folder =
        source_path("validation/captures/h200_2026-11-20_fit/energy/") + session;
    add_recording(evaluate_recording(folder, sms), sms, values);
  }
  const AccessEnergies a100 =
      load_energy(source_path("configs/gpus/a100_sxm4_80gb.json")).value().access;
  values["a100_shared_pj"] = {a100.shared_pj_per_sector};
  values["a100_l1_pj"] = {a100.l1_pj_per_sector};
  values["a100_l2_pj"] = {a100.l2_pj_per_sector};
  values["a100_dram_pj"] = {a100.dram_pj_per_sector};
  values["a100_idle_w"] = {a100.static_w};
  EXPECT_GE(
      check_claims(source_path("validation/claims/calibration/energy_calibration.json"), values),
      14);
}

GpuArch a100() { return find_gpu(load_catalogue(source_path("configs/gpus")), "a100_sxm4_80gb"); }

// The claims on figure 5.11 are rows of validation/claims/thesis_5.json.
TEST(TiledMatmul, TheBoundOfDataMovementLiesWithinTheDynamicEnergy) {
  const GpuArch gpu = a100();
  const EnergyConfig config = load_energy(source_path("configs/gpus/a100_sxm4_80gb.json")).value();
  const WorkRules rules = load_work_rules(source_path("configs/kernels/energy.json"));
  const LockedClock clock{1065 / gpu.boost_clock_mhz, 55, rules.clock};
  double smaller_j = 0;
  for (const double size : {512, 1024, 2048, 4096}) {
    const MatmulEnergy e = matmul_energy(gpu, config.trace, config.access, size, clock);
    EXPECT_GT(e.total_j - e.static_j, e.movement.total_j) << size;
    EXPECT_GT(e.total_j, smaller_j) << size;
    smaller_j = e.total_j;
  }
  EXPECT_GT(smaller_j, 0);
}

// 1024: 32 x 32 blocks of 32 warps, 32 steps: 1048576 warp-steps of 50 wavefronts (32 for B, 8
// loads of A of 2 each, 2 stores). Loaded are 2 x 32 words a warp-step, stored 1024 x 1024. Ten
// blocks on the busiest SM: 10 x 32 steps x 32 warps x 68 cycles (32 words of B and of A, 2 stored,
// 2 loaded, 128 bytes a cycle for 32 lanes).
TEST(TiledMatmul, Counts) {
  const GpuArch gpu = a100();
  const TiledMatmul m = tiled_matmul(gpu, 1024);
  EXPECT_EQ(m.flop, 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(m.shared_wavefronts, 1048576.0 * 50);
  EXPECT_EQ(m.l1_sectors, (1048576.0 * 64 + 1048576) / 8);
  EXPECT_EQ(m.l2_sectors, m.l1_sectors);
  EXPECT_EQ(m.dram_sectors, 3.0 * 1024 * 1024 * 4 / 32);  // 12 MB stay in L2
  EXPECT_EQ(m.busy_sm_cycles, 10.0 * 32 * 32 * 68);
  EXPECT_NEAR(m.time_us, 696320.0 / gpu.boost_clock_mhz, 1e-9);
}

TEST(TiledMatmul, LargeMatricesComeFromDramAgainAndAgain) {
  const GpuArch gpu = a100();
  const double once = 3.0 * 4096 * 4096 * 4 / 32;
  EXPECT_GT(tiled_matmul(gpu, 4096).dram_sectors, 10 * once);
  EXPECT_LT(tiled_matmul(gpu, 4096).dram_sectors, tiled_matmul(gpu, 4096).l2_sectors);
}

}  // namespace
}  // namespace tandem
