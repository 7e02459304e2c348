/* The loops of every family for the type REAL. */

/* The halves of a vector added, until it is a small one. */
INLINE TYPE(small) NAME(shrunk)(VECTOR v)
{
    TYPE(small) parts[WIDTH / 16];
    memcpy(parts, &v, WIDTH);
    for (int count = WIDTH / 32; count > 0; count /= 2) {
        for (int i = 0; i < count; i++) {
            parts[i] += parts[i + count];
        }
    }
    return parts[0];
}

INLINE REAL NAME(sum_small)(TYPE(small) v)
{
    return sizeof(REAL) == 8 ? v[0] + v[1] : (v[0] + v[2 % FEW]) + (v[1] + v[3 % FEW]);
}

#include "sum.h"
#include "prod.h"
#include "softmax.h"
#include "norm.h"
#include "plane_norm.h"
#include "pointwise.h"
#include "finish.h"
#include "norm_act.h"
#include "arithmetic.h"
#include "divide.h"
#include "scatter.h"
#include "scan.h"
#include "top.h"
#include "optim.h"
#include "packed.h"
#include "gemm.h"
#include "rnn.h"
#include "attention.h"
#include "pool.h"
#include "resample.h"
#include "ctc.h"
#include "transpose.h"
#include "conv.h"
#include "conv_lanes.h"
#include "depthwise.h"
#include "depthwise_lanes.h"
#include "winograd.h"

#undef TABLE_ROW
#define TABLE_ROW { \
    NAME(sum_middle), NAME(prod_middle), NAME(divide), \
    NAME(softmax), NAME(log_softmax), NAME(softmax_pull), NAME(log_softmax_pull), \
    NAME(normalize), NAME(normalize_pull), NAME(normalize_planes), NAME(normalize_planes_pull), NAME(scale_planes), \
    NAME(normalize_act), NAME(normalize_act_pull), NAME(finish_planes), NAME(erf_all), NAME(sign), \
    NAME(relu), NAME(threshold_pull), NAME(leaky_relu), NAME(leaky_relu_pull), NAME(elu), NAME(elu_pull), \
    NAME(sigmoid), NAME(log_sigmoid), NAME(softplus), NAME(gelu), NAME(gelu_pull), NAME(tanh_all), NAME(clip), \
    NAME(hardtanh_pull), NAME(hardsigmoid), NAME(hardsigmoid_pull), NAME(hardswish), NAME(hardswish_pull), \
    NAME(hardshrink), NAME(hardshrink_pull), NAME(softshrink), NAME(silu), NAME(silu_pull), NAME(mish), NAME(mish_pull), \
    NAME(gelu_tanh), NAME(gelu_tanh_pull), NAME(smooth_l1), NAME(smooth_l1_slope), NAME(huber), NAME(huber_slope), \
    NAME(replace_nonfinite), NAME(lerp), \
    NAME(add), NAME(subtract), NAME(multiply), NAME(divide_by), NAME(hypot_all), NAME(logaddexp), \
    NAME(floor_divide), NAME(remainder), NAME(fmod_all), NAME(div_trunc), \
    NAME(floor_divide_ints), NAME(remainder_ints), NAME(fmod_ints), NAME(div_trunc_ints), \
    NAME(add_rows), NAME(scatter_add), NAME(cumsum), NAME(cumprod), NAME(running_max), NAME(running_min), NAME(top), \
    NAME(sgd_step), NAME(adam_step), NAME(adamax_step), NAME(nadam_step), NAME(radam_step), NAME(rmsprop_step), \
    NAME(rprop_step), NAME(adagrad_step), NAME(adadelta_step), NAME(asgd_step), \
    NAME(lstm_gates), NAME(lstm_gates_pull), NAME(lstm_sequence), NAME(lstm_sequence_pull), NAME(gru_sequence), \
    NAME(gru_sequence_pull), NAME(rnn_sequence), NAME(rnn_sequence_pull), \
    NAME(attention_scratch), NAME(attention), NAME(attention_pull), NAME(pack_matrix), \
    NAME(max_boxes), NAME(mean_boxes), NAME(spread_boxes), \
    NAME(max_windows), NAME(sum_windows), NAME(spread_windows), \
    NAME(resample), NAME(sum_places), NAME(spread_places), NAME(dot_places), NAME(grid_corners), \
    NAME(ctc_forward), NAME(ctc_backward), \
    TILE_ROWS, 2 * LANES, NAME(pack_weights), NAME(sum_panels), \
    NAME(stage_row), NAME(pack_lanes), NAME(sum_lanes), NAME(pack_results), NAME(sum_weights), \
    NAME(collect_weights), NAME(plane_forward), NAME(plane_input), NAME(plane_weight), \
    NAME(lanes_forward), NAME(lanes_input), NAME(lanes_weight), \
    NAME(winograd_weights), NAME(winograd_block), NAME(winograd_panel), NAME(winograd_source), NAME(winograd_gradient), \
    NAME(winograd_bin), NAME(winograd_taps), NAME(winograd_panel_taps), \
    box_muller, \
    halves_to_floats, floats_to_halves, brains_to_floats, floats_to_brains, combine_halves, combine_brains, \
    backwards, \
    NAME(gemm_pack), NAME(gemm_part), NAME(gemm_across), NAME(gemm_scratch), sum_halves, sum_brains, \
}
