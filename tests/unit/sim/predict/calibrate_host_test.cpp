// Calibration of the host model on traces whose unprofiled time is known by construction.
#include "sim/predict/calibrate_host.h"

#include <gtest/gtest.h>

#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string traces =
    source_path("validation/captures/h200_2026-11-21_networks_holdout/traces/");

ReplayOptions options() {
  ReplayOptions o;
  o.configs = source_path("configs");
  return o;
}

double predicted_us(const std::string& path, const ReplayOptions& o) {
  ReplayOptions with_path = o;
  with_path.trace_path = path;
  return replay(with_path).prediction.result.step.time_us;
}

TEST(CalibrateHost, FindsNothingToChangeWhereThePredictionIsTheMeasurement) {
  const std::string path = traces + "resnet50-infer-fp32-eager-b8.json.zst";
  const HostCalibration c = calibrate_host({{path, predicted_us(path, options())}}, options());
  EXPECT_NEAR(c.factor, 1, 1e-3);
  ASSERT_EQ(c.rows.size(), 1U);
  EXPECT_TRUE(c.rows[0].used);
  EXPECT_EQ(c.rows[0].left_out_us, 0);  // there is no other trace
}

TEST(CalibrateHost, MeetsAFasterHost) {
  const std::string path = traces + "resnet50-infer-fp32-eager-b8.json.zst";
  const double measured = 0.8 * predicted_us(path, options());
  const HostCalibration c = calibrate_host({{path, measured}}, options());
  EXPECT_LT(c.factor, 0.8);  // launch calls stay as they are, so the gaps shrink by more
  EXPECT_NEAR(c.rows[0].after_us, measured, 1e-3 * measured);
  EXPECT_NEAR(c.host.gap_scale_aligned / c.host.gap_scale_single,
              load_host_model(options().configs + "/hosts/default.json").gap_scale_aligned /
                  load_host_model(options().configs + "/hosts/default.json").gap_scale_single,
              1e-12);
}

TEST(CalibrateHost, LeavesOutWhatTheGpuDecides) {
  const std::string host_bound = traces + "resnet50-infer-fp32-eager-b8.json.zst";
  const std::string gpu_bound = traces + "mobilenet_v2-train-fp32-eager-b64.json.zst";
  const HostCalibration c = calibrate_host({{gpu_bound, predicted_us(gpu_bound, options())},
                                            {host_bound, predicted_us(host_bound, options())}},
                                           options());
  EXPECT_FALSE(c.rows[0].used);
  EXPECT_TRUE(c.rows[1].used);
  EXPECT_THROW(calibrate_host({{gpu_bound, predicted_us(gpu_bound, options())}}, options()),
               InputError);
}

TEST(MeasuredStep, IsMetWhereTheHostDecides) {
  ReplayOptions o = options();
  o.trace_path = traces + "resnet50-infer-fp32-eager-b8.json.zst";
  const double before_us = predicted_us(o.trace_path, o);
  for (const double factor : {0.8, 1.3}) {
    o.measured_step_us = factor * before_us;
    const Result r = replay(o).prediction.result;
    EXPECT_NEAR(r.step.time_us, o.measured_step_us, 1e-3 * o.measured_step_us);
    EXPECT_EQ(r.band_parts.basis, HostBasis::measured_step);
    EXPECT_EQ(r.losses.count("measured_step_out_of_reach"), 0);
  }
}

TEST(MeasuredStep, OfTheGpuBoundsTheHostFromAbove) {
  ReplayOptions o = options();
  o.trace_path = traces + "mobilenet_v2-train-fp32-eager-b64.json.zst";
  const double gpu_bound_us = predicted_us(o.trace_path, o);
  o.measured_step_us = gpu_bound_us;
  const Replay same = replay(o);
  EXPECT_NEAR(same.prediction.result.step.time_us, gpu_bound_us, 0.01 * gpu_bound_us);
  EXPECT_LE(same.run.configs.host.gap_scale_aligned,
            load_host_model(o.configs + "/hosts/default.json").gap_scale_aligned * (1 + 1e-9));
  o.measured_step_us = 0.5 * gpu_bound_us;  // no host is that fast
  EXPECT_EQ(replay(o).prediction.result.losses.count("measured_step_out_of_reach"), 1);
}

TEST(CalibrateHost, SaysWhatNoHostReaches) {
  const std::string path = traces + "resnet50-infer-fp32-eager-b8.json.zst";
  const double us = predicted_us(path, options());
  EXPECT_EQ(calibrate_host({{path, us}}, options()).losses.count("measured_step_out_of_reach"), 0);
  // Milliseconds for seconds.
  EXPECT_EQ(
      calibrate_host({{path, 1e3 * us}}, options()).losses.count("measured_step_out_of_reach"), 1);
}

TEST(CalibrateHost, RejectsATimeThatIsNone) {
  const std::string path = traces + "resnet50-infer-fp32-eager-b8.json.zst";
  EXPECT_THROW(calibrate_host({{path, 0}}, options()), InputError);
  EXPECT_THROW(calibrate_host({{path, -1}}, options()), InputError);
}

}  // namespace
}  // namespace tandem
