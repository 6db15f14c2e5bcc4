// Back-to-back launches of one tiny kernel: period, SM activity and occupancy.
//
// Three stages, each seen on its own by bench/device/square. Blocks start at a limited rate. They
// live longer in the first wave of a launch, which finds code and constants cold. Their stores
// outlive them: where all blocks write the same lines, the L2 slices of these lines serve one
// request after the other, so a launch ends long after its last block (the SMs idle), or holds
// blocks back (the SMs are full of warps that wait).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/device.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Which lines the blocks of a launch store to. A warp stores one line.
enum class StoreTarget : std::uint8_t { own_lines, same_lines };

/// Constants of one GPU; documentation in constants.cpp. Cycles of the SM clock.
struct TinyConstants {
  double host_period_us = 0;
  double gap_us = 0;
  double spread_us = 0;
  double device_block_cycles = 0;
  double sm_block_cycles = 0;
  double sm_block_warp_cycles = 0;
  double sm_warp_cycles = 0;
  double overlap = 0;
  double cold_life_cycles = 0;
  double cold_life_warp_cycles = 0;
  double warm_life_cycles = 0;
  double warm_life_warp_cycles = 0;
  double request_rate = 0;
  double request_rate_line = 0;
  double queue_stores = 0;
  double merge_lines = 0;
  double first_merge_lines = 0;
  double stall_fill = 0;

  std::vector<Provenance> origins;  // in the order above
};

/// Reads the constants of the GPU config called `gpu`. Errors: InputError if the file has none for
/// it, or if a constant is missing, unknown or out of range.
TinyConstants load_tiny_constants(const std::string& path, std::string_view gpu);

/// One launch in a steady sequence. Ratios are those of DCGM, over the period.
struct TinyLaunchCost {
  double period_us = 0;           // from launch to launch
  double engine_us = 0;           // of it, the GPU works on the launch
  double sm_active_cycles = 0;    // with a block resident, mean over all SMs
  double warp_active_cycles = 0;  // sum over the resident warps, mean over all SMs
  double gract = 0;               // engine active
  double smact = 0;               // SM active
  double smocc = 0;               // resident warps / maximum
};

/// The kernel of EuroMLSys'23 section 3.2.1 (bench/device/square): a load, a product and a store a
/// thread.
inline LaunchGeometry square_launch(std::uint32_t blocks, std::uint32_t threads) {
  constexpr std::uint32_t registers = 16;
  return {{blocks, 1, 1}, {threads, 1, 1}, registers, 0};
}

/// Errors: InputError for a launch that the GPU would refuse.
TinyLaunchCost back_to_back(const GpuArch& gpu, const LaunchGeometry& geometry, StoreTarget stores,
                            const TinyConstants& constants);

}  // namespace tandem
