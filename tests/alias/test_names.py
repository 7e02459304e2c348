"""Names below ``torch`` that libraries import or commonly use exist under the alias."""

import importlib.util
import subprocess
import sys

import pytest

NAMES = """
    Event PyTorchFileReader ScriptModule Stream Tensor.to_sparse UntypedStorage.from_file _C.DispatchKey.AutocastCPU
    _C.DispatchKey.AutocastCUDA _C.DispatchKey.AutocastXPU _C.DispatchKeySet _C._TensorMeta
    _C._distributed_rpc._is_current_rpc_agent_set _C._log_api_usage_once _C._nn._parse_to __config__ __config__.show
    _assert _custom_ops _dynamo _dynamo.OptimizedModule
    _dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex _dynamo.allow_in_graph
    _dynamo.assume_constant_result _dynamo.eval_frame.OptimizedModule _dynamo.utils.is_compile_supported _tensor_str
    _tensor_str.PRINT_OPTS _tensor_str._tensor_str accelerator.current_accelerator amp amp.GradScaler
    ao.quantization.DeQuantStub ao.quantization.QuantStub autocast autograd.profiler.EventList
    autograd.profiler.emit_nvtx autograd.profiler.profile autograd.profiler.record_function backends backends.cudnn
    backends.mps.is_available backends.mps.is_built compiler.allow_in_graph compiler.is_exporting cuda
    cuda.CUDAGraph cuda.Stream cuda.StreamContext cuda.amp.GradScaler cuda.device_count cuda.empty_cache
    cuda.get_rng_state_all cuda.graph cuda.is_available cuda.is_current_stream_capturing cuda.set_rng_state_all
    distributed distributed.ProcessGroup distributed.device_mesh.DeviceMesh distributed.get_backend
    distributed.is_available distributed.is_initialized distributed.is_torchelastic_launched
    distributed.optim.ZeroRedundancyOptimizer distributed.rpc distributed.rpc.api._require_initialized
    distributed.tensor.DTensor distributions distributions.constraints futures futures.Future futures.collect_all fx
    fx.Graph fx.GraphModule fx.Node fx.Proxy fx.Tracer fx.graph_module._CodeOnlyModule
    fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY fx.graph_module._copy_attr fx.node.Node fx.node.Target
    fx.proxy.Proxy fx.wrap hub hub.HASH_REGEX hub._get_torch_home hub.download_url_to_file hub.get_dir
    hub.load_state_dict_from_url hub.urlparse jit jit.Final jit.ScriptModule jit._overload jit._overload_method
    jit._script_if_tracing jit.annotations.BroadcastingList2 jit.annotations.List jit.export jit.ignore
    jit.is_scripting jit.is_tracing jit.script jit.unused library library.custom_op library.register_autograd
    library.register_fake multiprocessing multiprocessing.Queue multiprocessing.SimpleQueue
    multiprocessing.get_all_start_methods multiprocessing.get_start_method nn.CosineSimilarity nn.DataParallel
    nn.GRU nn.GRUCell nn.LSTM nn.MultiheadAttention nn.SyncBatchNorm nn.attention.flex_attention.AuxRequest
    nn.attention.flex_attention.BlockMask nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE
    nn.attention.flex_attention.create_block_mask nn.attention.flex_attention.flex_attention
    nn.functional.grid_sample nn.functional.interpolate nn.functional.pairwise_distance
    nn.functional.scaled_dot_product_attention nn.modules.distance nn.modules.instancenorm
    nn.modules.instancenorm.InstanceNorm2d nn.modules.instancenorm._InstanceNorm
    nn.modules.module._EXTRA_STATE_KEY_SUFFIX nn.modules.module._IncompatibleKeys nn.modules.sparse
    nn.modules.sparse.Embedding nn.modules.utils._pair nn.parallel.DistributedDataParallel
    nn.parallel.distributed.DistributedDataParallel nn.utils.clip_grad_norm_ nn.utils.fusion.fuse_conv_bn_eval
    nn.utils.parameters_to_vector nn.utils.prune nn.utils.prune.BasePruningMethod nn.utils.prune.L1Unstructured
    nn.utils.prune.LnStructured nn.utils.prune.RandomStructured nn.utils.prune.RandomUnstructured
    nn.utils.prune.l1_unstructured nn.utils.prune.ln_structured nn.utils.prune.random_structured
    nn.utils.prune.random_unstructured nn.utils.rnn.PackedSequence onnx onnx.is_in_onnx_export
    onnx.register_custom_op_symbolic onnx.symbolic_helper.parse_args onnx.symbolic_opset11 ops ops.aten
    ops.load_library optim.LBFGS optim.lr_scheduler.CosineAnnealingLR optim.lr_scheduler.CosineAnnealingWarmRestarts
    optim.lr_scheduler.CyclicLR optim.lr_scheduler.ExponentialLR optim.lr_scheduler.LRScheduler
    optim.lr_scheduler.LambdaLR optim.lr_scheduler.MultiStepLR optim.lr_scheduler.ReduceLROnPlateau
    optim.lr_scheduler.StepLR optim.lr_scheduler._LRScheduler optim.swa_utils.AveragedModel optim.swa_utils.SWALR
    optim.swa_utils.get_ema_avg_fn overrides.TorchFunctionMode profiler profiler.ProfilerAction
    profiler.ProfilerActivity profiler.kineto_available profiler.profile profiler.tensorboard_trace_handler
    serialization.DEFAULT_PROTOCOL sparse sparse_csc types types.Number
    utils._python_dispatch.is_traceable_wrapper_subclass utils._pytree utils._pytree.LeafSpec utils._pytree.PyTree
    utils._pytree.SUPPORTED_NODES utils._pytree.TreeSpec utils._pytree._dict_flatten_with_keys
    utils._pytree._get_node_type utils._pytree.register_pytree_node utils._pytree.tree_map
    utils._pytree.tree_unflatten utils.checkpoint utils.checkpoint.checkpoint utils.data utils.data.BatchSampler
    utils.data.ConcatDataset utils.data.DataLoader utils.data.DataLoader.__init__ utils.data.Dataset
    utils.data.DistributedSampler utils.data.IterDataPipe utils.data.IterableDataset utils.data.RandomSampler
    utils.data.Sampler utils.data.SequentialSampler utils.data.Subset utils.data.WeightedRandomSampler
    utils.data.dataloader._BaseDataLoaderIter utils.data.dataloader._MultiProcessingDataLoaderIter
    utils.data.dataloader.default_collate utils.data.datapipes.iter.Batcher utils.data.dataset.Subset
    utils.data.distributed.DistributedSampler utils.data.functional_datapipe utils.data.get_worker_info
    utils.data.sampler.BatchSampler utils.data.sampler.Sampler utils.flop_counter utils.flop_counter.FlopCounterMode
    utils.model_zoo utils.model_zoo.tqdm utils.tensorboard xpu.is_available xpu.is_current_stream_capturing
"""
LOOK_UP = """
import importlib, sys
import torch

def find(path):
    found, so_far = torch, "torch"
    for part in path.split("."):
        so_far += "." + part
        if not hasattr(found, part):
            importlib.import_module(so_far)
        found = getattr(found, part)

for name in sys.stdin.read().split():
    try:
        find(name)
    except (AttributeError, ImportError) as error:
        print(name, error)
"""


def missing(prelude=""):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", prelude + LOOK_UP], input=NAMES, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_flambeau_has_them():
    absent = missing("from flambeau import alias; alias.install()\n")
    if importlib.util.find_spec("tensorboard") is None:  # which PyTorch's module needs as well
        absent = [line for line in absent if not line.startswith("utils.tensorboard ")]
    assert absent == []


def test_modules_of_loaded_packages_are_attributes():
    paths = """nn.common_types nn.modules.instancenorm nn.modules.sparse nn.modules.utils nn.utils.rnn
               autograd.grad_mode cuda.amp.autocast_mode cuda.amp.grad_scaler"""
    program = "".join(f"torch.{path}\n" for path in paths.split())
    code = f"from flambeau import alias; alias.install()\nimport torch\n{program}print(torch.nn.common_types._size_2_t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "typing.Union[int, tuple[int, int]]\n", done.stderr


@pytest.mark.oracle
def test_they_are_pytorchs():
    pytest.importorskip("torch")
    assert missing() == []
