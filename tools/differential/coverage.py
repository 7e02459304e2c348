"""Which of PyTorch's public functions the programs call, and which they do not, and why."""

import re

import torch

from . import autograd, ops, randomness, views
from .forms import forms

NAMESPACES = {"torch": torch, "torch.fft": torch.fft, "torch.linalg": torch.linalg, "torch.special": torch.special,
              "Tensor": torch.Tensor}
NOT_DRAWN = {  # by reason
    "numbers are random, or the memory is not initialised": """
        lobpcg pca_lowrank seed svd_lowrank new resize resize_as resize_as_""",
    "settings of the library and its devices": """
        are_deterministic_algorithms_enabled clear_autocast_cache compile get_autocast_dtype get_default_device
        get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads
        get_num_threads is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled
        is_autocast_enabled is_deterministic_algorithms_warn_only_enabled is_grad_enabled
        is_inference_mode_enabled set_anomaly_enabled set_autocast_cache_enabled set_autocast_dtype
        set_autocast_enabled set_default_device set_default_dtype set_default_tensor_type
        set_deterministic_debug_mode set_float32_matmul_precision set_num_interop_threads set_num_threads
        set_printoptions use_deterministic_algorithms cuda pin_memory typename""",
    "memory, and what lies beside it": """
        apply_ as_subclass data_ptr from_dlpack from_numpy frombuffer load map_ numpy save set_ share_memory_
        storage storage_type to_dlpack untyped_storage is_storage record_stream""",
    "sparse tensors": """
        coalesce dense_dim indices is_coalesced sparse_coo_tensor sparse_dim sparse_mask sparse_resize_
        sparse_resize_and_clear_ to_dense to_sparse to_sparse_coo""",
    "layers and losses, which the families of layers draw": """
        adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d batch_norm bilinear binary_cross_entropy_with_logits
        celu celu_ conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
        cosine_embedding_loss cosine_similarity ctc_loss embedding grid_sampler grid_sampler_2d grid_sampler_3d
        group_norm gru gru_cell hardshrink hinge_embedding_loss instance_norm kl_div layer_norm lstm lstm_cell
        margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool3d pairwise_distance
        poisson_nll_loss prelu rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell triplet_margin_loss""",
    "functions of functions, which the transforms draw": "vmap",
}


def tables():
    return [*ops.TABLES, *randomness.TABLES, views.VIEWS, views.WRITES, autograd.FUNCTIONS, autograd.VIEWS,
            autograd.WRITES, autograd.GRAPH, autograd.BACKWARD]


def drawn(namespace):
    """The names in a namespace that some template calls; of a function and the method of its name one is enough."""
    texts = {form.template for table in tables() for row in table for form in forms(row)}
    method = r"[)}\]]\.|torch\.Tensor\."
    before = {"torch": rf"torch\.|{method}", "Tensor": method}.get(namespace, re.escape(f"{namespace}."))
    return {name for text in texts for name in re.findall(rf"(?:{before})(\w+)", text)}


def public(namespace, ours):
    """The names of what both libraries have in a namespace and can be called, but for classes."""
    theirs = NAMESPACES[namespace]
    found = [name for name in dir(theirs) if not name.startswith("_") and callable(getattr(theirs, name))]
    return {name for name in found if hasattr(ours, name) and not isinstance(getattr(theirs, name), type)}


def excused():
    return set(" ".join(NOT_DRAWN.values()).split())
