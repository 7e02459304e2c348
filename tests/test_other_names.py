"""Parts of PyTorch that Flambeau does not have: names can be set or called, or raise an explanation."""

import subprocess
import sys

import pytest

import flambeau
from flambeau import _dynamo, _inductor
from flambeau.ao import quantization
from flambeau.utils import collect_env, cpp_extension


def test_settings_are_kept_and_have_no_effect():
    _dynamo.config.cache_size_limit = 64
    assert _dynamo.config.cache_size_limit == 64
    assert _dynamo.config.never_set is None
    _inductor.config.triton.cudagraphs = True
    assert _inductor.config.triton.cudagraphs
    with _dynamo.config.patch(cache_size_limit=1, other=2):
        assert (_dynamo.config.cache_size_limit, _dynamo.config.other) == (1, 2)
    assert (_dynamo.config.cache_size_limit, _dynamo.config.other) == (64, None)


def test_stubs_of_quantization_are_identities():
    x = flambeau.ones(2)
    for stub in (quantization.QuantStub(), quantization.DeQuantStub()):
        assert stub(x) is x
        assert repr(stub) == f"{type(stub).__name__}()"


@pytest.mark.parametrize("use", [
    lambda: quantization.quantize_dynamic(flambeau.nn.Linear(1, 1)), quantization.get_default_qconfig,
    cpp_extension.load, cpp_extension.CUDAExtension, lambda: cpp_extension.load_inline("name", "source"),
    cpp_extension.BuildExtension,
])
def test_what_is_missing_is_named_when_it_is_used(use):
    with pytest.raises(NotImplementedError, match=r"torch\.(ao\.quantization|utils\.cpp_extension)\.\w+ is not supported"):
        use()


def test_setup_scripts_can_name_the_builder():
    assert cpp_extension.BuildExtension.with_options(use_ninja=False) is cpp_extension.BuildExtension
    assert cpp_extension.CUDA_HOME is None


def test_the_environment_is_told():
    info = collect_env.get_env_info()
    assert info.torch_version == f"flambeau {flambeau.__version__}"
    assert "numpy==" in info.pip_packages
    text = subprocess.run([sys.executable, "-m", "flambeau.utils.collect_env"], capture_output=True, text=True, check=True)
    assert collect_env.get_pretty_env_info() in text.stdout
