// Products that TorchInductor pads, against what PyTorch 2.11 did on an H200.
#include "models/whatif/compile/inductor/padding.h"

#include <gtest/gtest.h>

#include "models/arch/gpu_config.h"
#include "models/whatif/compile/inductor/fusion_law.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

class ProductPadding : public testing::Test {
 protected:
  const GpuArch gpu_ = find_gpu(load_catalogue(source_path("configs/gpus")), "h200_sxm");
  const PaddingLaw law_ = load_fusion_law(source_path("configs/kernels/fusion.json")).padding;

  static TensorShape matrix(std::int64_t rows, std::int64_t columns, bool turned, DataType type) {
    TensorShape s;
    s.rank = 2;
    s.dims[0] = rows;
    s.dims[1] = columns;
    s.strides[0] = turned ? 1 : columns;
    s.strides[1] = turned ? rows : 1;
    s.type = type;
    return s;
  }

  /// [m][k] times [k][n]; `turned`: the left operand is the transpose of [k][m].
  std::optional<Padding> padding(std::int64_t m, std::int64_t k, std::int64_t n, bool turned,
                                 MadeOperands made = {}, DataType type = DataType::fp16) const {
    ProductOperands p;
    p.left = matrix(m, k, turned, type);
    p.right = matrix(k, n, false, type);
    p.rows = m, p.inner = k, p.columns = n;
    return product_padding(gpu_, law_, p, made);
  }
};

// The gradient of GPT-2's embedding, 50257 words of 2048 tokens. A copy reads and writes 2 x 2 x
// 50257 x 2048 = 411.7 MB: 2.5 passes at 4800 GB/s take 214.4 us, 2.95 bytes a clock of each of 132
// SMs at 1980 MHz 534.0. PyTorch took 749.7.
TEST_F(ProductPadding, TurnedOperandsAreCopiedSlowly) {
  const auto p = padding(50257, 2048, 768, true);
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->moved, 411.7e6, 0.1e6);
  EXPECT_NEAR(p->tried_us, 748.4, 0.5);
  // 1.1 x (748.4 + 210) = 1054: of 1122 us padded, as it was; of 1050 it would not be.
  EXPECT_TRUE(keeps_padding(*p, 1122, 210));
  EXPECT_FALSE(keeps_padding(*p, 1050, 210));
}

// Whisper's, 51865 words of 1024 tokens: 212.4 MB take 386 us, and 1.1 x (386 + 75) = 507 is more
// than the 397 us of the product: it stayed as it was.
TEST_F(ProductPadding, AGradientOfFewTokensStays) {
  const auto p = padding(51865, 1024, 512, true);
  ASSERT_TRUE(p);
  EXPECT_FALSE(keeps_padding(*p, 397, 75));
}

// 512 FLOP a clock and sub-partition, 535 TFLOP/s, are 111 FLOP for each byte from DRAM, and half
// of that has to be reached: 64 x 320 x 21841 over what the three matrices hold is 52.
TEST_F(ProductPadding, ProductsThatMoveMuchAreNotTried) {
  EXPECT_FALSE(padding(64, 320, 21841, false));
  EXPECT_TRUE(padding(80, 320, 21841, false));  // 62
}

TEST_F(ProductPadding, OnlyUnalignedSidesArePadded) {
  EXPECT_FALSE(padding(4096, 768, 50304, false));
  EXPECT_FALSE(padding(4097, 768, 50304, false));  // rows of the left operand are aligned
  EXPECT_FALSE(padding(49152, 196, 384, false));   // rows of 392 bytes are good enough
}

// FP32 numbers in TF32, GPT-2's scores of 4096 tokens: a copy of the weights reads and writes
// 2 x 4 x 768 x 50257 = 308.8 MB: 1.5 passes take 96.5 us, twice 9.9 bytes a clock of an SM 59.7.
// Rows of four elements are good enough, which are 16 bytes here: BERT's 30522 words are padded.
TEST_F(ProductPadding, ProductsInTf32ArePaddedToo) {
  const auto p = padding(4096, 768, 50257, false, {}, DataType::fp32);
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->moved, 308.8e6, 0.1e6);
  EXPECT_NEAR(p->tried_us, 156.2, 0.5);
  EXPECT_TRUE(padding(2048, 768, 30522, false, {}, DataType::fp32));
  EXPECT_FALSE(padding(2048, 768, 30524, false, {}, DataType::fp32));
  // 256 FLOP a clock: 40 x 320 x 21841 over what the three matrices hold, 35, is more than 28.
  EXPECT_TRUE(padding(40, 320, 21841, false, {}, DataType::fp32));
  EXPECT_FALSE(padding(40, 320, 21841, false));
}

// An operand in order that compiled code makes is made where it shall lie; a turned one is copied.
TEST_F(ProductPadding, OperandsThatAreMadeCostNothing) {
  const auto read = padding(262144, 319, 256, false),
             made = padding(262144, 319, 256, false, {true, true});
  ASSERT_TRUE(read && made);
  EXPECT_GT(read->tried_us, 200);
  EXPECT_EQ(made->tried_us, 0);
  EXPECT_EQ(made->moved, read->moved);
  const auto turned = padding(50257, 2048, 768, true, {true, true});
  ASSERT_TRUE(turned);
  EXPECT_GT(turned->tried_us, 700);
}

}  // namespace
}  // namespace tandem
