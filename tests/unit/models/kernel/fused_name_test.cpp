#include "models/kernel/classify/fused_name.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(FusedName, SaysWhatTheKernelComputes) {
  EXPECT_TRUE(fused_name("triton_red_fused_add_native_layer_norm_backward_7").reduces);
  EXPECT_TRUE(fused_name("triton_red_fused_add_native_layer_norm_backward_7").norm_gradient);
  EXPECT_FALSE(fused_name("triton_poi_fused_add_gelu_3").reduces);
  EXPECT_TRUE(fused_name("triton_poi_fused_silu_silu_backward_4").activation_gradient);
  EXPECT_FALSE(fused_name("triton_poi_fused_silu_4").activation_gradient);
  EXPECT_TRUE(fused_name("triton_poi_fused_native_dropout_2").makes_mask);
  EXPECT_FALSE(fused_name("triton_poi_fused_relu_2").makes_mask);
}

// What only moves numbers may stand beside the sum; a product may not.
TEST(FusedName, TellsSumsAlone) {
  EXPECT_TRUE(fused_name("triton_red_fused__to_copy_sum_view_12").only_sums);
  EXPECT_FALSE(fused_name("triton_red_fused_mul_sum_12").only_sums);
  EXPECT_FALSE(fused_name("triton_poi_fused__to_copy_view_12").only_sums);
  EXPECT_FALSE(fused_name("sum").only_sums);
}

// `copy_` writes into its operand, `_to_copy` makes another one.
TEST(FusedName, TellsCopiesIntoOperandsFromConversions) {
  EXPECT_TRUE(fused_name("triton_poi_fused_add_copy__5").updates_operand);
  EXPECT_TRUE(fused_name("triton_poi_fused__to_copy__copy__5").updates_operand);
  EXPECT_FALSE(fused_name("triton_poi_fused__to_copy__5").updates_operand);
  EXPECT_TRUE(fused_name("triton_poi_fused_add_index_copy_2").fills_places);
  EXPECT_FALSE(fused_name("triton_poi_fused_add_copy__5").fills_places);
}

}  // namespace
}  // namespace tandem
