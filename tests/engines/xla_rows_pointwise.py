"""Arithmetic, elementary and special functions, activations, comparisons."""

import math

from engines.xla_row import C, P, R, U, V, fixed, row, rows

NAN, INF = math.nan, math.inf
X = V([[-2.5, -1.5, -0.0], [0.0, 0.5, 1.5], [2.5, 7.0, 30.0]])
SOME_NAN = V([0.5, NAN, -1.0, INF, -INF])
SMALL = V([[1, 2, 3], [4, 6, 9]])
BITS = V([[1, 2, 3], [0, 1, 2]])

POINTWISE = [
    # arithmetic
    *rows("add sub rsub mul div maximum minimum fmax fmin clamp_min clamp_max remainder fmod", R(2, 3), R(3)),
    *rows("add sub rsub mul div maximum minimum clamp_min clamp_max remainder fmod copysign", R(2, 3), 0.5),
    *rows("add sub rsub mul div", C(2, 3), C(3)),
    *rows("add mul sub", R(2, 3), C(3)),
    *rows("add_scaled sub_scaled", R(2, 3), R(3), alpha=0.5),
    *rows("add_scaled sub_scaled", C(2, 3), R(3), alpha=0.5 - 1j),
    *rows("maximum minimum fmax fmin", V([1.0, 2.0, NAN, 3.0]), V([1.0, NAN, 0.0, 2.0])),
    *rows("div_floor div_trunc copysign nextafter", R(2, 3), P(3)),
    *rows("neg abs sign sgn square frac floor ceil trunc round reciprocal", R(2, 3)),
    *rows("neg abs sgn square reciprocal conj angle", C(2, 3)),
    *rows("angle conj sgn sign abs", X),
    row("floor_divide", R(2, 3), P(3)).without_gradient(),
    row("heaviside", X, R(3)).without_gradient(),
    row("round_decimals", R(2, 3), decimals=1),
    row("round_decimals", R(2, 3), decimals=-1),
    row("addcmul", R(2, 3), R(3), R(2, 1), value=1),
    row("addcmul", R(2, 3), R(3), R(2, 1), value=0.5),
    row("addcdiv", R(2, 3), R(3), P(2, 1), value=1),
    row("addcdiv", R(2, 3), R(3), P(2, 1), value=0.5),
    row("lerp", R(2, 3), R(3), U(2, 3)),
    row("lerp", R(2, 3), R(3), 0.25),
    row("lerp", R(2, 3), R(3), 0.75),
    row("lerp", C(2, 3), C(3), C(3)),
    # choice
    row("keep", R(2, 3), V([True, False, True])),
    row("where", V([True, False, True]), R(2, 3), R(3)),
    row("where", V([True, False, True]), R(2, 3), 0.5),
    row("where", V([True, False, True]), 0, R(2, 3)),
    row("clamp", R(2, 3), V([-0.3, -0.2, 0.5]), V([0.3, 0.2, 0.1])),
    row("clamp", R(2, 3), V([-0.3, -0.2, 0.5]), None),
    row("clamp", R(2, 3), None, V([0.3, 0.2, 0.1])),
    row("clamp", R(2, 3), -0.5, 0.5),
    row("clamp_numbers", R(2, 3), low=-0.5, high=0.5),
    row("clamp_numbers", R(2, 3), low=None, high=0.5),
    row("nan_to_num", SOME_NAN, nan=0.0, posinf=9.0, neginf=-9.0),
    # complex parts
    *rows("real imag", C(2, 3)),
    *rows("complex polar", P(2, 3), R(3)),
    # powers, exponentials, logarithms
    *rows("sqrt rsqrt log log2 log10 log1p exp exp2 expm1 lgamma digamma", P(2, 3)),
    *rows("sqrt rsqrt log log2 log10 log1p exp exp2 expm1 sigmoid", C(2, 3)),
    *[row("pow_scalar", P(2, 3), y) for y in (0, 1, 2, 3, 0.5, -1, 2.5)],
    row("pow", P(2, 3), R(3)),
    row("pow", V([0.0, 0.0, 2.0]), V([0.0, 2.0, 0.0])),
    row("pow", C(2, 3), C(3)),
    row("rpow", R(2, 3), 2.5),
    row("rpow", R(2, 3), 0.0),
    row("hypot", R(2, 3), P(3)),
    row("ldexp", R(2, 3), V([1, 2, -1])),
    row("frexp", R(2, 3)),
    *rows("logaddexp logaddexp2 xlogy special_xlog1py atan2", P(2, 3), P(3)),
    *rows("xlogy special_xlog1py", V([0.0, 1.0, 0.0]), V([0.0, 1.0, NAN])),
    *rows("xlogy special_xlog1py", P(2, 3), 0.5),
    row("logaddexp", C(2, 3), C(3)),
    row("logit", P(2, 3), eps=0.1),
    row("logit", V([0.1, 0.5, 0.9]), eps=None),
    # angles, hyperbolic functions
    *rows("deg2rad rad2deg sin cos tan asin acos atan sinh cosh tanh asinh atanh sinc sigmoid", U(2, 3)),
    *rows("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinc", C(2, 3)),
    row("acosh", V([1.5, 2.0, 7.0])),
    row("sinc", V([0.0, 0.5, 1.0])),
    row("atan2", V([0.0, -1.0, 2.0]), V([0.0, -2.0, 0.0])),
    # special functions
    *rows("erf erfc ndtr special_i1 special_i0e special_i1e i0", X),
    *rows("erf erfc erfinv ndtr special_erfcx special_log_ndtr special_i1 special_i0e special_i1e i0", U(2, 3)),
    *rows("lgamma digamma", V([0.1, 1.0, 2.0, 12.5, -0.5, -3.3])),
    row("special_ndtri", V([0.1, 0.5, 0.9])),
    row("special_entr", V([0.0, 0.5, 2.0])),
    row("polygamma", P(2, 3), n=1),
    row("polygamma", P(2, 3), n=3),
    row("mvlgamma", V([2.5, 3.0, 7.0]), p=3),
    row("special_zeta", fixed(V([1.5, 2.0, 3.0])), P(2, 3)),
    *rows("igamma igammac", fixed(P(3)), P(2, 3)),
    row("_standard_gamma_grad", P(2, 3), P(2, 3)).without_gradient(),
    row("_dirichlet_grad", V([0.2, 0.5, 0.9]), P(2, 3), V([9.0, 8.0, 7.0])).without_gradient(),
    *rows(
        "special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1"
        " special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0"
        " special_scaled_modified_bessel_k1 special_spherical_bessel_j0 special_modified_bessel_i0"
        " special_modified_bessel_i1", V([0.1, 1.0, 2.5, 9.0]),
    ),
    *rows(
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v"
        " special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he"
        " special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t"
        " special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v"
        " special_shifted_chebyshev_polynomial_w", U(2, 3), V([0.0, 1.0, 4.0]),
    ),
    # activations
    *rows("relu gelu gelu_tanh silu mish log_sigmoid hardsigmoid hardswish", X),
    *rows("gelu_pull gelu_tanh_pull silu_pull mish_pull hardsigmoid_pull hardswish_pull", X, X),
    *rows("threshold threshold_in_place", X, threshold=0.5, value=-1.0),
    row("threshold_pull", X, X, threshold=0.5),
    row("hardshrink", X, lambd=0.5),
    row("hardshrink_pull", X, X, lambd=0.5),
    row("softshrink", X, lambd=0.5, edge=0.5),
    *rows("leaky_relu leaky_relu_in_place", X, negative_slope=0.1),
    row("leaky_relu_pull", X, X, slope=0.1),
    *rows("rrelu_eval rrelu_eval_in_place", X, slope=0.2),
    row("prelu", X, R(3)),
    *rows("elu elu_in_place", X, alpha=1.5, scale=2.0, input_scale=0.5),
    row("elu_pull", X, X, alpha=1.5, scale=2.0, input_scale=0.5),
    row("elu_pull_of_result", X, X, height=3.0, scale=2.0, input_scale=0.5),
    *rows("celu celu_in_place", X, alpha=1.5),
    row("softplus", X, beta=2.0, threshold=20.0),
    row("softplus", X, beta=1.0, threshold=float("nan")),
    row("hardtanh", X, low=-1.0, high=2.0),
    row("hardtanh_pull", X, X, low=-1.0, high=2.0),
    # integers
    *rows("add mul div sub", R(2, 3), V([1, 2, 3])),
    *rows("add sub mul div_trunc div_floor remainder fmod maximum", SMALL, V([2, -3, 4])),
    *rows("neg abs sign sgn floor square", V([-2, 0, 3])),
    *rows("exp sqrt log sin tanh sigmoid erf", SMALL),
    row("pow_scalar", SMALL, 3),
    row("pow", SMALL, V([0, 1, 2])),
    row("clamp_numbers", V([-2, 0, 3]), low=-1, high=1),
    # comparisons, logic, bits
    *rows("eq ne lt le gt ge", R(2, 3), R(3)),
    *rows("eq ne lt le gt ge", SMALL, 3),
    *rows("isnan isinf isfinite isreal isposinf isneginf signbit", SOME_NAN),
    row("isreal", C(2, 3)),
    row("isclose", SOME_NAN, SOME_NAN, rtol=1e-5, atol=1e-8, equal_nan=False),
    row("isclose", SOME_NAN, SOME_NAN, rtol=1e-5, atol=1e-8, equal_nan=True),
    row("logical_not", R(2, 3)),
    *rows("logical_and logical_or logical_xor", V([0.0, 1.0, 2.0]), V([0.0, 0.0, 1.0])),
    row("bitwise_not", SMALL),
    *rows("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm", SMALL, BITS),
]
