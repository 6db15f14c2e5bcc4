// GPU configs: published peaks, catalogue look-up, matching of traced devices, overrides, writer.
#include "models/arch/gpu_arch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "models/arch/default_gpus.h"
#include "models/arch/gpu_config.h"
#include "models/arch/gpu_fields.h"
#include "sim/core/fields/field.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string folder = source_path("configs/gpus");

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

void apply_override(GpuArch& gpu, const std::string& text) { apply_overrides(gpu, {&text, 1}); }

DeviceProperties device(const std::string& name, int major, int minor, int sms,
                        std::int64_t memory) {
  DeviceProperties properties;
  properties.name = name;
  properties.compute_major = major;
  properties.compute_minor = minor;
  properties.sm_count = sms;
  properties.memory_bytes = memory;
  return properties;
}

TEST(GpuCatalogue, HasTheExpectedGpusInOrder) {
  const GpuCatalogue catalogue = load_catalogue(folder);
  std::vector<std::string> names;
  for (const GpuArch& gpu : catalogue.gpus) names.push_back(gpu.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name :
       {"v100_sxm2_16gb", "v100_sxm2_32gb", "v100_pcie_16gb", "v100_pcie_32gb", "a100_sxm4_40gb",
        "a100_sxm4_80gb", "a100_pcie_40gb", "a100_pcie_80gb", "h100_sxm5", "h200_sxm"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(GpuCatalogue, EveryValueHasAnOrigin) {
  const GpuCatalogue catalogue = load_catalogue(folder);
  ASSERT_GE(catalogue.gpus.size(), 10U);
  for (const GpuArch& gpu : catalogue.gpus) {
    ASSERT_EQ(gpu.origins.size(), gpu_fields().size());
    for (const Provenance& origin : gpu.origins) {
      EXPECT_FALSE(origin.source.empty());
      EXPECT_EQ(origin.kind == ValueKind::fitted, !origin.fitted_on.empty());
    }
  }
}

TEST(GpuArch, PublishedTensorPeaks) {
  const GpuCatalogue c = load_catalogue(folder);
  // 80 SMs x 512 FMA x 2 x 1.530 GHz = 125.3; 108 x 1024 x 2 x 1.410 = 311.9;
  // 132 x 2048 x 2 x 1.830 = 989.4 TFLOP/s.
  EXPECT_NEAR(tensor_peak_tflops(find_gpu(c, "v100_sxm2_16gb"), MathType::fp16, 1530), 125.3, 0.1);
  EXPECT_NEAR(tensor_peak_tflops(find_gpu(c, "a100_sxm4_80gb"), MathType::bf16, 1410), 311.9, 0.1);
  EXPECT_NEAR(tensor_peak_tflops(find_gpu(c, "a100_sxm4_80gb"), MathType::tf32, 1410), 156, 0.1);
  EXPECT_NEAR(tensor_peak_tflops(find_gpu(c, "a100_sxm4_80gb"), MathType::fp64, 1410), 19.5, 0.1);
  EXPECT_NEAR(tensor_peak_tflops(find_gpu(c, "h100_sxm5"), MathType::fp16, 1830), 989.4, 0.1);
  EXPECT_NEAR(tensor_peak_tflops(find_gpu(c, "h200_sxm"), MathType::fp8, 1830), 1978.9, 0.2);
  EXPECT_EQ(tensor_fma_per_clk(find_gpu(c, "v100_sxm2_16gb"), MathType::tf32), 0);
}

TEST(GpuArch, PublishedFp32PeaksAndCounts) {
  const GpuCatalogue c = load_catalogue(folder);
  // 80 SMs x 64 x 2 x 1.530 = 15.67; 108 x 64 x 2 x 1.410 = 19.49; 132 x 128 x 2 x 1.980 = 66.9.
  EXPECT_NEAR(fp32_peak_tflops(find_gpu(c, "v100_sxm2_32gb"), 1530), 15.67, 0.01);
  EXPECT_NEAR(fp32_peak_tflops(find_gpu(c, "a100_pcie_40gb"), 1410), 19.49, 0.01);
  EXPECT_NEAR(fp32_peak_tflops(find_gpu(c, "h200_sxm"), 1980), 66.9, 0.02);
  EXPECT_EQ(smsp_count(find_gpu(c, "h200_sxm")), 528);
  EXPECT_EQ(max_warps_per_sm(find_gpu(c, "v100_sxm2_16gb")), 64);
}

TEST(FindGpu, ByNameDisplayNameAndAliasInAnyCase) {
  const GpuCatalogue c = load_catalogue(folder);
  EXPECT_EQ(find_gpu(c, "H200_SXM").name, "h200_sxm");
  EXPECT_EQ(find_gpu(c, "nvidia h200").name, "h200_sxm");
  EXPECT_EQ(find_gpu(c, "NVIDIA A100 SXM4 80 GB").name, "a100_sxm4_80gb");
}

TEST(FindGpu, UnknownNameListsTheKnownOnesAndTheNearest) {
  const GpuCatalogue c = load_catalogue(folder);
  std::string known = "gpu: found unknown GPU \"{}\", expected one of: ";
  for (const GpuArch& gpu : c.gpus) known += (&gpu == &c.gpus.front() ? "" : ", ") + gpu.name;
  const auto text = [&](const std::string& name) {
    return std::string(known).replace(known.find("{}"), 2, name);
  };
  EXPECT_EQ(error_of([&] { find_gpu(c, "h200_smx"); }),
            text("h200_smx") + "; did you mean h200_sxm?");
  EXPECT_EQ(error_of([&] { find_gpu(c, "sxm4_80"); }),
            text("sxm4_80") + "; did you mean a100_sxm4_80gb?");
  EXPECT_EQ(error_of([&] { find_gpu(c, "Radeon Instinct"); }), text("Radeon Instinct"));
}

TEST(DefaultGpus, AreOfTheCatalogue) {
  const GpuCatalogue catalogue = load_catalogue(folder);
  const std::string path = source_path("configs/defaults.json");
  const DefaultGpus gpus = load_default_gpus(path, catalogue);
  EXPECT_EQ(find_gpu(catalogue, gpus.network).name, gpus.network);
  EXPECT_EQ(find_gpu(catalogue, gpus.square).name, gpus.square);
  GpuCatalogue fewer = catalogue;
  std::erase_if(fewer.gpus, [&](const GpuArch& gpu) { return gpu.name == gpus.square; });
  const std::string error = error_of([&] { load_default_gpus(path, fewer); });
  EXPECT_NE(error.find("square_gpu.value: found unknown GPU \"" + gpus.square + "\""),
            std::string::npos)
      << error;
}

TEST(MatchDevice, NamesThatTracesReport) {
  const GpuCatalogue c = load_catalogue(folder);
  const auto match = [&](const DeviceProperties& d) { return match_device(c, d).gpu->name; };
  EXPECT_EQ(match(device("NVIDIA H200", 9, 0, 132, 150109880320)), "h200_sxm");
  EXPECT_EQ(match(device("NVIDIA H100 80GB HBM3", 9, 0, 132, 85018279936)), "h100_sxm5");
  EXPECT_EQ(match(device("NVIDIA A100-PG509-200", 8, 0, 108, 42297524224)), "a100_sxm4_40gb");
  EXPECT_EQ(match(device("NVIDIA A100-SXM4-80GB", 8, 0, 108, 84990623744)), "a100_sxm4_80gb");
  EXPECT_EQ(match(device("NVIDIA A100-PCIE-40GB", 8, 0, 108, 0)), "a100_pcie_40gb");
  EXPECT_EQ(match(device("Tesla V100-SXM2-32GB", 7, 0, 80, 34079637504)), "v100_sxm2_32gb");
  EXPECT_EQ(match(device("Tesla V100-DGXS-32GB", 7, 0, 80, 34084028416)), "v100_sxm2_32gb");
  EXPECT_EQ(match(device("Tesla V100-PCIE-16GB", 0, 0, 0, 0)), "v100_pcie_16gb");
  EXPECT_TRUE(match_device(c, device("NVIDIA H200", 9, 0, 132, 0)).by_name);
}

TEST(MatchDevice, UnknownNamesByTheirProperties) {
  const GpuCatalogue c = load_catalogue(folder);
  // The name decides between boards that agree in everything else.
  const DeviceMatch match = match_device(c, device("Tesla V100-SXM3-32GB", 7, 0, 80, 34358689792));
  ASSERT_NE(match.gpu, nullptr);
  EXPECT_EQ(match.gpu->name, "v100_sxm2_32gb");
  EXPECT_FALSE(match.by_name);
  // The form factor goes before what names have in common.
  const auto name = [&](const char* of, int major, int sms, std::int64_t bytes) {
    return match_device(c, device(of, major, 0, sms, bytes)).gpu->name;
  };
  EXPECT_EQ(name("NVIDIA A800-SXM4-80GB", 8, 108, 85'000'000'000), "a100_sxm4_80gb");
  EXPECT_EQ(name("NVIDIA A800 80GB PCIe", 8, 108, 85'000'000'000), "a100_pcie_80gb");
}

TEST(MatchDevice, NoneRatherThanAWrongOne) {
  const GpuCatalogue c = load_catalogue(folder);
  const auto none = [&](const DeviceProperties& d) { return match_device(c, d).gpu == nullptr; };
  EXPECT_TRUE(none(device("NVIDIA H800 PCIe", 9, 0, 120, 85000000000)));     // other SM count
  EXPECT_TRUE(none(device("NVIDIA GH200 480GB", 9, 0, 132, 101000000000)));  // other memory
  EXPECT_TRUE(none(device("NVIDIA H200", 9, 0, 16, 18000000000)));           // a slice of one
  EXPECT_TRUE(none(device("Tesla T4", 0, 0, 0, 0)));                         // nothing to go by
  EXPECT_EQ(match_device(c, device("NVIDIA H200", 9, 0, 78, 0)).differs,
            "it has 78 SMs, h200_sxm has 132");
}

TEST(Override, ChangesTheValueAndItsOrigin) {
  GpuArch gpu = load_gpu(std::string(folder) + "/h200_sxm.json");
  apply_override(gpu, "gpu.dram_peak_gbps=6000 GB/s");
  EXPECT_EQ(gpu.dram_peak_gbps, 6000);
  EXPECT_EQ(origin(gpu, "dram_peak_gbps").source, "override: gpu.dram_peak_gbps=6000 GB/s");
  EXPECT_TRUE(origin(gpu, "dram_peak_gbps").overridden);
  EXPECT_FALSE(origin(gpu, "l2_bytes").overridden);
  apply_override(gpu, "gpu.tensor_family=hmma_16816");
  EXPECT_EQ(gpu.tensor_family, TensorFamily::hmma_16816);
  apply_override(gpu, "gpu.shared_carveouts_bytes=[0, 102400, 233472]");
  EXPECT_EQ(gpu.shared_carveouts_bytes, (std::vector<std::int64_t>{0, 102400, 233472}));
}

TEST(Override, SeveralAreCheckedTogether) {
  // 160 SMs in groups of 150 contradict each other; together with groups of 160 they are a GPU.
  GpuArch gpu = load_gpu(std::string(folder) + "/h200_sxm.json");
  const std::vector<std::string> wrong{"gpu.sm_count=160", "gpu.cluster_group_sms=[80,70]"};
  EXPECT_EQ(error_of([&] { apply_overrides(gpu, wrong); }),
            "override:cluster_group_sms: found a sum of 150, expected a sum of sm_count");
  EXPECT_EQ(gpu.sm_count, 132);  // unchanged after the error
  const std::vector<std::string> both{"gpu.sm_count=160", "gpu.cluster_group_sms=[80,80]"};
  apply_overrides(gpu, both);
  EXPECT_EQ(gpu.sm_count, 160);
}

TEST(Override, WhatGoesWithAValueFollowsIt) {
  const GpuArch before = load_gpu(std::string(folder) + "/h200_sxm.json");
  GpuArch gpu = before;
  apply_override(gpu, "gpu.sm_count=66");
  EXPECT_EQ(std::accumulate(gpu.cluster_group_sms.begin(), gpu.cluster_group_sms.end(), 0), 66);
  EXPECT_EQ(gpu.tpc_count, 33);
  apply_override(gpu, "gpu.dram_peak_gbps=2400");  // half of 4800
  EXPECT_DOUBLE_EQ(gpu.dram_read_gbps, before.dram_read_gbps / 2);
  EXPECT_DOUBLE_EQ(gpu.dram_copy_gbps, before.dram_copy_gbps / 2);
  apply_override(gpu, "gpu.l2_bytes=31457280");
  EXPECT_EQ(gpu.l2_dirty_bytes, before.l2_dirty_bytes / 2);
  // A value that was set itself stays as set.
  apply_overrides(gpu, std::vector<std::string>{"gpu.boost_clock_mhz=990", "gpu.base_clock_mhz=500",
                                                "gpu.tensor_clock_mhz=900"});
  EXPECT_EQ(gpu.tensor_clock_mhz, 900);
  EXPECT_EQ(gpu.base_clock_mhz, 500);
}

// A file that states one number more than its base is the base with that number overridden, but for
// its name and its sources.
TEST(Override, AFileWithABaseSaysTheSame) {
  const std::string path = testing::TempDir() + "/h200_of_half.json";
  std::ofstream(path) << R"({"schema": "tandem.gpu/1", "name": "h200_of_half", "display_name": "H",
    "aliases": [], "base": "h200_sxm", "values": {
    "sm_count": {"value": 66, "unit": "count", "kind": "spec", "source": "what if"},
    "dram_peak_gbps": {"value": 2400, "unit": "GB/s", "kind": "spec", "source": "what if"}}})";
  GpuFiles files{std::string(folder)};
  const GpuArch stated = load_gpu(path, files);
  GpuArch set = load_gpu(std::string(folder) + "/h200_sxm.json");
  apply_overrides(set, std::vector<std::string>{"gpu.sm_count=66", "gpu.dram_peak_gbps=2400"});
  EXPECT_EQ(stated.cluster_group_sms, set.cluster_group_sms);
  EXPECT_EQ(stated.tpc_count, 33);
  EXPECT_EQ(stated.dram_read_gbps, set.dram_read_gbps);
  EXPECT_EQ(stated.dram_copy_gbps, set.dram_copy_gbps);
}

TEST(Override, Errors) {
  GpuArch gpu = load_gpu(std::string(folder) + "/h200_sxm.json");
  const auto error = [&](const std::string& text) {
    return error_of([&] { apply_override(gpu, text); });
  };
  EXPECT_EQ(error("sm_count=1"), "override: found \"sm_count=1\", expected gpu.KEY=VALUE");
  EXPECT_EQ(error("gpu.sm_count"), "override: found \"gpu.sm_count\", expected gpu.KEY=VALUE");
  EXPECT_EQ(error("gpu.l2_bytes=5 MB"), "override:gpu.l2_bytes: found unit \"MB\", expected B");
  EXPECT_EQ(error("gpu.sm_count=-3"),
            "override:gpu.sm_count: found number -3, expected a whole number > 0");
  EXPECT_EQ(error("gpu.sm_count=1.5"),
            "override:gpu.sm_count: found number 1.5, expected a whole number > 0");
  EXPECT_EQ(error("gpu.tdp_w=nan"),
            "override:gpu.tdp_w: found text \"nan\", expected a number > 0");
  EXPECT_EQ(error("gpu.tdp_w="), "override:gpu.tdp_w: found text \"\", expected a number > 0");
  EXPECT_EQ(error("gpu.tensor_family=wmma"),
            "override:gpu.tensor_family: found text \"wmma\", expected one of: hmma_884, "
            "hmma_16816, gmma");
  const std::string unknown = error("gpu.smcount=1");
  EXPECT_TRUE(unknown.starts_with(
      "override:gpu.smcount: found unknown key \"smcount\", expected one of: compute_major, "))
      << unknown;
}

TEST(Writer, RoundTripsEveryGpu) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "tandem_gpus";
  std::filesystem::create_directories(dir);
  const GpuCatalogue catalogue = load_catalogue(folder);
  ASSERT_GE(catalogue.gpus.size(), 10U);
  for (const GpuArch& gpu : catalogue.gpus) {
    const std::string path = (dir / (gpu.name + ".json")).string();
    std::ofstream(path) << to_json(gpu);
    EXPECT_EQ(to_json(load_gpu(path)), to_json(gpu));
  }
}

TEST(Template, FilledInIsAConfig) {
  const GpuArch gpu = load_gpu(std::string(folder) + "/h200_sxm.json");
  Json json = parse_json(gpu_template(), "template");
  const Json values = parse_json(to_json(gpu), "config")["values"];
  ASSERT_EQ(json["values"].size(), values.size());
  for (const auto& [key, value] : values.items()) json["values"][key]["value"] = value["value"];
  json["name"] = "paper_gpu";
  const std::string path = testing::TempDir() + "/paper_gpu.json";
  std::ofstream(path) << json.dump();
  EXPECT_EQ(load_gpu(path).sm_count, 132);
}

TEST(Describe, NamesEveryValueWithUnitKindAndSource) {
  const std::string text = describe(load_gpu(std::string(folder) + "/v100_pcie_16gb.json"));
  for (const Field<GpuArch>& f : gpu_fields()) {
    EXPECT_NE(text.find("\n" + f.name), std::string::npos) << f.name;
  }
  EXPECT_NE(text.find("smsp_per_sm"), std::string::npos);
  EXPECT_NE(text.find("cuda_occupancy.h of the CUDA toolkit"), std::string::npos);
}

TEST(Fields, NamesAreUniqueAndDescribed) {
  std::set<std::string> names;
  for (const Field<GpuArch>& f : gpu_fields()) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_FALSE(f.doc.empty()) << f.name;
    EXPECT_FALSE(f.unit.empty()) << f.name;
  }
}

}  // namespace
}  // namespace tandem
