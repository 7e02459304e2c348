"""Spectral normalization by a hook: a weight divided by its largest singular value, computed before each call."""

from ..._modes import no_grad
from ...functions.linalg.solve import pinv
from ...functions.matmul import dot
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter, UninitializedParameter

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
           "spectral_norm"]

ITERATIONS = "Expected n_power_iterations to be positive, but got n_power_iterations={n}"
TWICE = "Cannot register two spectral_norm hooks on the same parameter {name}"
UNINITIALIZED = (
    "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
    "before applying spectral normalization"
)


def output_dim(module):
    """The dimension of a weight that corresponds to outputs."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def as_matrix(weight, dim):
    """A weight as a matrix whose rows are its slices along `dim`."""
    weight = weight.movedim(dim, 0)
    return weight.reshape(weight.size(0), -1)


class SpectralNorm:
    """The hook that computes the parameter `name` from ``<name>_orig`` and estimates of its singular vectors."""

    _version = 1  # of entries in a state_dict; version 1 also saves the right singular vector

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(ITERATIONS.format(n=n_power_iterations))
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight):
        """The weight as a matrix."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weight divided by its largest singular value; with power iteration, the estimates are updated in place.
        """
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
            # Backward needs the current vectors, which later calls overwrite.
            u, v = u.clone(), v.clone()
        return weight / dot(u, matrix.mv(v))

    def remove(self, module):
        """Makes the weight a parameter again, with its current value."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, f"{self.name}{suffix}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix, u, sigma):
        """The right singular vector for `u` and `sigma`."""
        v = pinv(matrix.t().mm(matrix)).mm(matrix.t().mm(u.unsqueeze(1))).squeeze(1)
        return v.mul_(sigma / dot(u, matrix.mv(v)))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Replaces a parameter by its original and two vectors."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(TWICE.format(name=name))
        self = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(UNINITIALIZED)
        with no_grad():
            rows, columns = self.reshape_weight_to_matrix(weight).size()
            u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # copied with the module and moved by .to(); the first call replaces it
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(self)
        module.register_state_dict_post_hook(SpectralNormStateDictHook(self))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(self))
        return self


class SpectralNormStateDictHook:
    """Adds the version of the entries to the metadata of a state_dict."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Computes the right singular vector for a state_dict from before it was saved."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        fn = self.fn
        key = prefix + fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        complete = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")) and key not in state_dict
        if (version is not None and version >= 1) or (version is None and complete):
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            original = state_dict[f"{key}_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            state_dict[f"{key}_v"] = fn._solve_v_and_rescale(matrix, state_dict[f"{key}_u"], sigma)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a parameter by its largest singular value before each call.

    :func:`flambeau.nn.utils.parametrizations.spectral_norm` does the same by a parametrization.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Undoes :func:`spectral_norm`: the weight becomes a parameter again."""
    hook = _pop_hook(module._forward_pre_hooks, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook.remove(module)
    _pop_hook(module._state_dict_hooks, SpectralNormStateDictHook, name)
    _pop_hook(module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook, name)
    return module


def _pop_hook(table, kind, name):
    """Removes a parameter's hook from a table, and returns it."""
    for key, hook in table.items():
        if isinstance(hook, kind) and getattr(hook, "fn", hook).name == name:
            return table.pop(key)
    return None
