"""Our messages contain the phrases by which PyTorch's tests, and people who search for an error, recognize it.

Each row: code => regular expression. PyTorch's message matches it, and so does ours, of the same type.
"""

import copy
import re
import warnings

import pytest

import flambeau

PHRASES = r"""
nn.Module().register_buffer(2, t.rand(1)) => buffer name should be a string\.
m=nn.Module(); m.attr=5; m.register_buffer('attr', t.rand(1)) => attribute 'attr' already exists
nn.Module().register_buffer('a', 5) => cannot assign 'int' object to buffer 'a'
nn.Module().register_parameter(2, nn.Parameter(t.rand(1))) => parameter name should be a string\.
m=nn.Module(); m.attr=5; m.register_parameter('attr', nn.Parameter(t.rand(1))) => attribute 'attr' already exists
nn.Module().register_parameter('a', 5) => cannot assign 'int' object to parameter 'a'
nn.Module().register_parameter('a', nn.Parameter(t.rand(1))*2) => cannot assign 'torch.FloatTensor' object to parameter 'a'
nn.Module().add_module(2, nn.Linear(1,1)) => module name should be a string\. Got int
m=nn.Module(); m.attr=5; m.add_module('attr', nn.Linear(1,1)) => attribute 'attr' already exists
nn.Module().add_module('a', 5) => int is not a Module subclass
m=nn.Linear(1,1); m.weight=5 => cannot assign 'int' as parameter 'weight' \(torch.nn.Parameter or None expected\)
m=nn.Sequential(nn.Linear(1,1)); setattr(m,'0',5) => cannot assign 'int' as child module '0' \(torch.nn.Module or None expected\)
m=nn.BatchNorm1d(1); m.running_mean=5 => cannot assign 'int' as buffer 'running_mean' \(torch.nn.Buffer, torch.Tensor or None expected\)
type('M',(nn.Module,),{'__init__':lambda s: setattr(s,'x',nn.Linear(1,1))})() => cannot assign module before Module.__init__\(\) call
type('M',(nn.Module,),{'__init__':lambda s: setattr(s,'x',nn.Parameter(t.ones(1)))})() => cannot assign parameters before Module.__init__\(\) call
type('M',(nn.Module,),{'__init__':lambda s: s.register_buffer('x',t.ones(1))})() => cannot assign buffer before Module.__init__\(\) call
nn.Linear(1,1).foo => 'Linear' object has no attribute 'foo'
nn.Module()(1) => Module \[Module\] is missing the required "forward" function
nn.Module(5) => __init__\(\) takes 1 positional argument but 2 were given
nn.Module(x=5) => __init__\(\) got an unexpected keyword argument 'x'
nn.Linear(1,1).load_state_dict(5) => Expected state_dict to be dict-like, got <class 'int'>
nn.Linear(1,1).load_state_dict({}) => Missing key\(s\) in state_dict: "weight", "bias"
nn.Linear(1,1).load_state_dict({'weight':t.ones(1,1),'bias':t.ones(1),'x':t.ones(1)}) => Unexpected key\(s\) in state_dict: "x"
nn.Linear(1,1).load_state_dict({'weight':t.ones(2,1),'bias':t.ones(1)}) => size mismatch for weight: copying a param with shape torch.Size\(\[2, 1\]\) from checkpoint, the shape in current model is torch.Size\(\[1, 1\]\)
nn.Linear(1,1).load_state_dict({}) => Error\(s\) in loading state_dict for Linear:
nn.Linear(1,1).load_state_dict({'weight':5,'bias':t.ones(1)}) => While copying the parameter named "weight", expected torch.Tensor or Tensor-like object from checkpoint but received <class 'int'>
nn.Linear(1,1).get_submodule('x.y') => Linear has no attribute `x`
nn.Linear(1,1).get_submodule('weight') => `weight` is not an nn.Module
nn.Linear(1,1).get_parameter('x') => Linear has no attribute `x`
nn.Linear(1,1).get_parameter('in_features') => `in_features` is not an nn.Parameter
nn.Linear(1,1).get_buffer('weight') => `weight` is not a buffer
nn.Linear(1,1).set_extra_state(1) => Reached a code path in Module.set_extra_state\(\) that should never be called
nn.Linear(1,1).get_extra_state() => Reached a code path in Module.get_extra_state\(\) that should never be called
nn.Linear(1,1).to(t.int64) => nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64
nn.Linear(1,1,device='meta').to('cpu') => Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty\(\) instead of torch.nn.Module.to\(\)
nn.Linear(1,1).train(5) => training mode is expected to be boolean
nn.Sequential(nn.Linear(1,1))[3] => index 3 is out of range
nn.Sequential(nn.Linear(1,1)).pop(3) => index 3 is out of range
nn.Sequential(nn.Linear(1,1)).append(5) => int is not a Module subclass|Module subclass
nn.Sequential(nn.Linear(1,1)).insert(5, nn.ReLU()) => Index out of range: 5
nn.Sequential(nn.Linear(1,1)).insert(0, 5) => module should be of type
nn.Sequential(nn.Linear(1,1)) + 5 => add operator supports only objects of Sequential class, but <class 'int'> is given
nn.Sequential(nn.Linear(1,1)) * 0 => Non-positive multiplication factor 0 for
nn.Sequential(nn.Linear(1,1)) * 1.5 => unsupported operand type\(s\) for \*
nn.ModuleList([nn.Linear(1,1)])[2] => index 2 is out of range
nn.ModuleList(5) => 'int' object is not iterable|ModuleList
nn.ModuleList([1]) => int is not a Module subclass
nn.Sequential(nn.ReLU) => nn.modules.activation.ReLU is not a Module subclass
nn.ModuleList([len]) => len is not a Module subclass
nn.Sequential(copy.deepcopy) => copy.deepcopy is not a Module subclass
m=nn.Linear(1,1); m.bias=copy.deepcopy => cannot assign 'copy.deepcopy' as parameter 'bias'
nn.ModuleList().extend(5) => ModuleList.extend should be called with an iterable, but got int
nn.ModuleList()(1) => Module \[ModuleList\] is missing the required "forward" function
nn.ModuleDict(5) => ModuleDict.update should be called with an iterable of key/value pairs, but got int
nn.ModuleDict([(1,2,3)]) => ModuleDict update sequence element #0 has length 3; 2 is required
nn.ModuleDict({1: nn.Linear(1,1)}) => module name should be a string
nn.ParameterList([nn.Parameter(t.ones(1))])[2] => index 2 is out of range
nn.ParameterList(5) => 'int' object is not iterable|ParameterList
nn.ParameterList()(1) => ParameterList should not be called\.
nn.ParameterDict(5) => ParameterDict.update should be called with an iterable of key/value pairs, but got int|ParametersDict
nn.ParameterDict()(1) => ParameterDict should not be called\.
nn.ParameterDict({1:nn.Parameter(t.ones(1))}) => Index given to ParameterDict cannot be used as a key as it is not a string
nn.Parameter(t.ones(1).long()) => Only Tensors of floating point and complex dtype can require gradients
x=t.ones(1,requires_grad=True)*2; x.requires_grad=False => you can only change requires_grad flags of leaf variables
x=t.ones(2,requires_grad=True); x.add_(1) => a leaf Variable that requires grad is being used in an in-place operation
x=t.ones(2,requires_grad=True); x[0].add_(1) => a view of a leaf Variable that requires grad is being used in an in-place operation
t.ones(2,requires_grad=True).backward() => grad can be implicitly created only for scalar outputs
t.ones(2).sum().backward() => element 0 of tensors does not require grad and does not have a grad_fn
x=t.ones(1,requires_grad=True); y=(x*x).sum(); y.backward(); y.backward() => Trying to backward through the graph a second time
x=t.ones(1,requires_grad=True); y=x.exp(); y.add_(1); y.sum().backward() => one of the variables needed for gradient computation has been modified by an inplace operation
t.ones(1,requires_grad=True).numpy() => Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead
copy.deepcopy(t.ones(1,requires_grad=True)*2) => Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol
x=t.ones(2,requires_grad=True)*1; x.sum().backward(t.ones(3)) => Mismatch in shape: grad_output\[0\] has a shape of
t.optim.SGD([], lr=.1) => optimizer got an empty parameter list
t.optim.SGD(t.ones(1,requires_grad=True), lr=.1) => params argument given to the optimizer should be an iterable of Tensors or dicts
t.optim.SGD([5], lr=.1) => optimizer can only optimize Tensors, but one of the params is int
t.optim.SGD([t.ones(1,requires_grad=True)*2], lr=.1) => can't optimize a non-leaf Tensor
t.optim.SGD([t.ones(1)], lr=-.1) => Invalid learning rate: -0.1
t.optim.SGD([t.ones(1)], lr=.1, momentum=-.5) => Invalid momentum value: -0.5
t.optim.SGD([t.ones(1)], lr=.1, weight_decay=-.5) => Invalid weight_decay value: -0.5
t.optim.SGD([t.ones(1)], lr=.1, nesterov=True) => Nesterov momentum requires a momentum and zero dampening
p=t.ones(1,requires_grad=True); o=t.optim.SGD([p],lr=.1); o.add_param_group({'params':[p]}) => some parameters appear in more than one parameter group
p=t.ones(1,requires_grad=True); o=t.optim.SGD([p],lr=.1); o.add_param_group({'params':{p}}) => optimizer parameters need to be organized in ordered collections
p=t.ones(1,requires_grad=True); o=t.optim.SGD([p],lr=.1); o.add_param_group(5) => param_group must be a dict
p=t.ones(1,requires_grad=True); o=t.optim.SGD([p],lr=.1); o.load_state_dict({'state':{},'param_groups':[]}) => loaded state dict has a different number of parameter groups
p=t.ones(1,requires_grad=True); o=t.optim.SGD([p],lr=.1); o.load_state_dict({'state':{},'param_groups':[{'params':[0,1]}]}) => loaded state dict contains a parameter group that doesn't match the size of optimizer's group
m=nn.Linear(1,1); m.register_forward_pre_hook(lambda *a: 5, with_kwargs=True); m(t.ones(1)) => forward pre-hook must return None or a tuple of \(new_args, new_kwargs\), but got
m=nn.Linear(1,1); m.register_full_backward_hook(lambda *a: None); m.register_backward_hook(lambda *a: None) => Cannot use both regular backward hooks and full backward hooks on a single Module
m=nn.Linear(1,1); m.register_full_backward_hook(lambda *a: (1,2,3)); m(t.ones(1,requires_grad=True)).sum().backward() => Backward hook returned an invalid number of grad_input, got 3, but expected 1
m=nn.Linear(1,1); m.register_full_backward_pre_hook(lambda *a: (1,2,3)); m(t.ones(1,requires_grad=True)).sum().backward() => Backward pre hook returned an invalid number of grad_output, got 3, but expected 1
m=nn.Linear(1,1); m.register_state_dict_post_hook(lambda *a: 5); m.state_dict() => state_dict post-hook must return None
m=nn.Linear(1,1); m.register_load_state_dict_post_hook(lambda *a: 5); m.load_state_dict(m.state_dict()) => Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values
nn.init.xavier_uniform_(t.ones(1)) => Fan in and fan out can not be computed for tensor with fewer than 2 dimensions
nn.init.orthogonal_(t.ones(1)) => Only tensors with 2 or more dimensions are supported
nn.init.calculate_gain('foo') => Unsupported nonlinearity foo
nn.init.eye_(t.ones(1)) => Only tensors with 2 dimensions are supported
nn.init.dirac_(t.ones(1)) => Only tensors with 3, 4, or 5 dimensions are supported
nn.Linear(2,2)(t.ones(2,3)) => mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x2\)
nn.Conv2d(1,1,1)(t.ones(1,2,3,3)) => Given groups=1, weight of size \[1, 1, 1, 1\], expected input\[1, 2, 3, 3\] to have 1 channels, but got 2 channels instead
nn.Conv2d(1,1,1)(t.ones(3)) => Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: \[3\]
nn.BatchNorm2d(2)(t.ones(1,2)) => expected 4D input \(got 2D input\)
nn.Dropout(2.) => dropout probability has to be between 0 and 1, but got 2
nn.Flatten(0,5)(t.ones(2)) => Dimension out of range
nn.Embedding(2,2,padding_idx=5) => Padding_idx must be within num_embeddings
nn.Conv2d(3,4,1,groups=2) => in_channels must be divisible by groups
nn.Conv2d(4,3,1,groups=2) => out_channels must be divisible by groups
nn.PReLU()(t.ones(1).long()) => Type promoting not supported
nn.Softmax(5)(t.ones(2)) => Dimension out of range
t.ones(2,3)@t.ones(2,3) => mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)
t.ones(2)+t.ones(3) => The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0
t.ones(2).view(3) => shape '\[3\]' is invalid for input of size 2
t.ones(2,3).t().view(6) => view size is not compatible with input tensor's size and stride
t.cat([t.ones(2,2),t.ones(3,3)]) => Sizes of tensors must match except in dimension 0
t.cat([]) => expected a non-empty list of Tensors
t.stack([t.ones(2),t.ones(3)]) => stack expects each tensor to be equal size, but got \[2\] at entry 0 and \[3\] at entry 1
t.ones(2)[5] => index 5 is out of bounds for dimension 0 with size 2
t.tensor(1)[0] => invalid index of a 0-dim tensor. Use `tensor.item\(\)`
t.ones(2)[0,0] => too many indices for tensor of dimension 1
t.ones(2)[1.5] => only integers, slices \(`:`\), ellipsis \(`...`\), None and long or byte Variables are valid indices
bool(t.ones(2)) => Boolean value of Tensor with more than one value is ambiguous
t.ones(2).item() => a Tensor with 2 elements cannot be converted to Scalar
len(t.tensor(1)) => len\(\) of a 0-d tensor
list(t.tensor(1)) => iteration over a 0-d tensor
t.ones(2).expand(3) => The expanded size of the tensor \(3\) must match the existing size \(2\) at non-singleton dimension 0
t.ones(2,2).permute(0) => number of dimensions in the tensor input does not match the length of the desired ordering of dimensions
t.ones(2,2).transpose(0,5) => Dimension out of range
t.ones(4).chunk(0) => chunk expects `chunks` to be greater than 0, got: 0
t.ones(4).split(-1) => split expects split_size be non-negative
t.ones(4).split([1,1]) => split_with_sizes expects split_sizes to sum exactly to 4
t.arange(0,1,-1) => upper bound and lower bound inconsistent with step sign|upper bound and larger bound inconsistent
t.linspace(0,1,-1) => number of steps must be non-negative
t.set_default_dtype(t.int64) => only floating-point types are supported as the default type
t.tensor([[1,2],[3]]) => expected sequence of length 2 at dim 1 \(got 1\)
t.tensor('a') => new\(\): invalid data type 'str'
t.as_tensor(object()) => Could not infer dtype of object
t.ones(2).to('bogus') => Expected one of cpu, cuda
t.device('bogus') => Expected one of cpu, cuda
t.einsum('ij,jk->ik', t.ones(2,2)) => fewer operands were provided than specified in the equation
t.set_default_dtype('float') => invalid dtype object: only floating-point types are supported as the default type
t.set_rng_state(t.ones(3)) => RNG state must be a torch.ByteTensor
t.autograd.grad(t.ones(2).sum(), t.ones(2)) => element 0 of tensors does not require grad and does not have a grad_fn
p=t.ones(3,4); p.grad=t.ones(4) => attempting to assign a gradient of size '\[4\]' to a tensor of size '\[3, 4\]'
p=t.ones(4); p.grad=t.ones(4).double() => attempting to assign a gradient with dtype
t.ones(3,4)[0]=t.ones(3) => The expanded size of the tensor \(4\) must match the existing size \(3\) at non-singleton dimension 0.  Target sizes: \[4\].  Tensor sizes: \[3\]
t.ones(3,4)[:,0]=t.ones(2,3) => the number of sizes provided \(1\) must be greater or equal to the number of dimensions in the tensor \(2\)
nn.functional.cosine_similarity(t.ones(3,4), t.ones(3)) => The size of tensor a \(.*\) must match the size of tensor b \(3\) at non-singleton dimension
nn.Linear(4,2)(t.tensor(1.)) => both arguments to linear need to be at least 1D, but they are 0D and 2D
nn.Linear(4,2,bias=False)(t.tensor(1.)) => both arguments to linear need to be at least 1D, but they are 0D and 2D
nn.Conv2d(3,4,3)(t.ones(1,3,8,8).double()) => Input type \(double\) and bias type \(float\) should be the same
nn.Conv1d(3,4,3)(t.ones(1,3,8).long()) => Input type \(long int\) and bias type \(float\) should be the same
nn.Conv1d(3,4,3,bias=False)(t.ones(1,3,8).double()) => expected scalar type Double but found Float
nn.LayerNorm(4)(t.ones(3,4).long()) => mixed dtype \(CPU\): all inputs must share same datatype
nn.EmbeddingBag(3,2)(t.tensor([1,2]), t.tensor([1])) => offsets\[0\] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got 1
t.meshgrid() => meshgrid expects a non-empty TensorList
t.ones(2).round(decimals='a') => round\(\): argument 'decimals' must be int, not str
t.softmax(t.ones(2), None) => softmax\(\): argument 'dim' \(position 2\) must be int, not NoneType
t.ones(2).log_softmax(None) => log_softmax\(\): argument 'dim' \(position 1\) must be int, not NoneType
t.zeros(2, 'a') => zeros\(\): argument 'size' .*must be tuple of ints,? ?(but got|not) str
nn.Conv2d(3) => ^Conv2d\.__init__\(\) missing 2 required positional arguments: 'out_channels' and 'kernel_size'
nn.ReLU(inplac=True) => ^ReLU\.__init__\(\) got an unexpected keyword argument 'inplac'
t.distributions.Normal(0.) => ^Normal\.__init__\(\) missing 1 required positional argument: 'scale'
t.optim.lr_scheduler.LambdaLR() => ^LambdaLR\.__init__\(\) missing 2 required positional arguments: 'optimizer' and 'lr_lambda'
T=type('T',(t.Tensor,),{'__torch_function__':classmethod(lambda *a: NotImplemented)}); t.sin(t.ones(2).as_subclass(T)) => Multiple dispatch failed for '(torch\.)?sin'; all __torch_function__ handlers returned NotImplemented
T=type('T',(t.Tensor,),{'__torch_function__':classmethod(lambda *a: NotImplemented)}); nn.functional.relu(t.ones(2).as_subclass(T)) => no implementation found for '.*relu' on types that implement __torch_function__
nn.Linear('a', 2) => empty\(\): argument 'size' .*must be tuple of ints,? ?(but got|not) str
"""
ROWS = [row.split(" => ") for row in PHRASES.strip().splitlines()]
each_row = pytest.mark.parametrize(("code", "regex"), ROWS, ids=[code for code, _ in ROWS])


def error_of(code, t):
    """The exception of a piece of code in which ``t`` is a library."""
    scope = {"t": t, "nn": t.nn, "copy": copy}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(code.split("; ")), scope)
        except Exception as error:
            return error
    return None


@each_row
def test_has_the_words(code, regex):
    assert re.search(regex, str(error_of(code, flambeau)))


@pytest.mark.oracle
@each_row
def test_torch_has_the_words(code, regex):
    theirs = error_of(code, pytest.importorskip("torch"))
    assert re.search(regex, str(theirs))
    assert isinstance(error_of(code, flambeau), type(theirs))
