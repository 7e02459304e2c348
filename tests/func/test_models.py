"""Modules under the transforms, compared with PyTorch: per-sample gradients, ensembles, Jacobians of layers."""

import pytest

import flambeau
from flambeau import nn
from flambeau.func import functional_call, grad, vmap
from func.test_transforms import check_both

SETUP = """
from {lib}.func import stack_module_state, replace_all_batch_norm_modules_
nn = torch.nn
torch.manual_seed(0)

def parts(net):
    return {k: v.detach() for k, v in net.named_parameters()}, {k: v.detach() for k, v in net.named_buffers()}

def per_sample(net, inputs, targets, loss, batch=True):
    params, buffers = parts(net)
    def of_one(params, x, t):
        out = functional_call(net, (params, buffers), (x.unsqueeze(0) if batch else x,))
        return loss(out, t.unsqueeze(0) if batch else t)
    return vmap(grad(of_one), in_dims=(None, 0, 0))(params, inputs, targets)
"""

MODELS = {
    "MLP": """
net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)).double()
per_sample(net, torch.randn(4, 5).double(), torch.tensor([0, 2, 1, 1]), F.cross_entropy)
""",
    "MLP on one sample": """
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)).double()
per_sample(net, torch.randn(4, 5).double(), torch.randn(4, 3).double(), F.mse_loss, batch=False)
""",
    "CNN with batch norm in eval mode": """
net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(4, 6, 3, stride=2, groups=2), nn.GroupNorm(3, 6), nn.SiLU(), nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(6, 3)).double().eval()
net[1].running_mean.uniform_(); net[1].running_var.uniform_(0.5, 1)
per_sample(net, torch.randn(4, 2, 8, 8).double(), torch.tensor([0, 2, 1, 1]), F.cross_entropy)
""",
    "CNN without running statistics": """
net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 3))
net = replace_all_batch_norm_modules_(net.double())
per_sample(net, torch.randn(3, 2, 8, 8).double(), torch.tensor([0, 2, 1]), F.cross_entropy)
""",
    "transposed convolution": """
net = nn.Sequential(nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1), nn.Sigmoid()).double()
per_sample(net, torch.randn(3, 2, 4, 4).double(), torch.randn(3, 4, 8, 8).double(), F.smooth_l1_loss)
""",
    "transformer block": """
net = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
per_sample(net, torch.randn(3, 5, 8).double(), torch.randn(3, 5, 8).double(), F.mse_loss)
""",
    "embedding": """
class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.out = nn.Embedding(7, 4, padding_idx=1), nn.LayerNorm(4), nn.Linear(4, 2)
    def forward(self, i):
        return self.out(self.norm(self.table(i)).mean(-2))
per_sample(Bag().double(), torch.tensor([[0, 1, 3], [2, 2, 6], [5, 4, 0]]), torch.tensor([0, 1, 1]), F.cross_entropy)
""",
    "ensemble on one input": """
nets = [nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3)).double() for _ in range(4)]
params, buffers = stack_module_state(nets)
call = lambda p, b, x: functional_call(nets[0], (p, b), (x,))
vmap(call, in_dims=(0, 0, None))(params, buffers, torch.randn(6, 5).double())
""",
    "ensemble of CNNs, each with its input": """
nets = [nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).double().eval()
        for _ in range(3)]
params, buffers = stack_module_state(nets)
call = lambda p, b, x: functional_call(nets[0], (p, b), (x,))
x = torch.randn(3, 2, 2, 8, 8).double()
vmap(call)(params, buffers, x), vmap(call, in_dims=(0, 0, None))(params, buffers, x[0])
""",
    "gradients of an ensemble": """
nets = [nn.Sequential(nn.Conv1d(2, 4, 3), nn.ELU(), nn.Flatten(), nn.Linear(16, 3)).double() for _ in range(3)]
params, buffers = stack_module_state(nets)
x, t = torch.randn(5, 2, 6).double(), torch.tensor([0, 1, 2, 1, 0])
loss = lambda p, x, t: F.cross_entropy(functional_call(nets[0], p, (x,)), t)
vmap(grad(loss), in_dims=(0, None, None))(params, x, t)
""",
    "training an ensemble": """
nets = [nn.Linear(3, 2).double() for _ in range(2)]
params, _ = stack_module_state(nets)
x = torch.randn(2, 4, 3).double()
vmap(lambda p, x: functional_call(nets[0], p, (x,)))(params, x).square().sum().backward()
[p.grad for p in params.values()]
""",
    "Jacobian of a network": """
net = nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 3)).double()
x = torch.randn(5, 4).double()
vmap(jacrev(net))(x), vmap(jacfwd(net))(x)
""",
    "Hessian of a network": """
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)).double()
hessian(lambda x: net(x).squeeze())(torch.randn(4).double())
""",
    "Hessian by parameters": """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
params, _ = parts(net)
x = torch.randn(5, 2).double()
hessian(lambda p: functional_call(net, p, (x,)).square().mean())(params)
""",
    "Jacobian of attention": """
net = nn.MultiheadAttention(4, 2, batch_first=True).double()
jacrev(lambda x: net(x, x, x, need_weights=False)[0])(torch.randn(1, 3, 4).double())
""",
    "neural tangent kernel": """
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).double()
params, _ = parts(net)
x = torch.randn(2, 1, 4, 4).double()
jac = vmap(jacrev(lambda p, x: functional_call(net, p, (x.unsqueeze(0),)).squeeze(0)), (None, 0))(params, x)
sum(torch.einsum("naf,mbf->nmab", j.flatten(2), j.flatten(2)) for j in jac.values())
""",
    "dropout, other numbers for each sample": """
net = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 2)).double()
x = torch.randn(5, 4).double()
torch.manual_seed(1)
vmap(net, randomness="different")(x)
""",
    "MAML": """
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)).double()
params, _ = parts(net)
def loss(p, x, t):
    return F.mse_loss(functional_call(net, p, (x,)), t)
def task(p, x, t):
    g = grad(loss)(p, x, t)
    return loss({k: v - 0.1 * g[k] for k, v in p.items()}, x, t)
x, t = torch.randn(3, 5, 2).double(), torch.randn(3, 5, 1).double()
grad(lambda p: vmap(task, in_dims=(None, 0, 0))(p, x, t).mean())(params)
""",
}


@pytest.mark.oracle
@pytest.mark.parametrize("model", MODELS)
def test_models(model):
    check_both(SETUP, MODELS[model].strip())


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers(layer):
    """PyTorch refuses these: its layers write in place. Per-sample gradients are those of a loop."""
    net = layer(3, 4, num_layers=2, batch_first=True, dtype=flambeau.float64)
    params = {name: p.detach() for name, p in net.named_parameters()}
    x = flambeau.randn(3, 5, 3, dtype=flambeau.float64)

    def loss(params, x):
        return functional_call(net, params, (x,))[0].square().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(params, x)
    for i in range(3):
        for name, want in grad(loss)(params, x[i]).items():
            flambeau.testing.assert_close(found[name][i], want)
