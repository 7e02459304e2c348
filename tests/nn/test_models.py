"""Typical models, trained for a few steps: the same seed gives PyTorch's losses."""

import copy
import math
from collections import OrderedDict

from _programs import Programs

programs = Programs("nn_models.json")


def trained(t, model, loss, steps=4, **settings):
    """The losses of a few steps of SGD."""
    optimizer = t.optim.SGD([p for p in model.parameters() if p.requires_grad], **settings)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


@programs
def resnet(t):
    """Residual blocks, initialisation by kind of layer; features by hooks; then a new head on a frozen body."""
    nn, F = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride=1, downsample=None):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.downsample = downsample

        def forward(self, x):
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
            self.layer1 = nn.Sequential(Block(4, 4))
            self.layer2 = nn.Sequential(Block(4, 8, 2, nn.Sequential(nn.Conv2d(4, 8, 1, 2, bias=False), nn.BatchNorm2d(8))))
            self.pool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(8, classes)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                elif isinstance(m, Block):
                    nn.init.constant_(m.bn2.weight, 0.5)

        def forward(self, x):
            return self.fc(t.flatten(self.pool(self.layer2(self.layer1(self.stem(x)))), 1))

    t.manual_seed(1)
    model, x, y = ResNet(5), t.randn(4, 3, 16, 16), t.randint(0, 5, (4,))
    losses = trained(t, model, lambda m: F.cross_entropy(m(x), y), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    features = {}
    for name in ("layer1", "pool"):
        getattr(model, name).register_forward_hook(lambda m, args, out, name=name: features.update({name: out.detach().mean()}))
    model.eval().requires_grad_(False)
    model(x)
    model.fc = nn.Linear(model.fc.in_features, 2)
    losses += trained(t, model, lambda m: F.cross_entropy(m(x), y % 2), lr=0.5)
    body = {k: v for k, v in model.state_dict().items() if not k.startswith("fc.")}
    return [losses, features, list(ResNet(5).load_state_dict(body, strict=False)), model.stem[1].num_batches_tracked]


@programs
def vision_transformer(t):
    """Attention by hand, stochastic depth, a class token; decay for some parameters only."""
    nn, F = t.nn, t.nn.functional

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.scale = heads, (width // heads) ** -0.5
            self.qkv, self.proj, self.drop = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Dropout(0.1)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            weights = self.drop(((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1))
            return self.proj((weights @ v).transpose(1, 2).reshape(b, n, c))

    class DropPath(nn.Module):
        def forward(self, x):
            if not self.training:
                return x
            mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(0.8)
            return x * mask.div_(0.8)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm1, self.attention, self.path = nn.LayerNorm(width), Attention(width, 2), DropPath()
            self.norm2 = nn.LayerNorm(width, eps=1e-6)
            self.mlp = nn.Sequential(OrderedDict(fc1=nn.Linear(width, 2 * width), act=nn.GELU(), fc2=nn.Linear(2 * width, width)))
            self.gamma = nn.Parameter(0.1 * t.ones(width))

        def forward(self, x):
            x = x + self.path(self.attention(self.norm1(x)))
            return x + self.path(self.gamma * self.mlp(self.norm2(x)))

    class ViT(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, 4)
            self.token = nn.Parameter(t.zeros(1, 1, width))
            self.position = nn.Parameter(t.zeros(1, 5, width))
            self.blocks = nn.Sequential(*[Block(width) for _ in range(2)])
            self.head = nn.Linear(width, 3)
            nn.init.trunc_normal_(self.position, std=0.02)
            self.apply(lambda m: nn.init.trunc_normal_(m.weight, std=0.02) if isinstance(m, nn.Linear) else None)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = t.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.position
            return self.head(self.blocks(x)[:, 0])

    t.manual_seed(2)
    model, x, y = ViT(), t.randn(3, 3, 8, 8), t.randint(0, 3, (3,))
    decayed = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    optimizer = t.optim.SGD([{"params": decayed, "weight_decay": 0.05}, {"params": others, "lr": 0.02}], lr=0.1, momentum=0.9)
    losses = []
    for _ in range(4):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
    return [losses, repr(model), repr(optimizer)]


@programs
def gpt(t):
    """Tied weights, a mask in a buffer, a ModuleDict of layers; then sampling."""
    nn, F = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.heads = heads
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.ModuleDict({"fc": nn.Linear(width, 4 * width), "act": nn.GELU(approximate="tanh"),
                                      "proj": nn.Linear(4 * width, width)})
            self.register_buffer("mask", t.tril(t.ones(length, length)).view(1, 1, length, length), persistent=False)

        def forward(self, x):
            b, n, c = x.size()
            q, k, v = (z.view(b, n, self.heads, c // self.heads).transpose(1, 2) for z in self.c_attn(self.ln_1(x)).split(c, dim=2))
            weights = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            weights = F.softmax(weights.masked_fill(self.mask[:, :, :n, :n] == 0, float("-inf")), dim=-1)
            x = x + self.c_proj((weights @ v).transpose(1, 2).contiguous().view(b, n, c))
            y = self.ln_2(x)
            for layer in self.mlp.values():
                y = layer(y)
            return x + y

    class GPT(nn.Module):
        def __init__(self, vocabulary=11, width=8, length=6):
            super().__init__()
            self.wte, self.wpe, self.drop = nn.Embedding(vocabulary, width), nn.Embedding(length, width), nn.Dropout(0.1)
            self.h = nn.ModuleList([Block(width, 2, length) for _ in range(2)])
            self.lm_head = nn.Linear(width, vocabulary, bias=False)
            self.wte.weight = self.lm_head.weight

        def forward(self, tokens, targets=None):
            x = self.drop(self.wte(tokens) + self.wpe(t.arange(tokens.size(1))))
            for block in self.h:
                x = block(x)
            logits = self.lm_head(x)
            return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

        @t.no_grad()
        def generate(self, tokens, n):
            for _ in range(n):
                logits = self(tokens[:, -6:])[:, -1] / 0.8
                logits[logits < t.topk(logits, 5).values[:, [-1]]] = -float("inf")
                tokens = t.cat((tokens, t.multinomial(F.softmax(logits, dim=-1), 1)), dim=1)
            return tokens

    t.manual_seed(3)
    model, tokens, targets = GPT(), t.randint(0, 11, (3, 6)), t.randint(0, 11, (3, 6))
    targets[0, 0] = -1
    losses = trained(t, model, lambda m: m(tokens, targets), lr=0.5)
    other = GPT()
    other.load_state_dict(model.state_dict())
    return [losses, list(model.state_dict()), len(list(model.parameters())), other.wte.weight is other.lm_head.weight,
            other.eval().generate(t.zeros(2, 1, dtype=t.long), 5)]


@programs
def lstm_by_cells(t):
    """Cells by hand, clipped by hooks on parameters, and watched by a backward hook."""
    nn, F = t.nn, t.nn.functional

    class Cell(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.hidden = hidden
            self.ih, self.hh = nn.Parameter(t.empty(4 * hidden, inputs)), nn.Parameter(t.empty(4 * hidden, hidden))
            for p in self.parameters():
                nn.init.uniform_(p, -0.4, 0.4)

        def forward(self, x, state=None):
            h, c = state if state is not None else (x.new_zeros(x.size(0), self.hidden),) * 2
            i, f, g, o = (F.linear(x, self.ih) + F.linear(h, self.hh)).chunk(4, 1)
            c = t.sigmoid(f) * c + t.sigmoid(i) * t.tanh(g)
            return t.sigmoid(o) * t.tanh(c), c

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.out = nn.Embedding(7, 4, padding_idx=0), nn.Linear(5, 7)
            self.cells = nn.ModuleList([Cell(4, 5), Cell(5, 5)])

        def forward(self, tokens):
            states, outs = [None, None], []
            for step in range(tokens.size(1)):
                h = self.embedding(tokens[:, step])
                for j, cell in enumerate(self.cells):
                    states[j] = cell(h, states[j])
                    h = states[j][0]
                outs.append(self.out(h))
            return t.stack(outs, 1)

    t.manual_seed(4)
    model, tokens, seen = Reader(), t.randint(0, 7, (2, 4)), []
    for p in model.cells[0].parameters():
        p.register_hook(lambda g: g.clamp(-0.01, 0.01))
    model.cells[1].register_full_backward_hook(lambda m, gi, go: seen.append([None if g is None else g.sum() for g in (*gi, *go)]))
    losses = trained(t, model, lambda m: F.cross_entropy(m(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:]), lr=1.0)
    return [losses, seen, model.embedding.weight[0]]


@programs
def variational_autoencoder(t):
    nn, F = t.nn, t.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(6, 8), nn.Softplus())
            self.mean, self.log_variance = nn.Linear(8, 2), nn.Linear(8, 2)
            self.decoder = nn.Sequential(nn.Linear(2, 8), nn.ELU(), nn.Linear(8, 6), nn.Sigmoid())

        def forward(self, x):
            h = self.encoder(x)
            mean, log_variance = self.mean(h), self.log_variance(h)
            return self.decoder(mean + t.randn_like(mean) * t.exp(0.5 * log_variance)), mean, log_variance

    def loss(m):
        out, mean, log_variance = m(x)
        divergence = -0.5 * t.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        return F.binary_cross_entropy(out, x, reduction="sum") + divergence

    t.manual_seed(5)
    model, x = VAE(), t.rand(5, 6)
    return trained(t, model, loss, lr=0.01)


@programs
def gan_with_spectral_norm(t):
    """A parametrization that keeps state; two optimizers; the parametrization is taken away in the end."""
    nn, F = t.nn, t.nn.functional
    parametrize = nn.utils.parametrize

    class Spectral(nn.Module):
        def __init__(self, weight):
            super().__init__()
            for name, size in (("u", weight.size(0)), ("v", weight.size(1))):
                self.register_buffer(name, F.normalize(t.randn(size), dim=0))

        def forward(self, weight):
            if self.training:
                with t.no_grad():
                    self.u = F.normalize(weight @ self.v, dim=0)
                    self.v = F.normalize(weight.t() @ self.u, dim=0)
            return weight / t.dot(self.u.clone(), weight @ self.v.clone())

    t.manual_seed(6)
    generator = nn.Sequential(nn.Linear(2, 6), nn.BatchNorm1d(6), nn.ReLU(True), nn.Linear(6, 3), nn.Tanh())
    critic = nn.Sequential(nn.Linear(3, 6), nn.LeakyReLU(0.2), nn.Linear(6, 1))
    for layer in (critic[0], critic[2]):
        parametrize.register_parametrization(layer, "weight", Spectral(layer.weight))
    of_generator, of_critic = t.optim.SGD(generator.parameters(), 0.1), t.optim.SGD(critic.parameters(), 0.1)
    criterion, real, losses = nn.BCEWithLogitsLoss(), t.randn(4, 3), []
    for _ in range(3):
        z = t.randn(4, 2)
        critic.zero_grad()
        first = criterion(critic(real), t.ones(4, 1)) + criterion(critic(generator(z).detach()), t.zeros(4, 1))
        first.backward()
        of_critic.step()
        generator.zero_grad()
        second = criterion(critic(generator(z)), t.ones(4, 1))
        second.backward()
        of_generator.step()
        losses.append([first.item(), second.item()])
    keys, before = list(critic.state_dict()), critic.eval()(real)
    for layer in (critic[0], critic[2]):
        parametrize.remove_parametrizations(layer, "weight")
    return [losses, keys, before, critic(real), list(critic.state_dict())]


@programs
def mixture_of_experts(t):
    nn, F = t.nn, t.nn.functional

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 3, bias=False)
            self.experts = nn.ModuleDict({f"expert{i}": nn.Sequential(nn.Linear(4, 6), nn.Hardswish(), nn.Linear(6, 4)) for i in range(3)})
            self.register_buffer("load", t.zeros(3), persistent=False)

        def forward(self, x):
            weights = F.softmax(self.gate(x), -1)
            chosen, out = weights.topk(2, -1).indices, t.zeros_like(x)
            for i, expert in enumerate(self.experts.values()):
                rows = (chosen == i).any(-1)
                out[rows] = out[rows] + expert(x[rows]) * weights[rows][:, i:i + 1]
                self.load[i] += rows.sum()
            return out

    t.manual_seed(7)
    model, x = Mixture(), t.randn(9, 4)
    return [trained(t, model, lambda m: (m(x) - x).pow(2).mean(), lr=0.5), model.load, list(model.state_dict())]


@programs
def moving_average_and_low_rank_adapters(t):
    """A copy that follows the model; then every Linear is replaced, by path, by an adapter around it."""
    nn, F = t.nn, t.nn.functional

    class Adapter(nn.Module):
        def __init__(self, base, rank=2):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.a = nn.Parameter(t.empty(rank, base.in_features))
            self.b = nn.Parameter(t.zeros(base.out_features, rank))
            nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

        def forward(self, x):
            return self.base(x) + x @ self.a.T @ self.b.T

    t.manual_seed(8)
    model = nn.Sequential(OrderedDict(a=nn.Linear(4, 4), norm=nn.BatchNorm1d(4), b=nn.Sequential(nn.Mish(), nn.Linear(4, 2))))
    average, x, y = copy.deepcopy(model).eval().requires_grad_(False), t.randn(6, 4), t.randint(0, 2, (6,))

    def loss(m):
        with t.no_grad():
            for kept, now in zip(average.state_dict().values(), m.state_dict().values(), strict=True):
                kept.copy_(0.9 * kept + 0.1 * now if kept.is_floating_point() else now)
        return F.cross_entropy(m(x), y)

    losses = trained(t, model, loss, lr=0.1, momentum=0.9)
    for path, module in list(model.named_modules()):
        if isinstance(module, nn.Linear):
            model.set_submodule(path, Adapter(module))
    losses += trained(t, model, lambda m: F.cross_entropy(m(x), y), lr=0.1)
    return [losses, F.cross_entropy(average(x), y), repr(model), [n for n, p in model.named_parameters() if p.requires_grad]]


@programs
def pruning_by_hooks(t):
    """The weight becomes a plain attribute that a pre-hook computes before each call."""
    nn, F = t.nn, t.nn.functional

    def prune(module):
        weight = module.weight
        threshold = weight.detach().abs().flatten().kthvalue(weight.numel() // 2).values
        del module.weight
        module.weight_orig = nn.Parameter(weight.data)
        module.register_buffer("weight_mask", (weight.detach().abs() > threshold).to(weight.dtype))
        module.register_forward_pre_hook(lambda m, args: setattr(m, "weight", m.weight_orig * m.weight_mask))

    t.manual_seed(9)
    model, x, y = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), t.randn(6, 4), t.randint(0, 2, (6,))
    prune(model[0])
    losses = trained(t, model, lambda m: F.cross_entropy(m(x), y), lr=0.3)
    return [losses, list(model.state_dict()), (model[0].weight == 0).sum()]


@programs
def learning_to_learn(t):
    """Gradients through updates of the parameters, by functional_call; and a penalty on the gradient of the input."""
    nn, F, call = t.nn, t.nn.functional, t.func.functional_call
    t.manual_seed(10)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = t.randn(4, 3)
    y, fast = x.sum(1, keepdim=True), dict(model.named_parameters())
    for _ in range(2):
        gradients = t.autograd.grad(F.mse_loss(call(model, fast, x), y), list(fast.values()), create_graph=True)
        fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), gradients, strict=True)}
    F.mse_loss(call(model, fast, x), y).backward()

    def penalty(m):
        xs = x.clone().requires_grad_()
        out = m(xs)
        (slope,) = t.autograd.grad(out.sum(), xs, create_graph=True)
        return out.mean() + ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return [[p.grad.clone() for p in model.parameters()], trained(t, model, penalty, lr=0.1)]


test_as_recorded, test_recording_is_what_torch_does = programs.tests()
