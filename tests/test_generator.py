"""Seeds give PyTorch's numbers: the generator's stream and every kernel that draws from it."""

import copy
import pickle
import threading
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import _draws
import _normal32
from flambeau._generator import DEFAULT_SEED, Generator
from flambeau.engines.numpy import random as kernels
from flambeau.engines.numpy import random_integers

SIZES = (0, 1, 5, 15, 16, 17, 31, 32, 100, 1000)
RECORDED = list(enumerate(_draws.recorded_draws()))


@pytest.fixture(scope="module")
def recorded():
    with np.load(_draws.RECORD) as arrays:
        return dict(arrays)


def uniforms(generator, n=4):
    return kernels.fill_uniform(generator, np.empty(n, np.float32)).tolist()


# The generator


def test_a_new_generator_has_pytorchs_default_seed():
    assert Generator().initial_seed() == DEFAULT_SEED == 67280421310721
    assert str(Generator().device) == "cpu"
    assert str(Generator("meta").device) == "meta"


def test_first_numbers_of_seed_zero():
    assert uniforms(Generator().manual_seed(0), 3) == [
        0.49625658988952637,
        0.7682217955589294,
        0.08847743272781372,
    ]


@pytest.mark.parametrize("seed", [0, 1, -5, 2**63 - 1, 2**64 - 1, -(2**63), 2**32, np.int64(7)])
def test_any_integer_of_64_bits_seeds(seed):
    generator = Generator()
    assert generator.manual_seed(seed) is generator
    assert generator.initial_seed() == int(seed) % 2**64
    assert uniforms(generator) == uniforms(Generator().manual_seed(int(seed) & 0xFFFFFFFF))


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (1.5, RuntimeError, "manual_seed expected a long, but got float"),
        (True, RuntimeError, "manual_seed expected a long, but got bool"),
        ("1", RuntimeError, "manual_seed expected a long, but got str"),
        (None, RuntimeError, "manual_seed expected a long, but got NoneType"),
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
    ],
)
def test_other_seeds_are_refused(seed, error, message):
    with pytest.raises(error, match=message):
        Generator().manual_seed(seed)


def test_seed_is_new_every_time_and_can_be_used_again():
    generator = Generator()
    seed = generator.seed()
    assert generator.initial_seed() == seed != generator.clone_state().seed()
    assert uniforms(generator) == uniforms(Generator().manual_seed(seed))


@pytest.mark.parametrize("drawn", [0, 1, 3, 623, 624, 625, 5000])
@pytest.mark.parametrize("normals", [0, 1, 2])
def test_a_state_continues_the_stream(drawn, normals):
    generator = Generator().manual_seed(11)
    uniforms(generator, drawn)
    kernels.fill_normal(generator, np.empty(normals))
    other = Generator()
    other._set_state_bytes(generator._get_state_bytes())
    for copied in (
        other,
        generator.clone_state(),
        copy.deepcopy(generator),
        pickle.loads(pickle.dumps(generator)),
    ):
        assert copied.initial_seed() == 11
        np.testing.assert_array_equal(copied._get_state_bytes(), generator._get_state_bytes())
    expected = kernels.fill_normal(generator, np.empty(5)).tolist(), uniforms(generator, 700)
    assert (kernels.fill_normal(other, np.empty(5)).tolist(), uniforms(other, 700)) == expected


def test_a_state_of_pytorch_continues_here(recorded):
    generator = Generator()
    generator._set_state_bytes(recorded["state"])
    np.testing.assert_array_equal(generator._get_state_bytes(), recorded["state"])
    normals = kernels.fill_normal(generator, np.empty(4))
    np.testing.assert_array_equal(normals, recorded["normals_after_state"])


def test_a_state_of_the_wrong_size_is_refused():
    with pytest.raises(RuntimeError, match="of size 5056 but found the input RNG state size to be 16"):
        Generator()._set_state_bytes(np.zeros(16, np.uint8))


@pytest.mark.parametrize(("byte", "value"), [(8, 0), (9, 255), (12, 0), (17, 255)])
def test_a_broken_state_is_refused(byte, value):
    state = Generator()._get_state_bytes()
    state[byte] = value
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        Generator()._set_state_bytes(state)


def test_threads_share_a_generator_draw_by_draw():
    expected = uniforms(Generator().manual_seed(1), 40 * 500)
    shared, pieces = Generator().manual_seed(1), []

    def draw():
        for _ in range(10):
            pieces.append(uniforms(shared, 500))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = [expected[i : i + 500] for i in range(0, len(expected), 500)]
    assert sorted(pieces) == sorted(whole)


# The kernels, against what PyTorch drew


@pytest.mark.parametrize(("seed", "draw"), RECORDED, ids=[draw.name for _, draw in RECORDED])
def test_recorded_draw(seed, draw, recorded):
    generator = Generator().manual_seed(seed)
    got = draw.ours(generator)
    start, end = recorded["ends"][[seed - 1, seed]] if seed else (0, recorded["ends"][0])
    want = np.frombuffer(recorded["values"][start:end].tobytes(), got.dtype).reshape(got.shape)
    draw.check(got, want, other_libm=True)
    assert _draws.fingerprint(generator._get_state_bytes()) == recorded["positions"][seed]


def test_the_record_is_of_these_draws(recorded):
    assert len(recorded["ends"]) == len(RECORDED), "run tests/_draws.py to record again"


def test_the_reference_of_float32_normals_is_exact(recorded):
    uniform = np.array(uniforms(Generator().manual_seed(5), 512), np.float32).reshape(-1, 2, 8)
    normals = np.stack(_normal32.box_muller(uniform[:, 0], uniform[:, 1]), axis=1)
    np.testing.assert_array_equal(normals.reshape(-1), recorded["exact_float32_normals"])


def test_float32_normals_stay_close_to_the_reference():
    n = 1 << 17
    uniform = np.array(uniforms(Generator().manual_seed(9), n), np.float32).reshape(-1, 2, 8)
    reference = np.stack(_normal32.box_muller(uniform[:, 0], uniform[:, 1]), axis=1).reshape(-1)
    normals = kernels.fill_normal(Generator().manual_seed(9), np.empty(n, np.float32))
    ulps = np.abs(normals - reference) / np.spacing(np.abs(reference))
    assert ulps.max() <= 4
    assert np.mean(ulps > 1) < 0.03


# The kernels, among themselves


@pytest.mark.parametrize("kernel", ["fill_uniform", "fill_exponential", "fill_random"])
def test_elements_are_drawn_in_the_order_of_memory(kernel):
    fill = getattr(kernels, kernel)
    plain = fill(Generator(), np.empty((4, 5, 6), np.float32))
    permuted = fill(Generator(), np.empty((4, 5, 6), np.float32).transpose(2, 0, 1))
    np.testing.assert_array_equal(permuted, plain.transpose(2, 0, 1))


@pytest.mark.parametrize("n", [2, 16385, 40000])
def test_pieces_of_a_large_draw_join(n):
    whole = uniforms(Generator(), n)
    generator = Generator()
    assert uniforms(generator, n // 2) + uniforms(generator, n - n // 2) == whole


@given(st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_all_swaps_at_once_are_the_swaps_one_by_one(n, seed):
    partner = np.arange(max(n - 1, 0)) + np.random.default_rng(seed).integers(0, np.arange(max(n, 1), 1, -1))
    one_by_one = random_integers._swap_one_by_one(partner, n)
    if n > 1:
        np.testing.assert_array_equal(random_integers._swap_in_turn(partner, n), one_by_one)
    assert sorted(one_by_one) == list(range(n))


def test_a_permutation_of_many_is_sorted_by_both_halves_of_its_keys():
    assert np.array_equal(np.sort(kernels.permutation(Generator(), 70000)), np.arange(70000))


def test_shuffling_inside_out_gives_a_permutation(monkeypatch):
    monkeypatch.setattr(random_integers, "_SMALL_PERMUTATION", 3)
    generator = Generator().manual_seed(2)
    shuffled = kernels.permutation(generator, 1000, np.int32)
    expected, words = [], Generator().manual_seed(2)._words64(1000).tolist()
    for i, word in enumerate(words):
        j = word % (i + 1)
        expected.append(i)
        expected[i], expected[j] = expected[j], i
    assert shuffled.tolist() == expected


def test_halves_never_reach_the_open_end():
    for dtype in map(_draws.np_dtype, ("float16", "bfloat16")):
        assert (kernels.fill_uniform(Generator(), np.empty(100000, dtype)) < 1).all()


ZEROS = np.zeros(3, np.float32)
INTEGERS = np.zeros(3, np.int32)
NO_DISTRIBUTION = "invalid multinomial distribution \\(sum of probabilities <= 0\\)"


@pytest.mark.parametrize(
    ("kernel", "args", "error", "message"),
    [
        ("fill_uniform", (ZEROS, 1.0, 0.0), RuntimeError, r"a \[from, to\) range, but found from=1 > to=0"),
        ("fill_uniform", (ZEROS, np.nan, 1.0), RuntimeError, "from is out of bounds for float"),
        ("fill_uniform", (ZEROS, 0.0, np.inf), RuntimeError, "to is out of bounds for float"),
        (
            "fill_uniform",
            (ZEROS, -3e38, 3e38),
            RuntimeError,
            r"to-from <= std::numeric_limits<Float>::max\(\)",
        ),
        (
            "fill_uniform",
            (INTEGERS,),
            NotImplementedError,
            "check_uniform_bounds.* not implemented for 'Int'",
        ),
        ("fill_normal", (ZEROS, 0.0, -1.0), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        ("fill_normal", (INTEGERS,), NotImplementedError, "normal_kernel_cpu.* not implemented for 'Int'"),
        ("fill_normal_each", (ZEROS, ZEROS, ZEROS - 1), RuntimeError, "normal expects all elements of std >= 0.0"),
        (
            "fill_random",
            (INTEGERS, 5, 5),
            RuntimeError,
            "'from' to be less than 'to', but got from=5 >= to=5",
        ),
        ("fill_random", (INTEGERS, 0, 2**32), RuntimeError, "to - 1 is out of bounds for int"),
        (
            "fill_random",
            (INTEGERS.astype(np.uint8), -1, 5),
            RuntimeError,
            "from is out of bounds for unsigned char",
        ),
        ("fill_random", (ZEROS.astype(np.float16), 43384, 43385), RuntimeError, "got from=43384 >= to=43360"),
        (
            "fill_random",
            (INTEGERS, -(2**63), None),
            RuntimeError,
            "handles only int64, double, float and bfloat16",
        ),
        ("fill_random", (INTEGERS.astype(np.uint16),), NotImplementedError, "not implemented for 'UInt16'"),
        (
            "fill_bernoulli",
            (ZEROS, 1.5),
            RuntimeError,
            r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5",
        ),
        ("fill_bernoulli", (ZEROS, ZEROS + 2), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true"),
        (
            "fill_exponential",
            (ZEROS, 0.0),
            RuntimeError,
            "exponential_ expects lambda > 0.0, but found lambda=0",
        ),
        ("fill_exponential", (INTEGERS,), RuntimeError, "must be a floating point but you specified Int"),
        (
            "fill_geometric",
            (ZEROS, 1.0),
            RuntimeError,
            r"geometric_ expects p to be in \(0, 1\), but got p=1",
        ),
        ("fill_cauchy", (ZEROS, 0.0, -1.0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=-1"),
        ("fill_cauchy", (INTEGERS,), RuntimeError, "must be a floating point but you specified int"),
        (
            "fill_log_normal",
            (ZEROS, 0.0, 0.0),
            RuntimeError,
            "log_normal_ expects std > 0.0, but found std=0",
        ),
        (
            "permutation",
            (1000, np.uint8),
            RuntimeError,
            "cannot be converted to type uint8_t without overflow",
        ),
        ("permutation", (3000, np.float16), RuntimeError, "n cannot be greater than 2049 for Half type."),
        ("poisson", (ZEROS - 1,), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
        ("multinomial", (ZEROS, 1), RuntimeError, NO_DISTRIBUTION),
        ("multinomial", (ZEROS, 2, True), RuntimeError, NO_DISTRIBUTION),
        ("multinomial", (ZEROS - 1, 2, True), RuntimeError, "encountering probability entry < 0"),
        ("multinomial", (ZEROS / 1 + np.inf, 2, True), RuntimeError, "probability entry = infinity or NaN"),
        ("multinomial", (ZEROS - 1, 1), RuntimeError, "contains either `inf`, `nan` or element < 0"),
        ("multinomial", (ZEROS, 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
        ("multinomial", (ZEROS, 4), RuntimeError, "samples without replacement"),
        ("multinomial", (ZEROS.reshape(1, 1, 3), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
    ],
)
def test_arguments_out_of_range_are_refused_with_pytorchs_words(kernel, args, error, message):
    with pytest.raises(error, match=message):
        getattr(kernels, kernel)(Generator(), *args)


# The kernels, beside PyTorch


def states_agree(generator, theirs):
    ours, theirs = (np.frombuffer(s.tobytes(), _STATE) for s in (generator._get_state_bytes(), theirs))
    same = all(np.array_equal(ours[f], theirs[f]) for f in ("stream", "valid"))
    return same and np.allclose(ours["normal"], theirs["normal"], rtol=1e-15, atol=0)


_STATE = np.dtype(
    {
        "names": ["stream", "normal", "valid"],
        "formats": ["V5016", "<f8", "<i4"],
        "offsets": [0, 5024, 5040],
        "itemsize": 5056,
    }
)


def assert_same_streams(draws, seed):
    torch = pytest.importorskip("torch")
    ours, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for draw in draws:
        draw.check(draw.ours(ours), _draws.array_of(draw.theirs(theirs)))
        assert states_agree(ours, theirs.get_state().numpy()), draw.name


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*out of bounds.*precision limitations")
@pytest.mark.parametrize("n", SIZES)
def test_fills_beside_pytorch(n):
    assert_same_streams(_draws.fill_draws([n]), seed=n)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [1, 2, 17, 500])
def test_samples_beside_pytorch(n):
    assert_same_streams(_draws.sampled_draws([n]), seed=n)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*out of bounds.*precision limitations")
@pytest.mark.parametrize("seed", [0, 1, -1, 2**40 + 3])
def test_mixed_draws_beside_pytorch(seed):
    draws = [*_draws.fill_draws(SIZES), *_draws.sampled_draws([3, 40])]
    chosen = np.random.default_rng(seed % 1000).choice(len(draws), 200)
    assert_same_streams([draws[i] for i in chosen], seed)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*out of bounds.*precision limitations")
def test_large_draws_beside_pytorch():
    assert_same_streams(_draws.fill_draws([70000], ["contiguous"]), seed=3)
    assert_same_streams(
        [_draws.permutation_draw(n, "int64") for n in (399, 402, 10000, 65537, 300000)], seed=4
    )


@pytest.mark.oracle
def test_large_counts_beside_pytorch():
    draws = []
    for dtype, top in product(("float32", "float64"), (2e4, 1e7)):
        counts = np.floor(_draws.parameters(2000, dtype, 0, top))
        draws.append(
            _draws.sampled_draw("binomial", "binomial", counts, _draws.parameters(2000, dtype, 0, 1))
        )
    assert_same_streams(draws, seed=5)


@pytest.mark.oracle
def test_states_travel_both_ways():
    torch = pytest.importorskip("torch")
    ours, theirs = Generator().manual_seed(3), torch.Generator()
    kernels.fill_normal(ours, np.empty(3))
    theirs.set_state(torch.from_numpy(ours._get_state_bytes()))
    assert uniforms(ours, 700) == torch.rand(700, generator=theirs).tolist()
    torch.randn(5, generator=theirs)
    ours._set_state_bytes(theirs.get_state().numpy())
    np.testing.assert_array_equal(ours._get_state_bytes(), theirs.get_state().numpy())
    normals = kernels.fill_normal(ours, np.empty(6))
    np.testing.assert_array_equal(normals, torch.randn(6, dtype=torch.float64, generator=theirs).numpy())
