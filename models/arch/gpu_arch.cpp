#include "models/arch/gpu_arch.h"

#include "models/arch/gpu_fields.h"
#include "sim/core/fields/field.h"

namespace tandem {

GpuArch::GpuArch() = default;
GpuArch::GpuArch(const GpuArch&) = default;
GpuArch::GpuArch(GpuArch&&) noexcept = default;
GpuArch& GpuArch::operator=(const GpuArch&) = default;
GpuArch& GpuArch::operator=(GpuArch&&) noexcept = default;
GpuArch::~GpuArch() = default;

namespace {

// FMA/clk/SM x SMs x MHz x 2 FLOP, in TFLOP/s.
double peak_tflops(const GpuArch& gpu, double fma_per_clk, double clock_mhz) {
  return 2.0 * fma_per_clk * gpu.sm_count * clock_mhz * 1e-6;
}

}  // namespace

MathType math_type(DataType type, MathType otherwise) {
  switch (type) {
    case DataType::fp16: return MathType::fp16;
    case DataType::bf16: return MathType::bf16;
    case DataType::tf32: return MathType::tf32;
    case DataType::fp64: return MathType::fp64;
    case DataType::int8: return MathType::int8;
    default: return otherwise;
  }
}

double tensor_fma_per_clk(const GpuArch& gpu, MathType type) {
  switch (type) {
    case MathType::fp16: return gpu.tensor_fp16_fma_per_clk;
    case MathType::bf16: return gpu.tensor_bf16_fma_per_clk;
    case MathType::tf32: return gpu.tensor_tf32_fma_per_clk;
    case MathType::fp8: return gpu.tensor_fp8_fma_per_clk;
    case MathType::int8: return gpu.tensor_int8_fma_per_clk;
    case MathType::fp64: return gpu.tensor_fp64_fma_per_clk;
  }
  return 0.0;
}

double tensor_peak_tflops(const GpuArch& gpu, MathType type, double clock_mhz) {
  return peak_tflops(gpu, tensor_fma_per_clk(gpu, type), clock_mhz);
}

double fp32_peak_tflops(const GpuArch& gpu, double clock_mhz) {
  return peak_tflops(gpu, fp32_fma_per_clk(gpu), clock_mhz);
}

const Provenance& origin(const GpuArch& gpu, std::string_view name) {
  const auto fields = gpu_fields();
  const Field<GpuArch>& found = find_field(fields, name, {gpu.name, std::string(name)});
  return gpu.origins.at(static_cast<std::size_t>(&found - fields.data()));
}

}  // namespace tandem
