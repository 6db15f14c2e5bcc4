#include "models/ops/op_table.h"

#include <iterator>

#include "sim/core/named.h"

namespace tandem {
namespace {

using K = OpKind;
using L = Layer;
using O = OutputRule;
constexpr CastPolicy lower = CastPolicy::lower, full = CastPolicy::full, widen = CastPolicy::widen,
                     promote = CastPolicy::promote;

// names | kind, layer, autocast, outputs | arguments | flags, backward
constexpr OpRow rows[] = {
    // Optimizers and gradient scaling: operands are lists, whose shapes are not recorded.
    {"_foreach_* _fused_adam* _fused_sgd* _fused_adagrad*",  //
     K::optimizer, L::optimizer, promote, O::none, arguments("")},
    {"_foreach_mul", K::optimizer, L::optimizer, promote, O::none, arguments(""), multiplies},
    {"_foreach_sqrt _foreach_add", K::optimizer, L::optimizer, promote, O::none, arguments(""),
     copies_all},
    {"_amp_foreach_non_finite_check_and_unscale", K::optimizer, L::optimizer, promote, O::none,
     arguments(""), scales_loss | checks_gradients},
    {"_amp_update_scale", K::optimizer, L::optimizer, promote, O::none, arguments(""), scales_loss},

    // Attention.
    {"scaled_dot_product_attention", K::attention, L::attention, lower, O::same,
     arguments("query key value mask dropout causal scale ...")},
    {"_scaled_dot_product_flash_attention", K::attention, L::attention, lower, O::same,
     arguments("query key value dropout causal ...")},
    {"_scaled_dot_product_efficient_attention", K::attention, L::attention, lower, O::same,
     arguments("query key value mask - dropout causal scale ...")},
    {"_scaled_dot_product_cudnn_attention", K::attention, L::attention, lower, O::same,
     arguments("query key value mask - dropout causal - scale ...")},
    {"_scaled_dot_product_attention_math", K::attention, L::attention, lower, O::same,
     arguments("query key value mask dropout causal - scale ..."), full_inside},
    {"_scaled_dot_product_flash_attention_for_cpu customflash::custom_flash_aligned", K::attention,
     L::attention, lower, O::same, arguments("query key value ...")},
    {"_native_multi_head_attention", K::attention, L::attention, lower, O::same,
     arguments("query key value ..."), fast_path},
    {"_transform_bias_rescale_qkv", K::pointwise, L::attention, promote, O::none,
     arguments("input weight")},
    {"_masked_softmax", K::softmax, L::softmax, widen, O::same, arguments("tensor index - -")},
    {"_transformer_encoder_layer_fwd", K::other, L::around, promote, O::same, arguments("input"),
     whole_block},
    {"_flash_attention_forward", K::attention, L::attention, lower, O::same,
     arguments("query key value tensor tensor - - dropout causal ..."), length_first},
    {"_efficient_attention_forward", K::attention, L::attention, lower, O::same,
     arguments("query key value mask tensor tensor - - dropout causal ..."), length_first},
    {"_cudnn_attention_forward", K::attention, L::attention, lower, O::same,
     arguments("query key value mask tensor tensor - - - dropout causal ...")},
    {"_flash_attention_backward", K::attention_backward, L::attention, lower, O::gradients,
     arguments("grad saved_query saved_key saved_value result result tensor tensor - - dropout "
               "causal ..."),
     length_first, true},
    {"_efficient_attention_backward", K::attention_backward, L::attention, lower, O::gradients,
     arguments("grad saved_query saved_key saved_value mask result tensor tensor - - tensor "
               "dropout tensor tensor causal ..."),
     length_first, true},
    {"_cudnn_attention_backward", K::attention_backward, L::attention, lower, O::gradients,
     arguments("grad saved_query saved_key saved_value result result tensor tensor mask tensor "
               "tensor - - dropout causal ..."),
     0, true},
    {"_scaled_dot_product_flash_attention_backward", K::attention_backward, L::attention, lower,
     O::gradients,
     arguments("grad saved_query saved_key saved_value result result tensor tensor - - dropout "
               "causal ..."),
     0, true},
    {"_scaled_dot_product_cudnn_attention_backward", K::attention_backward, L::attention, lower,
     O::gradients,
     arguments("grad saved_query saved_key saved_value result result tensor tensor mask tensor "
               "tensor - - dropout causal ..."),
     0, true},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", K::attention_backward, L::attention,
     lower, O::gradients, arguments("grad saved_query saved_key saved_value result result ..."), 0,
     true},
    {"_scaled_dot_product_efficient_attention_backward", K::attention_backward, L::attention, lower,
     O::gradients,
     arguments(
         "grad saved_query saved_key saved_value mask result result tensor tensor dropout asked "
         "causal ..."),
     0, true},

    // Convolutions.
    {"conv1d conv2d conv3d cudnn_convolution_relu", K::convolution, L::convolution, lower,
     O::convolution, arguments("input weight weight stride padding dilation groups")},
    {"conv_transpose1d conv_transpose2d conv_transpose3d", K::convolution, L::convolution, lower,
     O::convolution, arguments("input weight weight stride padding output_padding groups dilation"),
     transposed_convolution},
    {"convolution _convolution convolution_overrideable", K::convolution, L::convolution, lower,
     O::convolution,
     arguments("input weight weight stride padding dilation transposed output_padding groups")},
    {"cudnn_convolution", K::convolution, L::convolution, lower, O::convolution,
     arguments("input weight padding stride dilation groups")},
    {"cudnn_convolution_add_relu", K::convolution, L::convolution, lower, O::convolution,
     arguments("input weight tensor - weight stride padding dilation groups")},
    {"cudnn_convolution_transpose", K::convolution, L::convolution, lower, O::convolution,
     arguments("input weight padding output_padding stride dilation groups"),
     transposed_convolution},
    {"slow_conv2d_forward", K::convolution, L::convolution, lower, O::type_only,
     arguments("input weight - weight stride padding")},
    {"_conv_depthwise2d conv_depthwise3d", K::convolution, L::convolution, lower, O::convolution,
     arguments("input weight - weight stride padding dilation")},
    {"convolution_backward", K::convolution_backward, L::convolution, lower, O::gradients,
     arguments("grad saved saved_weight - stride padding dilation transposed - groups"), 0, true},
    {"_conv_depthwise2d_backward", K::convolution_backward, L::convolution, lower, O::gradients,
     arguments("grad saved saved_weight - stride padding dilation"), 0, true},
    {"cudnn_convolution_backward", K::convolution_backward, L::convolution, lower, O::gradients,
     arguments("saved grad saved_weight padding stride dilation groups"), 0, true},
    {"cudnn_convolution_backward_input", K::convolution_backward, L::convolution, lower,
     O::type_only, arguments("- grad saved_weight padding stride dilation groups"), 0, true},
    {"cudnn_convolution_backward_weight", K::convolution_backward, L::convolution, lower,
     O::type_only, arguments("- grad saved padding stride dilation groups"), 0, true},

    // Norms.
    {"batch_norm _batch_norm_impl_index native_batch_norm cudnn_batch_norm instance_norm "
     "_native_batch_norm_legit _native_batch_norm_legit_no_training _batch_norm_with_update "
     "batch_norm_elemt SyncBatchNorm",
     K::batch_norm, L::batch_norm, promote, O::same,
     arguments("input parameter parameter parameter parameter")},
    {"batch_norm_stats batch_norm_collect_statistics batch_norm_update_stats", K::batch_norm,
     L::batch_norm, promote, O::channels, arguments("input")},
    {"cudnn_batch_norm_backward", K::batch_norm_backward, L::batch_norm, promote, O::norm_gradients,
     arguments("saved grad parameter parameter parameter parameter parameter"), 0, true},
    {"native_batch_norm_backward batch_norm_backward batch_norm_backward_elemt "
     "batch_norm_backward_reduce SyncBatchNormBackward",
     K::batch_norm_backward, L::batch_norm, promote, O::norm_gradients,
     arguments("grad saved parameter parameter parameter parameter parameter"), 0, true},
    {"layer_norm native_layer_norm", K::row_norm, L::layer_norm, full, O::same,
     arguments("input - parameter parameter")},
    {"rms_norm _fused_rms_norm", K::row_norm, L::layer_norm, full, O::same,
     arguments("input - parameter")},
    {"group_norm", K::row_norm, L::group_norm, full, O::same,
     arguments("input - parameter parameter")},
    {"native_group_norm", K::row_norm, L::group_norm, full, O::same,
     arguments("input parameter parameter")},
    {"native_layer_norm_backward", K::row_norm_backward, L::layer_norm, promote, O::norm_gradients,
     arguments("grad saved - fixed fixed parameter parameter"), 0, true},
    {"_fused_rms_norm_backward", K::row_norm_backward, L::layer_norm, promote, O::gradients,
     arguments("grad saved - fixed saved_weight"), 0, true},
    {"native_group_norm_backward", K::row_norm_backward, L::group_norm, promote, O::norm_gradients,
     arguments("grad saved fixed fixed parameter"), 0, true},
    {"softmax _softmax _safe_softmax", K::softmax, L::softmax, widen, O::same,
     arguments("input dims type")},
    // A loss converts before it calls this.
    {"log_softmax _log_softmax", K::softmax, L::softmax, full, O::same,
     arguments("input dims type")},
    {"_softmax_backward_data _log_softmax_backward_data", K::softmax_backward, L::softmax, promote,
     O::same, arguments("grad result dims type"), 0, true},

    // Pooling.
    {"max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices", K::pooling,
     L::pooling, promote, O::pooling, arguments("input kernel stride padding dilation")},
    {"avg_pool1d avg_pool2d avg_pool3d", K::pooling, L::pooling, promote, O::pooling,
     arguments("input kernel stride padding")},
    {"adaptive_avg_pool1d adaptive_avg_pool2d _adaptive_avg_pool2d adaptive_max_pool2d "
     "fractional_max_pool2d",
     K::pooling, L::pooling, promote, O::adaptive_pooling, arguments("input kernel")},
    {"max_pool2d_with_indices_backward", K::pooling_backward, L::pooling, promote, O::gradients,
     arguments("grad saved kernel stride padding dilation - result"), 0, true},
    {"max_pool3d_with_indices_backward", K::pooling_backward, L::pooling, promote, O::gradients,
     arguments("grad saved kernel stride padding dilation - result"), not_generated, true},
    {"avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward", K::pooling_backward,
     L::pooling, promote, O::gradients, arguments("grad saved kernel stride padding"), 0, true},
    {"adaptive_max_pool2d_backward", K::pooling_backward, L::pooling, promote, O::gradients,
     arguments("grad saved kernel stride padding"), not_generated, true},

    // Rows of tables.
    {"embedding", K::gather, L::embedding, promote, O::rows, arguments("parameter index")},
    {"embedding_bag _embedding_bag _embedding_bag_forward_only", K::other, L::embedding, promote,
     O::bags, arguments("parameter index index"), sparse_rows},
    {"_embedding_bag_backward _embedding_bag_sparse_backward _embedding_bag_dense_backward",
     K::other, L::embedding, promote, O::largest, arguments("fixed fixed fixed"), sparse_rows,
     true},
    {"embedding_backward", K::scatter, L::embedding, promote, O::none, arguments("grad fixed rows"),
     0, true},
    {"embedding_sparse_backward", K::scatter, L::embedding, promote, O::none,
     arguments("grad fixed rows"), sparse_rows, true},
    {"embedding_dense_backward", K::scatter, L::embedding, promote, O::table,
     arguments("grad fixed rows"), 0, true},
    {"fbgemm::split_embedding_* fbgemm::dense_embedding_* "
     "fbgemm::permute_pooled_embs*",
     K::other, L::embedding, promote, O::none, arguments("fixed")},
    {"fbgemm::permute_2D_sparse_data fbgemm::block_bucketize_sparse_features "
     "fbgemm::bounds_check_indices fbgemm::asynchronous_complete_cumsum",
     K::other, L::index, promote, O::none, arguments("fixed")},
    {"index_select", K::gather, L::index, promote, O::rows, arguments("fixed - index")},
    {"gather", K::gather, L::index, promote, O::elements, arguments("tensor - index - output"),
     per_element | keeps_first},
    {"index", K::gather, L::index, promote, O::indexed, arguments("tensor ...")},
    {"scatter scatter_add", K::scatter, L::around, promote, O::same, arguments("tensor ..."),
     per_element},
    // Of the reductions that compilers leave to the framework: extremes, means, products.
    {"scatter_reduce", K::scatter, L::around, promote, O::same, arguments("tensor ..."),
     per_element | not_generated},
    {"index_put _index_put_impl index_copy index_fill index_reduce put", K::scatter, L::index,
     promote, O::same, arguments("tensor ...")},
    {"index_add", K::scatter, L::index, promote, O::same, arguments("tensor ..."),
     adds_rows | keeps_operands},

    // Recurrent layers.
    {"_cudnn_rnn", K::recurrent, L::rnn, lower, O::steps,
     arguments("input weight - weight state tensor mode ...")},
    {"_cudnn_rnn_backward", K::recurrent, L::rnn, lower, O::same,
     arguments("input weight - weight state tensor tensor tensor tensor tensor mode ..."), 0, true},
    {"_thnn_fused_lstm_cell _thnn_fused_gru_cell", K::recurrent, L::rnn, lower, O::largest,
     arguments("input input tensor parameter parameter")},
    {"_thnn_fused_lstm_cell_backward _thnn_fused_lstm_cell_backward_impl "
     "_thnn_fused_gru_cell_backward",
     K::recurrent, L::rnn, lower, O::largest, arguments("..."), 0, true},
    // The cells and cuDNN's operation inside choose their type, not the layer.
    {"lstm gru rnn_tanh rnn_relu", K::recurrent, L::rnn, promote, O::largest, arguments("..."),
     recurrent_layer},
    {"lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell", K::recurrent, L::rnn, promote, O::largest,
     arguments("input tensor weight weight weight weight"), recurrent_cell},

    // Losses.
    {"cross_entropy_loss nll_loss nll_loss_nd nll_loss_forward nll_loss2d nll_loss2d_forward "
     "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy kl_div cosine_embedding_loss "
     "binary_cross_entropy_with_logits soft_margin_loss multi_margin_loss",
     K::loss, L::loss, full, O::none, arguments("input input ...")},
    {"nll_loss_backward nll_loss2d_backward", K::loss, L::loss, full, O::none,
     arguments("grad input input ..."), picks_classes, true},
    {"mse_loss_backward smooth_l1_loss_backward huber_loss_backward l1_loss_backward "
     "binary_cross_entropy_backward soft_margin_loss_backward multi_margin_loss_backward",
     K::loss, L::loss, full, O::none, arguments("grad input input ..."), 0, true},

    {"dropout native_dropout", K::dropout, L::dropout, promote, O::masked, arguments("input")},
    {"native_dropout_backward", K::dropout, L::dropout, promote, O::same, arguments("grad result"),
     0, true},

    // Matrix products.
    {"mm mv dot vdot", K::matmul, L::linear, lower, O::product, arguments("left right ...")},
    {"addmm addmv", K::matmul, L::linear, lower, O::product,
     arguments("weight left right_weight ...")},
    {"_addmm_activation", K::matmul, L::linear, lower, O::product,
     arguments("weight left right_weight - - mode"), activates},
    {"bmm", K::matmul, L::linear, lower, O::product, arguments("left right ..."), batched},
    {"baddbmm addbmm", K::matmul, L::linear, lower, O::product, arguments("tensor left right ..."),
     batched},
    {"matmul", K::matmul, L::linear, lower, O::product, arguments("left right ..."), batched},
    // Rows [tokens, width] by the matrices of their groups [groups, width, columns].
    {"_grouped_mm", K::matmul, L::linear, promote, O::product, arguments("left right index")},
    {"linear", K::matmul, L::linear, lower, O::product, arguments("input weight weight ...")},
    {"einsum", K::matmul, L::around, promote, O::none, arguments("...")},

    // Copies and constants.
    {"copy_", K::cast, L::copy, promote, O::same, arguments("fixed tensor")},
    {"split_with_sizes_copy _chunk_cat", K::cast, L::copy, promote, O::none, arguments("tensor")},
    {"clone contiguous", K::cast, L::copy, promote, O::same, arguments("tensor")},
    {"_to_copy", K::cast, L::copy, promote, O::same, arguments("tensor"), converts},
    {"to", K::view, L::around, promote, O::same, arguments("tensor"), converts},
    {"fill_ zero_ zeros zeros_like full full_like eye linspace", K::fill, L::around, promote,
     O::same, arguments("")},
    {"arange", K::fill, L::around, promote, O::same, arguments(""), numbers_places},
    {"new_zeros new_full new_ones", K::fill, L::around, promote, O::sizes, arguments("fixed")},
    {"ones ones_like scalar_tensor", K::fill, L::around, promote, O::same, arguments("")},
    {"cat", K::pointwise, L::copy, promote, O::joined, arguments("tensor -")},

    // Reductions and what else leaves less than it reads.
    {"sum", K::reduction, L::around, widen, O::reduction, arguments("input dims - type")},
    {"prod", K::reduction, L::around, widen, O::reduction, arguments("input dims - type"),
     keeps_first},
    {"norm linalg_vector_norm", K::reduction, L::around, widen, O::reduction,
     arguments("input - dims - type"), keeps_first},
    {"mean", K::reduction, L::around, promote, O::reduction, arguments("input dims - type")},
    {"var var_mean std std_mean amax amin", K::reduction, L::around, promote, O::reduction,
     arguments("input dims"), keeps_first},
    {"aminmax max min", K::reduction, L::around, promote, O::reduction, arguments("input dims")},
    {"logsumexp", K::reduction, L::around, full, O::reduction, arguments("input dims"),
     keeps_first},
    {"nansum", K::reduction, L::around, promote, O::reduction, arguments("input dims - type")},
    {"all any", K::reduction, L::around, promote, O::truths, arguments("input dims")},
    {"argmax argmin", K::reduction, L::around, promote, O::positions, arguments("input dims")},
    {"_local_scalar_dense nonzero masked_select", K::other, L::around, promote, O::largest,
     arguments("tensor"), waits},
    {"item is_nonzero", K::scope, L::around, promote, O::none, arguments("tensor"), waits},
    {"torchvision::nms", K::other, L::around, promote, O::none, arguments("tensor ...")},
    {"sort argsort topk unique unique2 _unique2 unique_dim unique_consecutive "
     "kthvalue median nanmedian mode searchsorted bucketize histc bincount multinomial",
     K::other, L::around, promote, O::largest, arguments("tensor")},
    {"_fft_r2c _fft_c2r _fft_c2c", K::other, L::around, full, O::spectrum, arguments("tensor")},
    {"cumsum", K::other, L::around, full, O::running, arguments("tensor"), numbers_places},
    {"cummax cummin _cummax_helper _cummin_helper logcumsumexp", K::other, L::around, promote,
     O::same, arguments("tensor")},
    {"record_stream", K::other, L::around, promote, O::none, arguments("")},

    // Pointwise operations of backward passes.
    // The forms in place of their forward operations, which networks use, keep the result.
    {"threshold_backward", K::pointwise, L::around, promote, O::widest,
     arguments("grad result ..."), 0, true},
    // In place it finds the result.
    {"hardtanh_backward", K::pointwise, L::around, promote, O::widest, arguments("grad result ..."),
     reads_operand, true},
    {"tanh_backward sigmoid_backward", K::pointwise, L::around, promote, O::widest,
     arguments("grad result ..."), arithmetic, true},
    {"gelu_backward", K::pointwise, L::around, promote, O::widest, arguments("grad saved ..."),
     arithmetic | error_function | reads_operand | reads_often, true},
    {"silu_backward mish_backward softplus_backward log_sigmoid_backward", K::pointwise, L::around,
     promote, O::widest, arguments("grad saved ..."), arithmetic | reads_operand | reads_often,
     true},
    {"_prelu_kernel_backward", K::pointwise, L::around, promote, O::twice,
     arguments("grad saved parameter"), reads_operand, true},
    {"hardswish_backward", K::pointwise, L::around, promote, O::widest, arguments("grad saved ..."),
     reads_operand | reads_often, true},
    {"hardsigmoid_backward leaky_relu_backward elu_backward", K::pointwise, L::around, promote,
     O::widest, arguments("grad saved ..."), reads_operand, true},
    {"upsample_nearest1d_backward upsample_nearest2d_backward _upsample_nearest_exact2d_backward",
     K::pointwise, L::around, full, O::resized_back, arguments("grad"), adds_once, true},
    {"upsample_linear1d_backward", K::pointwise, L::around, full, O::resized_back,
     arguments("grad"), interpolates | lies_in_lines, true},
    {"upsample_bilinear2d_backward", K::pointwise, L::around, full, O::resized_back,
     arguments("grad"), interpolates, true},
    {"upsample_bicubic2d_backward", K::pointwise, L::around, full, O::resized_back,
     arguments("grad"), interpolates | not_generated, true},
    {"select_backward slice_backward diagonal_backward unfold_backward", K::pointwise, L::around,
     promote, O::sizes, arguments("grad"), 0, true},
    {"softshrink_backward hardshrink_backward logit_backward glu_backward "
     "rrelu_with_noise_backward",
     K::pointwise, L::around, promote, O::widest, arguments("grad saved ..."), reads_operand, true},
    {"grid_sampler_2d_backward grid_sampler_3d_backward", K::pointwise, L::around, promote,
     O::gradients, arguments("grad saved saved"), not_generated, true},
    {"cudnn_grid_sampler_backward", K::pointwise, L::around, promote, O::gradients,
     arguments("saved saved grad"), not_generated, true},
    {"_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward "
     "reflection_pad1d_backward reflection_pad2d_backward",
     K::pointwise, L::around, promote, O::largest, arguments("grad saved ..."), 0, true},
    {"replication_pad1d_backward replication_pad2d_backward", K::pointwise, L::around, promote,
     O::largest, arguments("grad saved ..."), not_generated, true},
    {"value_selecting_reduction_backward", K::pointwise, L::around, promote, O::widest,
     arguments("grad saved ..."), 0, true},

    // Pointwise operations.
    {"relu clamp_min", K::pointwise, L::around, promote, O::widest, arguments("input ...")},
    {"gelu", K::pointwise, L::around, promote, O::widest, arguments("input ..."),
     arithmetic | error_function | uses_twice},
    {"erf", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."),
     arithmetic | error_function},
    {"silu mish", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."),
     arithmetic | uses_twice},
    {"hardswish", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."), uses_twice},
    {"sigmoid tanh log_sigmoid log_sigmoid_forward", K::pointwise, L::around, promote, O::widest,
     arguments("tensor ..."), arithmetic},
    {"exp expm1 log log10 log1p log2 softplus", K::pointwise, L::around, full, O::widest,
     arguments("tensor ..."), arithmetic | nonlinear},
    {"pow reciprocal rsqrt cumprod cdist dist acos asin cosh sinh tan erfinv renorm sum_to_size",
     K::pointwise, L::around, full, O::widest, arguments("tensor ..."), nonlinear},
    {"add", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."), adds_gradients},
    {"mul", K::pointwise, L::around, promote, O::widest, arguments("tensor tensor output"),
     multiplies},
    {"sin cos", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."),
     trigonometric | nonlinear},
    {"div divide", K::pointwise, L::around, promote, O::widest, arguments("tensor tensor output"),
     divides},
    {"sub rsub neg abs sgn sign sqrt square atan2 remainder fmod floor "
     "ceil round addcdiv addcmul lerp clamp_max hardsigmoid leaky_relu elu "
     "relu6 glu where masked_fill bitwise_and bitwise_or bitwise_xor "
     "bitwise_not "
     "__and__ __or__ __xor__ __iand__ __ior__ __ixor__ floor_divide tril triu stack _cat "
     "diff flip nan_to_num lift selu celu rrelu_with_noise softshrink hardshrink logit trunc frac "
     "exp2 atan asinh acosh atanh hypot polar fmax fmin xlogy bitwise_left_shift "
     "bitwise_right_shift __lshift__ __rshift__ true_divide masked_scatter _masked_scale "
     "repeat repeat_interleave",
     K::pointwise, L::around, promote, O::widest, arguments("tensor ...")},
    {"roll", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."), rolls},
    {"bernoulli random uniform normal exponential rand randint randn rand_like randn_like "
     "randint_like randperm log_normal cauchy geometric",
     K::pointwise, L::around, promote, O::widest, arguments("tensor ..."), draws_numbers},
    {"grid_sampler grid_sampler_2d grid_sampler_3d", K::pointwise, L::around, promote, O::sampled,
     arguments("input tensor"), aligns_types | interpolates},
    {"cudnn_grid_sampler", K::pointwise, L::around, promote, O::sampled, arguments("input tensor"),
     aligns_types | not_generated},
    // No rule tells the sizes of their results; most are as many elements as the operand.
    {"pixel_shuffle pixel_unshuffle channel_shuffle tile affine_grid_generator max_unpool2d take "
     "_upsample_bilinear2d_aa _upsample_bicubic2d_aa",
     K::pointwise, L::around, promote, O::largest, arguments("tensor")},
    // Weights made of a direction and a length, which a module may keep from one pass to the next.
    {"_weight_norm_interface", K::other, L::around, promote, O::largest, arguments("tensor ...")},
    {"_weight_norm_interface_backward", K::other, L::around, promote, O::largest,
     arguments("tensor ..."), 0, true},
    {"upsample_nearest3d upsample_trilinear3d", K::pointwise, L::around, full, O::largest,
     arguments("input")},
    // Their gradient compares both once more.
    {"maximum minimum", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."),
     keeps_first | keeps_operands},
    {"constant_pad_nd pad reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d "
     "replication_pad2d replication_pad3d",
     K::pointwise, L::around, promote, O::padded, arguments("tensor ...")},
    {"_prelu_kernel prelu", K::pointwise, L::around, promote, O::same,
     arguments("tensor parameter")},
    {"clamp hardtanh", K::pointwise, L::around, promote, O::widest,
     arguments("tensor tensor tensor output"), clamps},
    {"im2col", K::pointwise, L::around, promote, O::unfolded, arguments("input")},
    {"col2im", K::pointwise, L::around, promote, O::folded, arguments("input"), adds_once},
    {"upsample_nearest1d upsample_nearest2d _upsample_nearest_exact2d", K::pointwise, L::around,
     full, O::resized, arguments("input")},
    {"upsample_linear1d upsample_bilinear2d upsample_bicubic2d", K::pointwise, L::around, full,
     O::resized, arguments("input"), interpolates},
    {"eq ne lt le gt ge isnan isneginf isposinf logical_not", K::pointwise, L::around, promote,
     O::comparison, arguments("tensor ...")},
    {"logical_and logical_or logical_xor isfinite isinf isclose", K::pointwise, L::around, promote,
     O::widest, arguments("tensor ...")},

    // No device work.
    {"view view_as reshape _reshape_alias _unsafe_view expand expand_as t numpy_T transpose "
     "permute "
     "movedim squeeze unsqueeze flatten alias detach as_strided conj resolve_conj "
     "resolve_neg "
     "broadcast_tensors inductor::_reinterpret_tensor",
     K::view, L::around, promote, O::same, arguments("tensor ...")},
    {"unflatten", K::view, L::around, promote, O::same, arguments("tensor ..."), splits_dimension},
    {"select slice narrow split split_with_sizes tensor_split unsafe_split unsafe_chunk chunk "
     "unbind",
     K::view, L::around, promote, O::same, arguments("tensor ..."), cuts},
    {"empty empty_like empty_strided new_empty new_empty_strided resize_ resize_as_ set_ "
     "is_pinned pin_memory _pin_memory result_type lift_fresh cudnn_is_acceptable is_coalesced "
     "_nnz "
     "sparse_dim values _values indices _indices _sparse_coo_tensor_unsafe "
     "_sparse_coo_tensor_with_dims_and_tensors _has_compatible_shallow_copy_type concat "
     "_nested_tensor_from_tensor_list "
     "ViewNestedFromBuffer",
     K::view, L::around, promote, O::none, arguments("")},

    // Ranks.
    {"c10d::* _c10d_functional::* _c10d_functional_autograd::* All2All_* ReduceScatter* AllGather* "
     "record_param_comms fsdp::* "
     "torch::distributed::reducer::* torch.distributed.ddp.reducer::* flatten_dense_tensors "
     "unflatten_dense_tensors",
     K::collective, L::collective, promote, O::none, arguments("...")},

    {"PythonSubclass", K::scope, L::around, promote, O::none, arguments(""), hands_to_parts},

    // Code of compilers: each name is a kernel of its own.
    {"triton_* fusion* loop_* input_* cudnn-conv* command_buffer* gemm_fusion* wrapped_* "
     "Torch-Compiled*",
     K::generated, L::around, promote, O::largest, arguments("tensor ...")},
    {"CompiledFunction*", K::generated, L::around, promote, O::largest, arguments("tensor ..."),
     calls_graph},

    // Ranges that hold operations.
    {"Optimizer.*", K::scope, L::optimizer, promote, O::none, arguments("")},
    {"torch::autograd::AccumulateGrad", K::scope, L::around, promote, O::none, arguments("..."),
     stores_gradients},
    {"torch::autograd::CppNode*  "
     "TorchDynamo* AOTDispatcher* Pregraph* ProfilerStep* enumerate(* forward",
     K::scope, L::around, promote, O::none, arguments("...")},
    {"torch::autograd::CopyBackwards", K::scope, L::copy, promote, O::none, arguments("...")},
    // TensorFlow. Keras' mixed precision runs a layer in 16 bits from end to end, so operations
    // without a policy of their own take the type that they get.
    {"Conv2D", K::convolution, L::convolution, lower, O::convolution,
     arguments("input weight stride padding dilation"), images_last},
    {"Conv2DBackpropInput Conv2DBackpropFilter", K::convolution_backward, L::convolution, lower,
     O::type_only, arguments("grad saved saved_weight stride padding dilation"), images_last, true},
    {"FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", K::batch_norm, L::batch_norm, promote,
     O::same, arguments("input parameter parameter parameter parameter"), images_last},
    {"FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", K::batch_norm_backward,
     L::batch_norm, promote, O::norm_gradients,
     arguments("grad saved parameter parameter parameter parameter"), images_last, true},
    {"MaxPool AvgPool", K::pooling, L::pooling, promote, O::pooling,
     arguments("input kernel stride padding"), images_last},
    {"MaxPoolGrad AvgPoolGrad", K::pooling_backward, L::pooling, promote, O::gradients,
     arguments("grad saved kernel stride padding"), images_last, true},
    {"MatMul", K::matmul, L::linear, lower, O::product, arguments("left right"), transposes},
    {"BatchMatMul BatchMatMulV2 BatchMatMulV3", K::matmul, L::linear, lower, O::product,
     arguments("left right"), batched | transposes},
    {"Softmax LogSoftmax", K::softmax, L::softmax, full, O::same, arguments("input")},
    {"SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits", K::loss, L::loss, full,
     O::none, arguments("input input")},
    {"Sum Mean Max Min Prod ArgMax ArgMin", K::reduction, L::around, promote, O::reduction,
     arguments("input dims")},
    {"All Any", K::reduction, L::around, promote, O::truths, arguments("input dims")},
    {"L2Loss", K::reduction, L::loss, promote, O::none, arguments("tensor")},
    {"BiasAddGrad", K::reduction, L::around, promote, O::none, arguments("grad"), 0, true},
    {"ReluGrad Relu6Grad EluGrad SeluGrad LeakyReluGrad SoftplusGrad", K::pointwise, L::around,
     promote, O::widest, arguments("grad result"), 0, true},
    {"TanhGrad SigmoidGrad RsqrtGrad SqrtGrad ReciprocalGrad", K::pointwise, L::around, promote,
     O::widest, arguments("result grad"), arithmetic, true},
    {"StridedSliceGrad", K::pointwise, L::around, promote, O::none, arguments("grad"), 0, true},
    // Of its layer, whose variables are cast as well.
    {"BiasAdd", K::pointwise, L::around, lower, O::same, arguments("tensor parameter")},
    {"Relu Relu6", K::pointwise, L::around, promote, O::widest, arguments("input ...")},
    {"Tanh Sigmoid Erf Erfc Elu Selu Softplus Exp Expm1 Log Log1p Pow Sin Cos", K::pointwise,
     L::around, promote, O::widest, arguments("tensor ..."), arithmetic},
    {"AddN", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."), adds_gradients},
    {"Mul", K::pointwise, L::around, promote, O::widest, arguments("tensor ..."), multiplies},
    {"Add AddV2 Sub RealDiv Div DivNoNan MulNoNan FloorDiv FloorMod Maximum Minimum Neg Abs Sign "
     "Square SquaredDifference Sqrt Rsqrt Reciprocal Inv Floor Ceil Round LeakyRelu Select "
     "SelectV2 "
     "ZerosLike OnesLike ClipByValue",
     K::pointwise, L::around, promote, O::widest, arguments("tensor ...")},
    {"Equal NotEqual Less LessEqual Greater GreaterEqual LogicalNot LogicalOr IsFinite IsNan",
     K::pointwise, L::around, promote, O::comparison, arguments("tensor ...")},
    {"Tile BroadcastTo Pad PadV2 MirrorPad Slice StridedSlice Split SplitV OneHot Cumsum "
     "MatrixBandPart",
     K::pointwise, L::around, promote, O::none, arguments("tensor ...")},
    {"Transpose ConcatV2 Pack Unpack", K::cast, L::copy, promote, O::none, arguments("tensor ...")},
    {"Cast", K::cast, L::copy, promote, O::none, arguments("tensor")},
    {"ResourceGather", K::gather, L::embedding, promote, O::rows, arguments("parameter index")},
    {"GatherV2 GatherNd", K::gather, L::index, promote, O::none, arguments("fixed index")},
    {"UnsortedSegmentSum ResourceScatterAdd TensorScatterUpdate ScatterNd", K::scatter,
     L::embedding, promote, O::none, arguments("tensor ...")},
    {"ResourceApply* ResourceSparseApply*", K::optimizer, L::optimizer, promote, O::none,
     arguments("")},
    {"AssignAddVariableOp AssignSubVariableOp", K::pointwise, L::optimizer, promote, O::none,
     arguments("parameter tensor")},
    {"RandomUniform RandomStandardNormal TruncatedNormal StatelessRandom*", K::fill, L::dropout,
     promote, O::none, arguments("")},
    {"Fill", K::fill, L::around, promote, O::none, arguments("")},
    // Nothing of these runs on the device: memory is shared or taken over, sizes are the host's.
    {"Reshape Identity IdentityN StopGradient PreventGradient ExpandDims Squeeze ReadVariableOp "
     "AssignVariableOp VarHandleOp Const Shape ShapeN Size Rank Range BroadcastGradientArgs "
     "BroadcastArgs ConcatOffset InvertPermutation Unique",
     K::view, L::around, promote, O::none, arguments("")},
    {"TFE_TensorHandleResolve", K::other, L::around, promote, O::none, arguments("tensor"), waits},
    // TensorFlow's executor: its kernels are named after the operation they run for.
    {"ExecutorState::* Eager* _Send _Recv LogicalAnd", K::scope, L::around, promote, O::none,
     arguments("...")},
};

constexpr std::string_view kind_names[] = {"pointwise",   "cast",
                                           "fill",        "dropout",
                                           "batch_norm",  "batch_norm_backward",
                                           "row_norm",    "row_norm_backward",
                                           "softmax",     "softmax_backward",
                                           "reduction",   "matmul",
                                           "convolution", "convolution_backward",
                                           "attention",   "attention_backward",
                                           "pooling",     "pooling_backward",
                                           "gather",      "scatter",
                                           "recurrent",   "loss",
                                           "optimizer",   "collective",
                                           "generated",   "view",
                                           "scope",       "other"};
static_assert(std::size(kind_names) == values_up_to(OpKind::other));

}  // namespace

std::span<const OpRow> op_table() { return rows; }

std::string_view to_string(OpKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

bool computes_in_fp32(const OpRow& row) {
  switch (row.kind) {
    case OpKind::batch_norm:
    case OpKind::row_norm:
    case OpKind::softmax: return true;
    default: return row.is(uses_twice);
  }
}

bool is_core(OpKind kind) {
  switch (kind) {
    case K::matmul:
    case K::convolution:
    case K::convolution_backward:
    case K::attention:
    case K::attention_backward:
    case K::recurrent:
    case K::loss:
    case K::optimizer:
    case K::collective:
    case K::other: return true;
    default: return false;
  }
}

}  // namespace tandem
