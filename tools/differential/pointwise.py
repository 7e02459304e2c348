"""Functions that work element by element."""

from .writer import rows

SMOOTH = """exp expm1 exp2 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt
            sigmoid square reciprocal"""
ARC = "arccos arccosh arcsin arcsinh arctan arctanh"
REAL = "erf erfc erfinv lgamma digamma i0 logit sinc deg2rad rad2deg"
SPECIAL = """entr erfcx i0e i1 i1e ndtr ndtri log_ndtr bessel_j0 bessel_j1 bessel_y0 bessel_y1 airy_ai
             modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
             scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 gammaln psi expit digamma
             erf erfc erfinv exp2 expm1 i0 log1p logit round sinc"""
POLYNOMIALS = """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
                 hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
                 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
                 shifted_chebyshev_polynomial_w"""
UNARY = [
    *rows("fibc", "torch.NAME({x})", f"{SMOOTH} {ARC}"),
    *rows("fib", "torch.NAME({x})", REAL + " selu"),
    *rows("fi", "torch.NAME({x})", "abs absolute neg negative sign ceil floor trunc fix round sgn positive frac"),
    *rows("fib", "torch.NAME({x})", "signbit isfinite isinf isnan isneginf isposinf logical_not nan_to_num relu"),
    *rows("fi", "torch.nan_to_num({x}, {number1}, {number2}, {number3})"),
    *rows("f", "torch.round({x}, decimals={index})"),
    *rows("ib", "torch.bitwise_not({x})"),
    *rows("c", "torch.NAME({x})", """abs angle conj conj_physical neg sgn isreal isfinite isnan view_as_real
          resolve_conj resolve_neg"""),
    *rows("f", "torch.NAME({x})", "angle isreal real frexp"),
    *rows("c", "{x}.NAME", "real imag H mH"),
    *rows("f", "torch.special.NAME({x})", SPECIAL),
    *rows("i", "torch.special.NAME({x})", "entr erfcx i0e i1 ndtr bessel_j0 expit gammaln"),
    *rows("f", "torch.polygamma({count}, {x})"),
    *rows("f", "{x}.NAME({count})", "polygamma polygamma_"),
    *rows("f", "torch.special.polygamma({count}, {x})"),
    *rows("f", "torch.mvlgamma({x}, {positive_count})", mild=True),
    *rows("f", "torch.special.multigammaln({x}, {positive_count})", mild=True),
    *rows("f", "torch.logit({x}, {number})"),
    *rows("f", "torch.special.logit({x}, 0.25)"),
    *rows("f", "torch.selu_({x})"),
    *rows("f", "torch.fake_quantize_per_tensor_affine({x}, 0.1, {index}, -8, 7)", mild=True),
    *rows("f", "torch.fake_quantize_per_channel_affine({x}, torch.ones(len({x})) / 9, torch.zeros(len({x})), 0, -8, 7)",
          x="matrix", mild=True),
    *rows("fib", "torch.threshold_({x}, {number1}, {number2})", mild=True),
    *rows("fib", "torch.threshold({x}, {number1}, {number2})", mild=True),
]
BINARY = [
    *rows("fic", "torch.NAME({x}, {other})", "add sub mul div pow true_divide divide multiply subtract rsub"),
    *rows("fibc", "torch.NAME({x}, {other})", """eq ne not_equal add mul logical_and logical_or logical_xor
          float_power"""),
    *rows("fib", "torch.NAME({x}, {other})", "lt le gt ge less less_equal greater greater_equal"),
    *rows("fi", "torch.NAME({x}, {other})", "remainder fmod floor_divide copysign xlogy"),
    *rows("fi", "torch.div({x}, {other}, rounding_mode='NAME')", "floor trunc"),
    *rows("fib", "torch.NAME({x}, {peer})", "maximum minimum fmax fmin heaviside max min"),
    *rows("f", "torch.NAME({x}, {peer})", """atan2 arctan2 hypot nextafter logaddexp logaddexp2 ldexp igamma igammac
          float_power"""),
    *rows("fi", "torch.special.NAME({x}, {peer})", "zeta xlog1py xlogy"),
    *rows("f", "torch.special.NAME({x}, {peer})", "gammainc gammaincc"),
    *rows("f", "torch.special.NAME({x}, {count})", POLYNOMIALS, mild=True),
    *rows("i", "torch.NAME({x}, {peer})", "gcd lcm"),
    *rows("ib", "torch.bitwise_NAME({x}, {other})", "and or xor left_shift right_shift"),
    *rows("ib", "{x} NAME {other}", "& | ^ << >>"),
    *rows("fibc", "{x} NAME {other}", "+ * == !="),
    *rows("fi", "{x} NAME {other}", "- / // % < >= **"),
    *rows("fibc", "{number} NAME {x}", "+ * == - /"),
    *rows("fi", "{number} NAME {x}", "** // % <"),
    *rows("fic", "torch.add({x}, {other}, alpha={number})"),
    *rows("fic", "torch.sub({x}, {other}, alpha={number})"),
    *rows("f", "torch.complex({x}, {same})"),
    *rows("f", "torch.polar({x}, {same})", mild=True),
    *rows("fibc", "torch.isclose({x}, {same})"),
    *rows("fibc", "torch.isclose({x}, {peer}, {positive}, {number}, equal_nan={flag})", mild=True),
]
TERNARY = [
    *rows("fib", "torch.clamp({x}, min={number1}, max={number2})"),
    *rows("fib", "torch.clip({x}, {number1}, {number2})"),
    *rows("fib", "torch.NAME({x}, {number})", "clamp_min clamp_max"),
    *rows("fi", "torch.NAME({x}, {peer})", "clamp_min clamp_max"),
    *rows("fi", "torch.clamp({x}, min={peer1}, max={peer2})"),
    *rows("fic", "torch.lerp({x}, {same}, {positive})"),
    *rows("fc", "torch.lerp({x}, {same1}, {same2})"),
    *rows("fic", "torch.addcmul({x}, {peer1}, {peer2}, value={number})"),
    *rows("fc", "torch.addcdiv({x}, {peer1}, {peer2}, value={number})"),
    *rows("fibc", "torch.where({mask}, {x}, {other})"),
    *rows("fibc", "{x}.where({mask}, {other})"),
]
POINTWISE = [*UNARY, *BINARY, *TERNARY]
