#include "models/kernel/time/tile_tables.h"

namespace tandem {
namespace {

using T = TimeGeneration;

// volta_sgemm_*, ampere_sgemm_*. Their blocks_per_sm are unverified: for about 128 registers where
// a thread has 64 results, 64 where it has 16. They only matter to what L2 shares.
constexpr MatrixTile sgemm_128x128{128, 128, 256, 1, 2, &T::simt_128x128};
constexpr MatrixTile sgemm_128x64{128, 64, 128, 1, 4, &T::simt_128x64};
constexpr MatrixTile sgemm_128x32{128, 32, 256, 1, 4, &T::simt_128x32};
constexpr MatrixTile sgemm_32x128{32, 128, 256, 1, 4, &T::simt_128x32};
constexpr MatrixTile sgemm_64x64{64, 64, 64, 1, 8, &T::simt_64x64};
constexpr MatrixTile sgemm_64x32_sliced{64, 32, 256, 4, 2, &T::simt_64x32};
constexpr MatrixTile sgemm_32x32_sliced{32, 32, 128, 4, 8, &T::simt_32x32};

constexpr MatrixTile volta_linear[] = {sgemm_128x128, sgemm_128x64,       sgemm_128x32,
                                       sgemm_32x128,  sgemm_64x32_sliced, sgemm_32x32_sliced};
constexpr MatrixTile volta_batched[] = {sgemm_64x64, sgemm_32x128};
constexpr MatrixTile ampere_linear[] = {sgemm_128x64, sgemm_128x32, sgemm_32x128,
                                        sgemm_64x32_sliced, sgemm_32x32_sliced};
constexpr MatrixTile only_128x128[] = {sgemm_128x128};

// sm80_xmma_gemm_f32f32: the FP32 kernels that run on compute capability 9; blocks_per_sm from the
// registers in our H200 traces.
constexpr MatrixTile hopper_simt[] = {
    {128, 128, 128, 1, 2, &T::simt_128x128}, {128, 64, 128, 1, 2, &T::simt_128x64},
    {64, 64, 128, 1, 4, &T::simt_64x64},     {128, 32, 128, 1, 4, &T::simt_128x32},
    {32, 128, 64, 1, 4, &T::simt_128x32},    {32, 32, 64, 1, 12, &T::simt_32x32}};

// scudnn_*: implicit GEMM. One efficiency; the narrow tile has that of a narrow product.
constexpr MatrixTile implicit_simt[] = {{128, 128, 256, 1, 2, &T::implicit_gemm},
                                        {128, 64, 128, 1, 4, &T::implicit_gemm},
                                        {128, 32, 64, 1, 8, &T::simt_128x32}};

constexpr MatrixTile tensor_tiles[] = {
    {256, 128, 256, 1, 1, nullptr}, {128, 256, 256, 1, 1, nullptr}, {128, 128, 128, 1, 2, nullptr},
    {256, 64, 128, 1, 2, nullptr},  {64, 256, 128, 1, 2, nullptr},  {128, 64, 128, 1, 3, nullptr},
    {64, 128, 128, 1, 3, nullptr},  {64, 64, 128, 1, 4, nullptr}};

// nvjet_sm90_*: the tiles that the names of aligned half products on H200 state, and transposes of
// the large ones. One block fills an SM's shared memory with operands; all run in clusters.
constexpr MatrixTile hopper_tma[] = {
    {256, 128, 256, 1, 1, nullptr, 2}, {128, 256, 256, 1, 1, nullptr, 2},
    {192, 192, 256, 1, 1, nullptr, 2}, {320, 128, 256, 1, 1, nullptr, 2},
    {128, 320, 256, 1, 1, nullptr, 2}, {192, 128, 256, 1, 1, nullptr, 2},
    {128, 192, 256, 1, 1, nullptr, 2}, {128, 128, 128, 1, 1, nullptr, 2},
    {96, 128, 128, 1, 1, nullptr, 2},  {128, 96, 128, 1, 1, nullptr, 2},
    {128, 64, 128, 1, 1, nullptr, 2},  {64, 128, 128, 1, 1, nullptr, 2},
    {64, 384, 256, 1, 1, nullptr, 2},  {64, 64, 128, 1, 1, nullptr, 2},
    {64, 48, 128, 1, 1, nullptr, 2},   {64, 32, 128, 1, 1, nullptr, 2},
    {64, 16, 128, 1, 1, nullptr, 2},   {64, 8, 128, 1, 1, nullptr, 2}};

// Menus and habits were seen on the fit rows of bmm, linear and conv (validation/fits/kernel_time):
// V100 splits k at many waves, A100 until the grid fills the GPU once; batched products on A100
// always run 128x128. Unverified: the rows for compute capability 9, which take what the traces of
// newer libraries on H200 show.
constexpr double any_split = 8;
constexpr TileMenu menus[] = {
    {7, MatrixUse::linear, false, volta_linear, any_split, 1.03},
    {7, MatrixUse::batched, false, volta_batched, 0, 1},
    {7, MatrixUse::winograd, false, volta_batched, 0, 1.05},
    {7, MatrixUse::convolution, false, implicit_simt, 0, 1},
    {8, MatrixUse::linear, false, ampere_linear, 1, 1.02},
    {8, MatrixUse::batched, false, only_128x128, 0, 1},
    {8, MatrixUse::winograd, false, only_128x128, 0, 1.28},
    {9, MatrixUse::linear, false, hopper_simt, 1, 1.02},
    {9, MatrixUse::batched, false, hopper_simt, 0, 1},
    {9, MatrixUse::winograd, false, hopper_simt, 0, 1},
    {7, MatrixUse::linear, true, tensor_tiles, 2, 1},
    {7, MatrixUse::batched, true, tensor_tiles, 0, 1},
    {7, MatrixUse::winograd, true, tensor_tiles, 0, 1},
    {7, MatrixUse::convolution, true, tensor_tiles, 2, 1},
    {9, MatrixUse::linear, true, hopper_tma, 1, 1, true},
    {9, MatrixUse::batched, true, hopper_tma, 0, 1, true},
};

}  // namespace

const TileMenu& tile_menu(const GpuArch& gpu, MatrixUse use, bool tensor, bool tma) {
  const TileMenu* best = nullptr;
  for (const TileMenu& menu : menus) {
    if (menu.use != use || menu.tensor != tensor || (menu.tma && !tma)) continue;
    if (best == nullptr || menu.compute_major <= gpu.compute_major) best = &menu;
  }
  return *best;
}

}  // namespace tandem
