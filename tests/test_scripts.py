"""Typical PyTorch programs: the same numbers and the same printed text."""

import itertools
import math

import numpy as np

from _programs import Programs

programs = Programs("scripts.json")


class Printer(list):
    """Collects what a script prints."""

    def __call__(self, *values):
        self.append(" ".join(str(v) for v in values))


# ---- fitting by hand


@programs
def linear_regression(torch):
    print = Printer()
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 50).unsqueeze(1)
    y = 3 * x + 0.5 + 0.1 * torch.randn(50, 1)
    w = torch.randn(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for epoch in range(40):
        loss = ((x * w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.3 * w.grad
            b -= 0.3 * b.grad
        w.grad.zero_()
        b.grad = None
        if epoch % 10 == 0:
            print(f"epoch {epoch:3d}  loss {loss.item():.4f}  w {w.item():.4f}  grad {w.grad}")
    closed, *_ = torch.linalg.lstsq(torch.cat([x, torch.ones_like(x)], 1), y)
    print(w, b, loss)
    return [print, w, b, closed.flatten(), torch.allclose(torch.cat([w, b]), closed.flatten(), atol=1e-2)]


@programs
def logistic_regression(torch):
    print = Printer()
    torch.manual_seed(1)
    x = torch.randn(80, 3)
    true = torch.tensor([1.5, -2.0, 0.5])
    y = (x @ true + 0.3 > 0).float()
    w = torch.zeros(3, requires_grad=True)
    b = torch.zeros((), requires_grad=True)
    for _ in range(60):
        z = x @ w + b
        loss = (torch.clamp(z, min=0) - z * y + torch.log1p(torch.exp(-z.abs()))).mean()
        gw, gb = torch.autograd.grad(loss, (w, b))
        w.data.sub_(gw, alpha=1.0)
        b.data -= gb
    p = torch.sigmoid(x @ w + b)
    accuracy = (p.round() == y).float().mean()
    confusion = torch.zeros(2, 2, dtype=torch.int64)
    for truth, guess in zip(y.long().tolist(), (p > 0.5).long().tolist(), strict=True):
        confusion[truth, guess] += 1
    print("accuracy:", accuracy.item(), confusion, sep := confusion.sum(1, keepdim=True))
    print(p[:7])
    return [print, w, b, loss, accuracy, confusion / sep]


@programs
def mlp_by_hand(torch):
    torch.manual_seed(2)
    x = torch.rand(64, 2) * 2 - 1
    y = ((x[:, 0] * x[:, 1]) > 0).long()
    params = {
        "w1": torch.randn(2, 16) * math.sqrt(2 / 2), "b1": torch.zeros(16),
        "w2": torch.randn(16, 2) * math.sqrt(2 / 16), "b2": torch.zeros(2),
    }
    momentum = {name: torch.zeros_like(p) for name, p in params.items()}
    for p in params.values():
        p.requires_grad_()
    losses = []
    for _ in range(30):
        hidden = torch.relu(x @ params["w1"] + params["b1"])
        logits = hidden @ params["w2"] + params["b2"]
        picked = logits.log_softmax(-1).gather(1, y[:, None]).squeeze(1)
        loss = -picked.mean() + 1e-3 * sum(p.pow(2).sum() for p in params.values())
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for name, p in params.items():
                momentum[name].mul_(0.9).add_(p.grad)
                p.add_(momentum[name], alpha=-0.1)
                p.grad.zero_()
    return [losses, params["b2"], [tuple(p.shape) for p in params.values()], loss.grad_fn.name(), p.grad.abs().sum()]


@programs
def adam_by_hand(torch):
    torch.manual_seed(3)
    target = torch.randn(5, 5)
    p = torch.zeros(5, 5, requires_grad=True)
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    for step in range(1, 21):
        (g,) = torch.autograd.grad((p - target).abs().pow(1.5).sum(), p)
        g = torch.nan_to_num(g, nan=0.0, posinf=1.0, neginf=-1.0)
        m.lerp_(g, 0.1)
        v.mul_(0.99).addcmul_(g, g, value=0.01)
        denominator = (v / (1 - 0.99**step)).sqrt_().add_(1e-8)
        with torch.no_grad():
            p.addcdiv_(m / (1 - 0.9**step), denominator, value=-0.05)
    norm = torch.linalg.vector_norm(torch.stack([m.norm(), v.norm()]))
    return [p, m.requires_grad, p.requires_grad, norm]


@programs
def exponential_moving_average(torch):
    torch.manual_seed(4)
    model = [torch.randn(3, 2), torch.randn(2)]
    shadow = [p.clone().detach() for p in model]
    alias = shadow[0].view(-1)
    for step in range(5):
        for p in model:
            p += 0.1 * torch.ones_like(p)
        for s, p in zip(shadow, model, strict=True):
            s.lerp_(p, min(0.5, (1 + step) / (10 + step)))
    return [shadow, alias, alias.data_ptr() == shadow[0].data_ptr(), shadow[0]._version]


# ---- unsupervised


@programs
def k_means(torch):
    print = Printer()
    torch.manual_seed(5)
    centers = torch.tensor([[0.0, 0.0], [4.0, 4.0], [0.0, 5.0]])
    points = (centers[:, None, :] + 0.4 * torch.randn(3, 30, 2)).reshape(-1, 2)
    points = points[torch.randperm(len(points))]
    found = points[:3].clone()
    for step in range(10):  # noqa: B007
        distance = torch.cdist(points, found)
        nearest = distance.argmin(dim=1)
        moved = torch.stack([points[nearest == k].mean(0) for k in range(3)])
        if torch.equal(moved, found):
            break
        found = moved
    print(step, found[found[:, 0].sort().indices])
    sums = torch.zeros(3, 2).index_add_(0, nearest, points)
    counts = torch.bincount(nearest, minlength=3)
    return [print, found, counts, sums / counts.unsqueeze(1), distance.min(1).values.pow(2).sum()]


@programs
def pca_by_svd(torch):
    torch.manual_seed(6)
    mixing = torch.tensor([[3.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 0.1, 0.0]])
    data = torch.randn(100, 3) @ mixing + torch.arange(4.0)
    centred = data - data.mean(0, keepdim=True)
    u, s, vh = torch.linalg.svd(centred, full_matrices=False)
    signs = torch.sign(vh[:, 0:1])
    components = vh * signs
    scores = centred @ components[:2].mT
    covariance = torch.cov(data.T)
    eigenvalues = torch.linalg.eigvalsh(covariance).flip(0)
    explained = s.square() / s.square().sum()
    rebuilt = scores @ components[:2] + data.mean(0)
    return [components[:2], explained[:3].cumsum(0), torch.allclose(eigenvalues[:3], s[:3] ** 2 / 99, atol=1e-4),
            (rebuilt - data).norm() / data.norm(), u.shape, scores.std(0, unbiased=True)]


@programs
def power_iteration(torch):
    print = Printer()
    torch.manual_seed(7)
    a = torch.randn(6, 6, dtype=torch.float64)
    a = a @ a.T
    v = torch.ones(6, dtype=torch.float64)
    for _ in range(200):
        v = a @ v
        v /= v.norm()
    value = v @ a @ v
    deflated = a - value * torch.outer(v, v)
    print(f"{value:.6f}", value, deflated.trace())
    return [print, v, value, torch.linalg.eigh(a).eigenvalues[-1], (a @ v - value * v).abs().max() < 1e-8]


# ---- networks by hand


@programs
def convolution_by_unfold(torch):
    torch.manual_seed(8)
    image = torch.randn(2, 3, 6, 5, requires_grad=True)
    kernel = torch.randn(4, 3, 3, 3, requires_grad=True)
    padded = image.new_zeros(2, 3, 8, 7)
    padded[:, :, 1:-1, 1:-1] = image
    windows = padded.unfold(2, 3, 1).unfold(3, 3, 1)
    out = torch.einsum("nchwij,ocij->nohw", windows, kernel)
    columns = windows.permute(0, 2, 3, 1, 4, 5).reshape(2 * 6 * 5, -1)
    again = (columns @ kernel.view(4, -1).t()).view(2, 6, 5, 4).permute(0, 3, 1, 2)
    pooled = out.unfold(2, 2, 2).unfold(3, 2, 2).amax(dim=(-1, -2))
    pooled.sum().backward()
    return [out[0, 0], torch.allclose(out, again, atol=1e-4), windows.shape, windows.stride(), again.is_contiguous(),
            pooled, kernel.grad[0], image.grad[1, 2]]


@programs
def softmax_attention(torch):
    torch.manual_seed(9)
    batch, heads, length, width = 2, 2, 5, 4
    x = torch.randn(batch, length, heads * width)
    wq, wk, wv = (torch.randn(heads * width, heads * width, requires_grad=True) for _ in range(3))

    def split(y):
        return y.view(batch, length, heads, width).transpose(1, 2)

    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    scores = q @ k.transpose(-2, -1) / width**0.5
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    padding = torch.arange(length) < torch.tensor([5, 3])[:, None]
    mask = causal & padding[:, None, None, :]
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    out = (weights @ v).transpose(1, 2).contiguous().view(batch, length, -1)
    out.pow(2).mean().backward()
    return [weights.sum(-1), weights[1, 0], out[0], wq.grad.norm(), wk.grad.norm(), wv.grad[0], mask.sum().item()]


@programs
def recurrent_loop(torch):
    torch.manual_seed(10)
    inputs = torch.randn(7, 2, 3)
    wx, wh, b = torch.randn(3, 4) * 0.3, torch.randn(4, 4) * 0.3, torch.zeros(4)
    for p in (wx, wh, b):
        p.requires_grad = True
    state = torch.zeros(2, 4)
    states = []
    for step in inputs:
        state = torch.tanh(step @ wx + state @ wh + b)
        states.append(state)
    history = torch.stack(states, dim=1)
    last = history[torch.arange(2), torch.tensor([6, 3])]
    loss = last.sum() + history.diff(dim=1).abs().mean()
    loss.backward()
    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in (wx, wh, b)))
    scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
    for p in (wx, wh, b):
        p.grad.mul_(scale)
    return [history.shape, last, loss, wx.grad, wh.grad, b.grad, norm, len(states)]


# ---- higher derivatives and own functions


@programs
def gradient_penalty(torch):
    torch.manual_seed(11)
    w1, w2 = torch.randn(3, 8, requires_grad=True), torch.randn(8, 1, requires_grad=True)

    def critic(x):
        return torch.nn.functional.softplus(x @ w1) @ w2

    real, fake = torch.randn(5, 3), torch.randn(5, 3)
    mix = torch.rand(5, 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    loss.backward()
    return [slope, penalty, loss, w1.grad, w2.grad.flatten(), between.grad.shape]


@programs
def newtons_method(torch):
    print = Printer()

    def rosenbrock(p):
        x, y = p
        return (1 - x) ** 2 + 100 * (y - x**2) ** 2

    p = torch.tensor([-1.2, 1.0], dtype=torch.float64)
    for step in range(8):
        g = torch.autograd.functional.jacobian(rosenbrock, p)
        h = torch.autograd.functional.hessian(rosenbrock, p)
        p = p - torch.linalg.solve(h, g)
        print(step, p, f"{rosenbrock(p).item():.3e}")
    x = torch.tensor(2.0, requires_grad=True)
    derivatives, y = [], x**5
    for _ in range(4):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        derivatives.append(y.item())
    return [print[:6], h, derivatives, y]


@programs
def straight_through_estimator(torch):
    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, levels):
            ctx.save_for_backward(x)
            ctx.levels = levels
            return torch.round(x * levels) / levels

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x.abs() <= 1), None

    x = torch.tensor([-1.5, -0.4, 0.2, 0.9, 2.0], requires_grad=True)
    q = Quantize.apply(x, 4)
    (q * torch.arange(5.0)).sum().backward()
    hard = (x > 0).float()
    soft = torch.sigmoid(x)
    trick = hard + soft - soft.detach()
    (g,) = torch.autograd.grad(trick.sum(), x)
    return [q, type(q.grad_fn).__name__, x.grad, trick, g, repr(q)]


# ---- sequences


@programs
def padding_and_masking(torch):
    print = Printer()
    sentences = [[5, 2, 7], [1], [], [9, 9, 8, 3]]
    lengths = torch.tensor([len(s) for s in sentences])
    batch = torch.full((len(sentences), int(lengths.max())), -1)
    for row, s in zip(batch, sentences, strict=True):
        row[: len(s)] = torch.tensor(s, dtype=torch.long)
    mask = torch.arange(batch.size(1))[None, :] < lengths[:, None]
    print(batch)
    print(mask)
    table = torch.arange(20.0).view(10, 2)
    vectors = table[batch.clamp(min=0)] * mask.unsqueeze(-1)
    mean = vectors.sum(1) / lengths.clamp(min=1).unsqueeze(1)
    order = lengths.argsort(descending=True, stable=True)
    packed = batch[order][mask[order]]
    split = torch.split(packed, lengths[order].tolist())
    print([list(map(int, s)) for s in split], order.tolist())
    onehot = torch.zeros(4, 10).scatter_(1, batch.clamp(min=0), 1.0)
    return [print, mean, packed, batch[mask].float().mean(), onehot.sum(1), (batch == -1).any(dim=1),
            torch.where(mask, batch, torch.zeros_like(batch)), batch.masked_fill(~mask, 0).cumsum(1)]


@programs
def beam_search(torch):
    print = Printer()
    torch.manual_seed(12)
    vocabulary, width, steps = 6, 3, 4
    transitions = torch.randn(vocabulary, vocabulary).log_softmax(-1)
    beams = torch.zeros(1, 1, dtype=torch.long)
    scores = torch.zeros(1)
    for _ in range(steps):
        candidates = scores[:, None] + transitions[beams[:, -1]]
        scores, flat = candidates.flatten().topk(width)
        parent, token = torch.div(flat, vocabulary, rounding_mode="floor"), flat % vocabulary
        beams = torch.cat([beams.index_select(0, parent), token[:, None]], dim=1)
    for score, beam in zip(scores, beams, strict=True):
        print(f"{score:8.4f}", " ".join(str(i.item()) for i in beam))
    best = scores.argmax()
    path = beams[best]
    total = sum(
        transitions[a, b] for a, b in itertools.pairwise(path)
    )
    return [print, beams, scores, total]


@programs
def viterbi(torch):
    torch.manual_seed(13)
    emission, transition = torch.randn(6, 4), torch.randn(4, 4)
    score, back = emission[0], []
    for t in range(1, 6):
        best, where = (score.unsqueeze(1) + transition).max(0)
        score = best + emission[t]
        back.append(where)
    state = score.argmax()
    path = [state.item()]
    for where in reversed(back):
        state = where[state]
        path.insert(0, int(state))
    log_z = emission[0]
    for t in range(1, 6):
        log_z = torch.logsumexp(log_z[:, None] + transition, 0) + emission[t]
    return [path, score.max(), log_z.logsumexp(0)]


# ---- with NumPy, and printed


@programs
def numpy_interop(torch):
    print = Printer()
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = torch.from_numpy(a)
    x[0, 0] = 10
    a[1, 1] = -1
    print(a.tolist(), x)
    y = torch.as_tensor(a) * np.float32(2) + np.ones(3, dtype=np.float32)
    z = np.float32(3) * x
    print(type(z).__name__, z.dtype)
    s = np.sin(x)
    n = x.numpy().mean(axis=0)
    print(type(s).__name__, type(n).__name__, np.asarray(x).dtype, np.array(x.long()).dtype)
    stacked = np.stack([torch.zeros(2), torch.ones(2)])
    picks = x[np.array([1, 0])], x[:, np.array([True, False, True])], a[torch.tensor([1])]
    floats = [float(v) for v in x.sum(0)]
    print(torch.tensor(np.float64(1.5)).dtype, torch.tensor([np.int32(1), np.int32(2)]).dtype,
          torch.tensor(np.array([True])).dtype, torch.as_tensor([1.0, 2.0]).numpy().dtype)
    return [print, x, y, z, np.allclose(s, np.sin(a)), torch.tensor(n), stacked.tolist(), [torch.as_tensor(p) for p in picks],
            floats, torch.tensor(a.T).stride(), torch.from_numpy(a.T).stride()]


@programs
def printed(torch):
    print = Printer()
    torch.manual_seed(14)
    x = torch.randn(3, 4)
    print(x)
    print(x[0], x[0, 0], x[0, 0].item())
    print(f"{x.mean():.3f} {x.max():>10.2e} {x.argmax()} {x.shape} {x.dtype} {x.device}")
    print({"loss": x.sum(), "ids": torch.arange(3)}, [x[0, :2], torch.tensor(True)], (torch.tensor(1),))
    print(torch.tensor([1e-8, 1.0, 1e8]), torch.tensor([1.0, 2.0]), torch.tensor([0.5, math.nan, math.inf]))
    print(torch.empty(0), torch.zeros(2, 0), torch.zeros(2, 3, dtype=torch.int8), torch.tensor([True, False]))
    print(x.double()[:1], x.half()[:1], x.bfloat16()[0, :2], torch.tensor([1 + 2j]))
    w = torch.ones(2, requires_grad=True)
    print(w, w * 2, (w * 2).sum(), w.detach(), torch.nn.Parameter(torch.ones(1)))
    print(torch.arange(2000), torch.zeros(30, 40))
    torch.set_printoptions(precision=2, sci_mode=False)
    print(x * 1000)
    torch.set_printoptions(profile="default")
    print("%s %d %.2f" % (torch.tensor(3), torch.tensor(3), torch.tensor(2.5)), torch.tensor(3).item())  # noqa: UP031
    print(*torch.eye(2), sep_ := torch.Size([1, 2]), len(sep_), max(sep_))
    print(x.max(0), torch.sort(torch.tensor([2, 1])))
    return print


test_scripts, test_recordings_are_what_torch_gives = programs.tests()
