/* The inner loops of kernels, compiled for several instruction sets; the best is chosen when the module is loaded. */

#ifndef FLAMBEAU_LOOPS_H
#define FLAMBEAU_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__) && !defined(__clang__)
#error "the loops are written with vector types, which this compiler lacks; the kernels in NumPy do their work"
#endif

#define MOST_FOUND 32 /* elements that are looked for by comparing each with those found so far */

typedef void (*Map)(const void *x, void *out, ptrdiff_t n);
/* x of shape (lead, n, trail) without the middle dimension */
typedef void (*FoldMiddle)(const void *x, void *out, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail);
/* of x and y, of which there is only one where `by_one` */
typedef void (*Division)(const void *x, const void *y, void *out, ptrdiff_t n, bool by_one);
/* of x and y, of which there is only one where `one_x` or `one_y` */
typedef void (*Operation)(const void *x, const void *y, void *out, ptrdiff_t n, bool one_x, bool one_y);
/* of x, which `out` may be, or of a gradient g and x, with CURVE_NUMBERS numbers */
#define CURVE_NUMBERS 3
typedef void (*Curve)(const void *g, const void *x, void *out, ptrdiff_t n, const double *numbers);
/* along the middle one of three dimensions */
typedef void (*Scan)(const void *x, void *out, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail);
/* of integers, as large as the type of the loops; false if one of y is zero */
typedef enum { FLOOR_QUOTIENT, FLOOR_REST, REST, QUOTIENT_TO_ZERO } WholeResult;
typedef bool (*IntegerDivision)(const void *x, const void *y, void *out, ptrdiff_t n);
typedef enum { ADD, SUBTRACT, MULTIPLY, DIVIDE } Arithmetic;
typedef void (*Combination)(const void *x, const void *y, void *out, ptrdiff_t n, Arithmetic how);
typedef float (*NarrowSum)(const void *x, ptrdiff_t n);
typedef void (*Running)(const void *x, void *out, int64_t *places, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail);

/* What becomes of finished sums while they are in the cache: x * scale + shift, by numbers for each channel (NULL: x as it
 * is), cut off to [low, high], and then a curve, unless that is NULL. */
typedef struct {
    const void *scale, *shift;
    double low, high;
    Curve curve;
    double numbers[CURVE_NUMBERS];
} Finish;

/* New values of a parameter and of its state: see loops/optim.h */
typedef void (*Step)(void *const *own, const void *gradient, ptrdiff_t n, const double *number, const bool *flag);

/* out = a b + bias: see loops/gemm.h. Steps are in elements; the rows of `out` have no gaps. */
typedef struct {
    const void *a, *b, *bias; /* the last is a row, or NULL */
    void *out, *packed;
    ptrdiff_t m, n, k, a_row, a_column, b_row, b_column;
    bool wide;   /* cut into parts by its columns, and by its rows otherwise */
    bool direct; /* whether rows of a, with their elements side by side, are read where they lie */
    bool add;    /* to what is in `out` already */
} Gemm;

/* The gradient of rows less their mean, divided by their deviation, times a weight (or NULL) plus a bias. */
typedef struct {
    const void *g, *x, *weight, *mean, *var, *g_mean, *g_var;
    void *out, *g_weight, *g_bias;
    void *scratch; /* room for two rows */
    ptrdiff_t rows, n;
    double eps;
} NormPull;

/* An activation of straight pieces: x up to `low` becomes `low`, or `slope` times x unless that is 0, and what is above
 * `high` becomes that. A bound that is NaN is none. */
typedef struct {
    double low, high, slope;
} Pieces;

/* Normalisation of statistics that are each over some planes of n elements, and of which each plane has one weight: that
 * of its channel, of which there are `channels`, in turns. Plane p of statistic i is the plane i * first + p * step. */
typedef struct {
    const void *x, *weight, *bias; /* the last two may be NULL */
    void *out, *mean, *var;
    const void *g, *g_mean, *g_var; /* from here on for the gradient */
    void *g_weight, *g_bias;
    void *scratch; /* room for three channels each */
    ptrdiff_t statistics, planes, first, step, n, channels;
    ptrdiff_t owners; /* channels or groups, which have weights of their own */
    bool grouped; /* the planes of a statistic lie together */
    double eps;
    Pieces act; /* that follows, in the loops that have one */
    bool known; /* whether mean and var are there already, in these loops */
} PlaneNorm;

/* The gates of an LSTM in `rows` samples of n hidden elements: 4 n for x, hidden, gates and their gradients. */
typedef struct {
    const void *x, *hidden, *previous;
    void *h, *c, *gates;
    const void *g_h, *g_c, *g_gates; /* from here on for the gradient */
    void *g_x, *g_previous;
    ptrdiff_t rows, n;
} LstmGates;

/* A recurrent layer over `times` times of `rows` samples of n hidden elements: see loops/rnn.h. */
typedef struct {
    const void *x, *first_h, *first_c, *packed, *bias; /* the weights of the hidden state lie packed */
    void *h, *c, *gates;                               /* at each time */
    const void *g_h, *g_c, *g_gates;                   /* from here on for the gradient; these may be NULL */
    void *g_x, *g_hidden, *g_first_h, *g_first_c;
    ptrdiff_t times, rows, n;
    bool reverse, relu;
} Sequence;

typedef void (*SequenceLoop)(const Sequence *p, ptrdiff_t start, ptrdiff_t stop, void *scratch);

#define SEQUENCE_SCRATCH 5 /* times n elements for each row */

/* Attention of one head: see loops/attention.h. The steps are from a row to the next; results have no gaps. */
typedef struct {
    const void *q, *k, *v, *g; /* the last for the gradient */
    void *out, *g_q, *g_k, *g_v;
    ptrdiff_t q_step, k_step, v_step, g_step;
    ptrdiff_t queries, keys, depth, width; /* elements: of a query and a key, of a value */
    double scale;
    bool causal; /* query i sees the keys up to i */
} Attention;

/* The boxes of a pooling over volumes: for each place of the result and each dimension, the elements of a span. */
typedef struct {
    ptrdiff_t start, stop;
} Span;

typedef struct {
    ptrdiff_t sizes[3], counts[3], steps[3]; /* of the planes; of the result; from one element of a span to the next */
    Span *spans[3];
    Span *room; /* where they lie */
    /* where boxes are windows, in the last dimension: box k has the elements k * stride - margin + i * step, i < taps,
     * as far as there are such; 0 for boxes of other kinds */
    ptrdiff_t stride, margin, taps;
} Boxes;

/* For each of `size` places `count` elements by index, and how much of each: arrays of shape (count, size). */
typedef struct {
    const int64_t *index;
    const void *weights;
    ptrdiff_t count, size;
} Taps;

#define GRID_DIMS 3

typedef enum { BILINEAR, NEAREST, BICUBIC } GridMode;
typedef enum { ZEROS, BORDER, REFLECTION } GridPadding;

/* The alignments of labels, a row for each sample, with log-probabilities (times, samples, classes). `loop` does one sample,
 * in its part of `scratch`. */
typedef struct Ctc Ctc;
typedef void (*CtcLoop)(const Ctc *c, ptrdiff_t sample, void *scratch);

struct Ctc {
    ptrdiff_t times, samples, classes, states, blank;
    const int64_t *labels, *durations, *lengths;
    const void *scores;
    void *alphas, *loss, *gradient;
    CtcLoop loop;
    char *scratch;
    size_t scratch_each;
};

/* The corners of places that a grid of shape (samples, places, dims) names: see loops/resample.h. */
typedef struct {
    const void *grid;
    int64_t *index;         /* (samples, corners, places) */
    void *weights, *slopes; /* the same; (dims, samples, corners, places), or NULL */
    ptrdiff_t samples, places, sizes[GRID_DIMS];
    int dims;
    GridMode mode;
    GridPadding padding;
    bool align;
} Grid;

#define CONV_DIMS 3     /* sequences and images are volumes of one row or slice */
#define CONV_PANELS 6   /* of places of the result that are worked on at once */
#define CONV_DEPTH 256  /* taps, likewise */

/* Sums over taps, at places of a grid: see loops/conv.h. Steps are in elements. */
typedef struct {
    const void *source, *weight, *bias; /* the last may be NULL */
    void *packed, *out;
    ptrdiff_t samples, sources, results, taps;           /* channels: of the source, of the result */
    ptrdiff_t source_sample, source_channel, source_size; /* the last counts all elements from `source` on */
    ptrdiff_t weight_result, weight_source, kernel;      /* the last: how many weights lie together */
    ptrdiff_t out_sample, out_channel, out_steps[CONV_DIMS];
    ptrdiff_t sizes[CONV_DIMS], counts[CONV_DIMS], steps[CONV_DIMS]; /* of the source, of the grid, of it in the source */
    const ptrdiff_t *tap_places, *tap_weights; /* where a tap meets the source of the first place; its weight */
    bool dense;                                /* whether the result has no gaps between its places */
    /* the source with its channels side by side, in a margin of zeros, and the weights of all taps, of which these may be
     * some from `first_tap` on: see loops/conv_lanes.h */
    void *staged;
    ptrdiff_t first_tap;
    const Finish *finish;   /* or NULL */
    ptrdiff_t first_result; /* its number among the channels of `finish` */
    ptrdiff_t margin[CONV_DIMS], wide[CONV_DIMS]; /* before the source, and its sizes with all margins */
    ptrdiff_t pixel;                              /* elements from a place to the next */
} TapSums;

/* Sums over places, for each tap, channel of the source and channel of the result. */
typedef struct {
    const void *source, *g;
    void *packed, *out;
    ptrdiff_t samples, sources, results, taps, places, panels;
    ptrdiff_t source_sample, source_channel, g_sample;
    ptrdiff_t sizes[CONV_DIMS], counts[CONV_DIMS], steps[CONV_DIMS];
    ptrdiff_t margin[CONV_DIMS], wide[CONV_DIMS]; /* before the source, and its sizes with all margins */
    const ptrdiff_t *tap_offsets;                 /* in the source with its margins */
    bool margins;
    ptrdiff_t beside; /* samples that are taken at once */
} WeightSums;

/* Convolutions of images with kernels of 3x3, by tiles of 4x2 places: see loops/winograd.h. */
typedef struct {
    const void *source, *weight, *bias; /* the last may be NULL */
    const Finish *finish;               /* likewise */
    const void *gradient;               /* of the result, for that of the weight, which is written to `packed` */
    void *packed, *out;
    ptrdiff_t samples, sources, results;
    ptrdiff_t source_sample, source_channel, weight_result, weight_source, out_sample, out_channel;
    ptrdiff_t sizes[2], counts[2], margin[2]; /* of the source, of the result, before the source */
    ptrdiff_t high, wide;                     /* tiles of a sample */
    bool flipped;                             /* whether the taps are taken from the last to the first */
    ptrdiff_t block; /* of channels that are summed at once */
} Winograd;

/* Elements from a bin to the next one: all are written in turns, so they must not have the same few places in a cache. */
static inline ptrdiff_t bin_step(ptrdiff_t rows, ptrdiff_t columns)
{
    return rows * columns + 32;
}

/* Convolutions of single planes: see loops/depthwise.h and loops/depthwise_lanes.h. */
typedef struct {
    ptrdiff_t sizes[CONV_DIMS], counts[CONV_DIMS], steps[CONV_DIMS], margin[CONV_DIMS], wide[CONV_DIMS];
    ptrdiff_t row; /* elements of a row in its margin */
    ptrdiff_t taps;
    const ptrdiff_t *tap_offsets;
    const Finish *finish; /* or NULL */
    size_t scratch;       /* bytes of a plane in its margin */
} PlaneSums;

/* The loops for one type of elements, float or double. All arrays are contiguous. */
typedef struct {
    FoldMiddle sum_middle, prod_middle;
    void (*divide)(void *x, ptrdiff_t n, double by);
    /* of rows of n >= 1 elements */
    void (*softmax)(const void *x, void *out, ptrdiff_t rows, ptrdiff_t n);
    void (*log_softmax)(const void *x, void *out, ptrdiff_t rows, ptrdiff_t n);
    void (*softmax_pull)(const void *g, const void *y, void *out, ptrdiff_t rows, ptrdiff_t n);
    void (*log_softmax_pull)(const void *g, const void *y, void *out, ptrdiff_t rows, ptrdiff_t n);
    /* (x - mean) / sqrt(var + eps) * weight + bias; weight and bias may be NULL */
    void (*normalize)(const void *x, const void *weight, const void *bias, void *out, void *mean, void *var,
                      ptrdiff_t rows, ptrdiff_t n, double eps);
    void (*normalize_pull)(const NormPull *pull);
    void (*normalize_planes)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop); /* of the statistics */
    void (*normalize_planes_pull)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop); /* of the owners */
    void (*scale_planes)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop); /* of the planes */
    /* the first two of batches, with an activation behind them */
    void (*normalize_act)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop);
    void (*normalize_act_pull)(const PlaneNorm *norm, ptrdiff_t start, ptrdiff_t stop);
    /* of planes of n elements each, of which plane p has the channel p % channels; `out` may be x */
    void (*finish_planes)(const Finish *f, const void *x, void *out, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t channels,
                          ptrdiff_t n);
    /* of n elements */
    Curve erf, sign, relu, threshold_pull, leaky_relu, leaky_relu_pull, elu, elu_pull, sigmoid, log_sigmoid, softplus, gelu,
        gelu_pull, tanh, clip, hardtanh_pull, hardsigmoid, hardsigmoid_pull, hardswish, hardswish_pull, hardshrink,
        hardshrink_pull, softshrink, silu, silu_pull, mish, mish_pull, gelu_tanh, gelu_tanh_pull, smooth_l1,
        smooth_l1_slope, huber, huber_slope, replace_nonfinite, lerp;
    Operation add, subtract, multiply, divide_by, hypot, logaddexp;
    Division floor_divide, remainder, fmod, div_trunc;
    IntegerDivision floor_divide_ints, remainder_ints, fmod_ints, div_trunc_ints;
    /* out[index[i]] += rows[i] */
    void (*add_rows)(void *out, const int64_t *index, const void *rows, ptrdiff_t count, ptrdiff_t width);
    /* out[i, index[i, row, j], j] += values[i, row, j] */
    void (*scatter_add)(void *out, const int64_t *index, const void *values, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t size,
                        ptrdiff_t trail);
    Scan cumsum, cumprod;
    Running running_max, running_min;
    /* the places of the first `count` <= MOST_FOUND of each row in order */
    void (*top)(const void *x, int64_t *places, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t count, bool largest);
    Step sgd_step, adam_step, adamax_step, nadam_step, radam_step, rmsprop_step, rprop_step, adagrad_step, adadelta_step,
        asgd_step;
    void (*lstm_gates)(const LstmGates *gates);
    void (*lstm_gates_pull)(const LstmGates *gates);
    SequenceLoop lstm_sequence, lstm_sequence_pull, gru_sequence, gru_sequence_pull, rnn_sequence, rnn_sequence_pull;
    /* see loops/attention.h; in bytes */
    size_t (*attention_scratch)(const Attention *a, bool back);
    void (*attention)(const Attention *a, void *scratch);
    void (*attention_pull)(const Attention *a, void *scratch);
    /* see loops/packed.h */
    void (*pack_matrix)(const void *x, void *out, ptrdiff_t depth, ptrdiff_t columns, ptrdiff_t row_step,
                        ptrdiff_t column_step);
    /* of planes */
    void (*max_boxes)(const void *x, void *out, int64_t *places, ptrdiff_t planes, const Boxes *boxes);
    void (*mean_boxes)(const void *x, void *out, ptrdiff_t planes, const Boxes *boxes);
    void (*spread_boxes)(const void *g, void *out, ptrdiff_t planes, const Boxes *boxes);
    /* of planes whose boxes are windows */
    void (*max_windows)(const void *x, void *out, int64_t *places, ptrdiff_t planes, const Boxes *boxes);
    void (*sum_windows)(const void *x, void *out, ptrdiff_t planes, const Boxes *boxes);
    void (*spread_windows)(const void *g, void *out, ptrdiff_t planes, const Boxes *boxes);
    /* see loops/resample.h */
    void (*resample)(const void *x, void *out, const Taps *taps, ptrdiff_t lead, ptrdiff_t n, ptrdiff_t trail);
    void (*sum_places)(const void *x, void *out, const Taps *taps, ptrdiff_t channels, ptrdiff_t n);
    void (*spread_places)(const void *g, void *out, const Taps *taps, ptrdiff_t channels, ptrdiff_t n);
    void (*dot_places)(const void *g, const void *x, void *out, const int64_t *index, ptrdiff_t channels, ptrdiff_t n,
                       ptrdiff_t m);
    void (*grid_corners)(const Grid *grid, ptrdiff_t start, ptrdiff_t stop);
    CtcLoop ctc_forward, ctc_backward; /* see loops/ctc.h */
    /* see loops/conv.h and loops/depthwise.h */
    ptrdiff_t tile_rows, tile_columns;
    void (*pack_weights)(const TapSums *s, ptrdiff_t tile);
    void (*sum_panels)(const TapSums *s, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t top, ptrdiff_t bottom,
                       void *scratch);
    /* see loops/conv_lanes.h */
    void (*stage_row)(const TapSums *s, ptrdiff_t row);
    void (*pack_lanes)(const TapSums *s, ptrdiff_t panel);
    void (*sum_lanes)(const TapSums *s, ptrdiff_t start, ptrdiff_t stop, ptrdiff_t from, ptrdiff_t to, void *scratch);
    void (*pack_results)(const WeightSums *s, ptrdiff_t sample, ptrdiff_t panel);
    void (*sum_weights)(const WeightSums *s, ptrdiff_t from_sample, ptrdiff_t to_sample, ptrdiff_t from, ptrdiff_t to,
                        void *sums, void *scratch);
    void (*collect_weights)(const WeightSums *s, const void *sums, ptrdiff_t parts, ptrdiff_t panel);
    void (*plane_forward)(const PlaneSums *s, const void *x, const void *weight, const void *bias, void *out,
                          ptrdiff_t channel, void *scratch);
    void (*plane_input)(const PlaneSums *s, const void *g, const void *weight, void *out, void *scratch);
    void (*plane_weight)(const PlaneSums *s, const void *x, const void *g, void *out, void *scratch);
    /* see loops/depthwise_lanes.h */
    void (*lanes_forward)(const PlaneSums *s, const void *x, const void *weight, const void *bias, void *out,
                          ptrdiff_t channel, ptrdiff_t count, void *scratch);
    void (*lanes_input)(const PlaneSums *s, const void *g, const void *weight, void *out, ptrdiff_t count, void *scratch);
    void (*lanes_weight)(const PlaneSums *s, const void *x, const void *g, void *weight, ptrdiff_t count,
                         ptrdiff_t samples, ptrdiff_t channels, void *scratch);
    /* see loops/winograd.h */
    void (*winograd_weights)(const Winograd *s, ptrdiff_t panel, void *to);
    bool (*winograd_block)(const Winograd *s, ptrdiff_t start, ptrdiff_t stop, void *scratch);
    bool (*winograd_panel)(const Winograd *s, const void *x, ptrdiff_t panel, void *scratch);
    void (*winograd_source)(const Winograd *s, ptrdiff_t start, ptrdiff_t stop, void *to, ptrdiff_t tiles, ptrdiff_t place,
                            void *scratch);
    void (*winograd_gradient)(const Winograd *s, ptrdiff_t start, ptrdiff_t stop, void *to, ptrdiff_t tiles,
                              ptrdiff_t place, void *scratch);
    void (*winograd_bin)(const Winograd *s, const void *source, const void *gradient, ptrdiff_t tiles, ptrdiff_t panel,
                         void *sums);
    bool (*winograd_taps)(const Winograd *s, const void *sums, ptrdiff_t start, ptrdiff_t stop);
    bool (*winograd_panel_taps)(const Winograd *s, const void *source, const void *gradient, ptrdiff_t tiles, ptrdiff_t panel,
                                ptrdiff_t start, ptrdiff_t stop, void *scratch);
    /* for float alone: uniforms into normals, in blocks of sixteen */
    void (*box_muller)(float *x, ptrdiff_t blocks);
    /* whatever the type of the others: float16 and bfloat16 as floats, and back */
    Map halves_to_floats, floats_to_halves, brains_to_floats, floats_to_brains;
    Combination combine_halves, combine_brains;
    /* n elements of 1, 2, 4 or 8 bytes, of which the first is the last in memory */
    void (*backwards)(const void *x, void *out, ptrdiff_t n, ptrdiff_t size);
    void (*gemm_pack)(const Gemm *p, ptrdiff_t strip);
    void (*gemm_part)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop, void *scratch);
    void (*gemm_across)(const Gemm *p, ptrdiff_t start, ptrdiff_t stop); /* (out, bias: of the transposed result) */
    size_t (*gemm_scratch)(ptrdiff_t side); /* bytes for a part so long */
    NarrowSum sum_halves, sum_brains; /* of a few thousand numbers at most */
} Loops;

extern const Loops *loops_of[2]; /* for float and for double */

/* Chooses the loops with the widest vectors that this processor has, of no more bytes than `widest`; returns how wide. */
int choose_loops(int widest);

#endif
