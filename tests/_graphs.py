"""Calls whose recorded graphs are compared with PyTorch's, one per line.

Tensors that require gradients: ``s`` and ``s2`` have no dimensions, ``v`` (5), ``m`` (4, 5), ``b`` (2, 4, 5), ``image``
(2, 4, 6, 6), ``volume`` (2, 4, 4, 4, 4); ``p`` like ``m`` is positive; ``n`` (5, 3), ``w`` (3, 5) and ``c`` (3)
multiply. ``k``, ``labels``, ``mask``, ``target`` do not require any.
"""

POINTWISE = """
m + m
m + v
m + 2
2 + m
m + k
torch.add(m, m, alpha=2)
m - m
m - 1
1 - m
torch.sub(m, v, alpha=3)
m * m
m * v
m * 2
2 * m
m * k
m / p
m / 2
2 / p
m ** 2
m ** 0.5
p ** m
2 ** m
-m
abs(m)
m.exp()
m.expm1()
p.log()
p.log2()
p.log10()
p.log1p()
p.sqrt()
p.rsqrt()
p.reciprocal()
m.square()
m.sin()
m.cos()
m.tan()
m.tanh()
m.sigmoid()
m.atan()
m.sinh()
m.cosh()
m.erf()
m.sign()
m.floor()
m.round()
torch.maximum(m, k)
torch.minimum(m, v)
torch.atan2(m, p)
torch.lerp(m, p, 0.3)
torch.where(mask, m, k)
torch.where(mask, m, 0.0)
torch.addcmul(m, m, p, value=2)
torch.addcdiv(m, m, p)
m.clamp(-1, 1)
m.clamp(min=0)
m.clamp_min(0.5)
m.masked_fill(mask, 0.0)
torch.fmod(m, 2)
m.double()
m.clone()
m.contiguous().t().contiguous()
m.nan_to_num()
p.lgamma()
torch.logaddexp(m, p)
torch.hypot(m, p)
"""

REDUCTIONS = """
m.sum()
m.sum(0)
m.sum((0, 1), keepdim=True)
m.sum(-1, dtype=torch.float64)
m.mean()
m.mean(1)
m.mean((0, 1), keepdim=True)
m.prod()
m.prod(1)
m.max()
m.min()
m.max(1).values
m.min(0, keepdim=True)[0]
m.amax(1)
m.amin((0, 1))
m.var()
m.var(1, unbiased=False)
m.std()
m.std(1)
m.norm()
m.norm(dim=1)
m.norm(1)
torch.linalg.vector_norm(m, 3)
torch.linalg.norm(m)
m.logsumexp(1)
m.cumsum(1)
m.cumprod(0)
m.median()
m.sort(1).values
m.topk(2).values
m.softmax(1)
m.log_softmax(-1)
torch.logcumsumexp(m, 0)
torch.var_mean(m, 1)[0]
m.trace()
"""

SHAPES = """
m.t()
m.T
b.mT
b.transpose(0, 1)
b.permute(2, 0, 1)
m.reshape(-1)
m.reshape(2, 2, 5)
m.view(20)
m.t().reshape(20)
m.flatten()
b.flatten(1)
m.unflatten(1, (5, 1))
m.unsqueeze(0)
m.unsqueeze(-1).squeeze(-1)
m.unsqueeze(0).squeeze()
m.expand(3, 4, 5)
v.expand(4, 5)
m.repeat(2, 1)
m[0]
m[:, 1]
m[1:3]
m[:, ::2]
m[..., None]
m[mask]
m[[0, 2]]
m[[0, 2], [1, 3]]
m.narrow(1, 1, 2)
m.select(0, 1)
m.index_select(0, labels)
m.gather(1, index)
m.take(labels)
m.scatter(1, index, 2.0)
m.scatter_add(1, index, p)
m.index_add(0, labels, p)
torch.cat([m, p])
torch.cat([m, k, p], 1)
torch.stack([m, p], 1)
m.chunk(2)[1]
m.split(2)[0]
m.split([1, 3])[1]
m.unbind(0)[2]
torch.vstack([m, p])
torch.hstack([m, p])
m.flip(0)
m.roll(1, 0)
m.tril()
m.triu(1)
m.diag()
v.diag()
m.diagonal()
m.masked_select(mask)
v.repeat_interleave(2)
m.movedim(0, 1)
m.view_as(p)
torch.broadcast_to(v, (4, 5))
torch.meshgrid(v, v, indexing="ij")[0]
torch.tile(v, (2,))
torch.diag_embed(m)
F.pad(m, (1, 1))
F.pad(image, (1, 1, 1, 1), mode="reflect")
torch.atleast_2d(v)
"""

PRODUCTS = """
m @ n
v @ n
m @ v
v @ v
b @ n
b @ v
b @ b.mT
torch.mm(m, n)
torch.mv(m, v)
torch.bmm(b, b.mT)
torch.dot(v, v)
torch.outer(v, c)
torch.matmul(b, n)
torch.matmul(n.t(), b.mT)
torch.matmul(image, image.mT)
torch.matmul(image, square)
torch.addmm(c, m, n)
torch.addmm(c, m, n, beta=2, alpha=3)
torch.addmv(k[:, 0], m, v)
torch.baddbmm(b @ b.mT, b, b.mT)
torch.addbmm(square4, b, b.mT)
torch.einsum("ij,jk->ik", m, n)
torch.einsum("bij,jk->bik", b, n)
torch.einsum("ij->ji", m)
torch.einsum("ii->i", square)
torch.einsum("ij,ij->", m, p)
torch.einsum("i,j->ij", v, c)
torch.tensordot(m, n, 1)
torch.linalg.inv(square)
torch.linalg.det(square)
torch.linalg.solve(square, square)
torch.linalg.multi_dot([m, n, w])
torch.kron(v, c)
torch.cross(w[:, :3], n[:3], dim=1)
torch.cdist(m, p)
torch.chain_matmul(m, n)
"""

LINEAR = """
F.linear(m, w, c)
F.linear(m, w)
F.linear(v, w, c)
F.linear(v, w)
F.linear(v, w, c[:1])
F.linear(v, w, c[None])
F.linear(m, w, c[None])
F.linear(m, w, c.sum())
F.linear(b, w, c[None])
F.linear(b, w, c)
F.linear(b, w)
F.linear(b.transpose(0, 1), w, c)
F.linear(k, w, c)
F.linear(m, w.detach(), c)
F.linear(m, w, c.detach())
F.linear(b, w.detach())
nn.Linear(5, 3)(m)
nn.Linear(5, 3)(v)
nn.Linear(5, 3)(b)
nn.Linear(5, 3, bias=False)(m)
nn.Linear(5, 3)(k)
nn.Linear(5, 3)(k).relu().sum()
nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))(k).sum()
nn.Bilinear(5, 5, 3)(m, p)
nn.Bilinear(5, 5, 3, bias=False)(m, p)
"""

ACTIVATIONS = """
F.relu(m)
m.relu()
F.relu6(m)
F.leaky_relu(m, 0.1)
F.elu(m)
F.selu(m)
F.celu(m)
F.gelu(m)
F.gelu(m, approximate="tanh")
F.silu(m)
F.mish(m)
F.softplus(m)
F.softsign(m)
F.hardtanh(m)
F.hardswish(m)
F.hardsigmoid(m)
F.hardshrink(m)
F.softshrink(m)
F.tanhshrink(m)
F.logsigmoid(m)
F.threshold(m, 0.1, 2.0)
F.glu(image, 1)
F.prelu(m, torch.tensor([0.1]))
nn.PReLU()(m)
nn.PReLU(4)(image)
F.softmax(m, -1)
F.log_softmax(m, 1)
F.softmin(m, 1)
nn.Softmax2d()(image)
F.normalize(m)
F.cosine_similarity(m, p)
F.pairwise_distance(m, p)
"""

LAYERS = """
nn.Conv1d(4, 3, 3)(b)
nn.Conv1d(4, 3, 3)(b[0])
nn.Conv2d(4, 3, 3)(image)
nn.Conv2d(4, 3, 3, bias=False)(image)
nn.Conv2d(4, 4, 3, groups=4, padding=1, stride=2)(image)
nn.Conv2d(4, 3, 3, padding="same")(image)
nn.Conv2d(4, 3, 3, padding=1, padding_mode="reflect")(image)
nn.Conv2d(4, 3, 3)(image[0])
nn.Conv2d(4, 3, 3)(image.detach())
nn.Conv3d(4, 2, 2)(volume)
nn.ConvTranspose1d(4, 3, 3)(b)
nn.ConvTranspose2d(4, 3, 3)(image)
nn.ConvTranspose2d(4, 3, 3)(image[0])
nn.ConvTranspose3d(4, 2, 2)(volume)
nn.MaxPool1d(2)(b)
nn.MaxPool1d(2)(m)
nn.MaxPool2d(2)(image)
nn.MaxPool2d(2)(image[0])
nn.MaxPool3d(2)(volume)
nn.AvgPool1d(2)(b)
nn.AvgPool1d(2)(m)
nn.AvgPool2d(2)(image)
nn.AvgPool2d(2)(image[0])
nn.AvgPool3d(2)(volume)
nn.AdaptiveAvgPool1d(2)(b)
nn.AdaptiveAvgPool1d(2)(m)
nn.AdaptiveAvgPool2d(1)(image)
nn.AdaptiveAvgPool2d(2)(image)
nn.AdaptiveAvgPool2d(2)(image[0])
nn.AdaptiveAvgPool3d(2)(volume)
nn.AdaptiveMaxPool1d(2)(b)
nn.AdaptiveMaxPool2d(2)(image)
nn.AdaptiveMaxPool2d(2)(image[0])
nn.LPPool2d(2, 2)(image)
nn.BatchNorm1d(5)(m)
nn.BatchNorm1d(4)(b)
nn.BatchNorm2d(4)(image)
nn.BatchNorm2d(4).eval()(image)
nn.BatchNorm2d(4, affine=False)(image)
nn.BatchNorm3d(4)(volume)
nn.LayerNorm(5)(m)
nn.LayerNorm((4, 5))(b)
nn.LayerNorm(5, elementwise_affine=False)(m)
nn.RMSNorm(5)(m)
nn.GroupNorm(2, 4)(image)
nn.InstanceNorm1d(4)(b)
nn.InstanceNorm2d(4)(image)
nn.InstanceNorm2d(4, affine=True)(image)
nn.LocalResponseNorm(2)(image)
nn.Embedding(9, 3)(labels)
nn.Embedding(9, 3, padding_idx=0)(labels)
nn.Embedding(9, 3)(index)
nn.EmbeddingBag(9, 3)(index)
nn.Flatten()(image)
nn.Unflatten(1, (2, 2))(image)
nn.PixelShuffle(2)(image)
nn.PixelUnshuffle(2)(image)
nn.ChannelShuffle(2)(image)
nn.ZeroPad2d(1)(image)
nn.ReflectionPad2d(1)(image)
nn.ReplicationPad2d(1)(image)
nn.CircularPad2d(1)(image)
nn.ConstantPad1d(1, 2.0)(b)
nn.Upsample(scale_factor=2)(image)
nn.Upsample(scale_factor=2, mode="bilinear")(image)
F.interpolate(image, size=(3, 3), mode="bicubic")
F.interpolate(b, scale_factor=2, mode="linear")
F.grid_sample(image, grid)
F.affine_grid(theta, (2, 4, 6, 6))
nn.Unfold(2)(image)
nn.Fold((6, 6), 2)(nn.Unfold(2)(image))
nn.CosineSimilarity()(m, p)
nn.PairwiseDistance()(m, p)
F.scaled_dot_product_attention(heads, heads, heads)
F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
nn.MultiheadAttention(4, 2, batch_first=True)(tokens, tokens, tokens)[0]
nn.MultiheadAttention(4, 2, batch_first=True)(tokens, tokens, tokens, need_weights=False)[0]
nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)(tokens)
nn.RNNCell(5, 3)(m)
nn.LSTMCell(5, 3)(m)[0]
nn.GRUCell(5, 3)(m)
nn.RNN(5, 3, batch_first=True)(b)[0]
nn.LSTM(5, 3, batch_first=True)(b)[0]
nn.GRU(5, 3, batch_first=True)(b)[0]
"""

LOSSES = """
F.mse_loss(m, k)
F.mse_loss(m, k, reduction="none")
F.mse_loss(m, p, reduction="sum")
F.l1_loss(m, k)
F.smooth_l1_loss(m, k)
F.huber_loss(m, k)
F.cross_entropy(m, labels)
F.cross_entropy(m, labels, reduction="none")
F.cross_entropy(m, labels, weight=v.detach().exp())
F.cross_entropy(m, k.softmax(1))
F.cross_entropy(m, labels, label_smoothing=0.1)
F.cross_entropy(v, labels[0])
F.cross_entropy(b, index[:2])
F.nll_loss(F.log_softmax(m, 1), labels)
F.nll_loss(image, image_labels)
F.binary_cross_entropy(m.sigmoid(), target)
F.binary_cross_entropy_with_logits(m, target)
F.binary_cross_entropy_with_logits(m, target, pos_weight=v.detach().exp())
F.kl_div(m, target)
F.kl_div(m, target, reduction="batchmean")
F.poisson_nll_loss(m, target)
F.gaussian_nll_loss(m, k, p)
F.hinge_embedding_loss(m, signs)
F.soft_margin_loss(m, signs)
F.margin_ranking_loss(v, v.detach(), signs[0])
F.multi_margin_loss(m, labels)
F.multilabel_margin_loss(m, index_rows)
F.multilabel_soft_margin_loss(m, target)
F.triplet_margin_loss(m, p, k)
F.cosine_embedding_loss(m, p, signs[:, 0])
F.ctc_loss(F.log_softmax(b, 2), ctc_targets, (2, 2, 2, 2), (1, 1, 1, 1))
"""

WRITES = """
(m * 1).add_(2)
(m * 1).mul_(p)
(m * 1).relu_()
(m * 1).zero_()
(m * 1).fill_(2.0)
(m * 1).copy_(p)
write(m * 1, 0, 7.0)
write(m * 1, 1, v)
write(m * 1, mask, 0.0)
(m * 1).masked_fill_(mask, 1.0)
(m * 1).clamp_(0, 1)
(m * 1).exp_()
F.relu(m * 1, inplace=True)
F.elu(m * 1, inplace=True)
F.celu(m * 1, inplace=True)
F.selu(m * 1, inplace=True)
F.leaky_relu(m * 1, inplace=True)
F.hardtanh(m * 1, inplace=True)
F.hardswish(m * 1, inplace=True)
F.hardsigmoid(m * 1, inplace=True)
F.silu(m * 1, inplace=True)
F.mish(m * 1, inplace=True)
m.detach().requires_grad_().sum()
"""

FAMILIES = {"pointwise": POINTWISE, "reductions": REDUCTIONS, "shapes": SHAPES, "products": PRODUCTS, "linear": LINEAR,
            "activations": ACTIVATIONS, "layers": LAYERS, "losses": LOSSES, "writes": WRITES}


def scope_of(library):
    """The names that the calls use."""
    import numpy as np

    r = np.random.default_rng(0)

    def of(*shape, grad=True):
        return library.tensor(r.standard_normal(shape).astype("float32")).requires_grad_(grad)

    def write(t, where, value):
        t[where] = value
        return t

    names = {
        "v": of(5), "m": of(4, 5), "b": of(2, 4, 5), "image": of(2, 4, 6, 6), "volume": of(2, 4, 4, 4, 4),
        "n": of(5, 3), "w": of(3, 5), "c": of(3), "square": of(6, 6), "square4": of(4, 4),
        "p": library.tensor(np.abs(r.standard_normal((4, 5))).astype("float32") + 0.5).requires_grad_(),
        "k": of(4, 5, grad=False), "labels": library.tensor([1, 0, 3, 2]), "mask": library.tensor(r.random((4, 5)) < 0.5),
        "index": library.tensor(r.integers(0, 4, (4, 5))), "target": library.tensor(r.random((4, 5)).astype("float32")),
        "grid": library.tensor(r.uniform(-1, 1, (2, 3, 3, 2)).astype("float32")), "theta": of(2, 2, 3),
        "heads": of(2, 2, 3, 4), "tokens": of(2, 3, 4), "image_labels": library.tensor(r.integers(0, 4, (2, 6, 6))),
        "signs": library.tensor(np.sign(r.standard_normal((4, 5))).astype("float32")),
        "index_rows": library.tensor([[0, 1, -1, 0, 0]] * 4), "ctc_targets": library.tensor([[1], [2], [3], [1]]),
        "write": write, "torch": library, "nn": library.nn, "F": library.nn.functional,
    }
    return names


def describe(tensor, values=True):
    """The graph behind a tensor: by node, in the order of a walk, its name, its edges and what it saved."""
    root = tensor.grad_fn
    places, nodes, found = {id(root): 0}, [root], []
    for node in nodes:  # grows while it is walked
        edges = []
        for target, nr in node.next_functions:
            if target is None:
                edges.append(None)
                continue
            if id(target) not in places:
                places[id(target)] = len(nodes)
                nodes.append(target)
            edges.append((places[id(target)], nr))
        saved = {a: plain(getattr(node, a)) for a in dir(node) if a.startswith("_saved_")} if values else {}
        found.append((node.name(), edges, saved))
    return found


def plain(value):
    """A saved value, as both libraries can be compared."""
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach()
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), np.asarray(value.to_dense()).tolist()
    if isinstance(value, (tuple, list)):
        return tuple([plain(v) for v in value])
    if isinstance(value, int) and value >= 2**63:  # PyTorch shows negative numbers as unsigned ones
        return value - 2**64
    return str(value).replace("flambeau", "torch") if type(value).__name__ in ("dtype", "device", "layout") else value


def differences(got, want):
    """What differs in two descriptions of a graph: lines of text."""
    shapes = [[(name, edges) for name, edges, _ in graph] for graph in (got, want)]
    if shapes[0] != shapes[1]:
        return ["nodes {}, expected {}".format(*["; ".join(f"{n}{e}" for n, e in shape) for shape in shapes])]
    lines = []
    for (name, _, got_saved), (_, _, want_saved) in zip(got, want):
        for attribute in sorted({*got_saved, *want_saved}):
            if attribute not in got_saved or attribute not in want_saved:
                lines.append(f"{name} {attribute}: {'absent' if attribute in want_saved else 'not expected'}")
            elif not same(got_saved[attribute], want_saved[attribute], attribute):
                lines.append(f"{name} {attribute}: {got_saved[attribute]}, expected {want_saved[attribute]}")
    return lines


def same(got, want, attribute=""):
    """Whether two saved values are equal: dimensions may be counted from the end, numbers may be integers or not."""
    if isinstance(want, tuple) and want[1:2] == ((),):  # a tensor that stands for a number
        return isinstance(got, tuple) and got[1:2] == ((),) and same(got[2], want[2])
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want, [attribute] * len(got)))
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        close = got == want or abs(got - want) <= 1e-5 + 1e-4 * abs(want) or (got != got and want != want)
        return close or (attribute.startswith("_saved_dim") and want < 0 <= got)
    return got == want



CALLS = [call for family in FAMILIES.values() for call in family.strip().splitlines()]

# PyTorch has other nodes here, or in another order.
OTHER_STEPS = """
m.diag()
v.repeat_interleave(2)
torch.matmul(n.t(), b.mT)
torch.einsum("ij,jk->ik", m, n)
torch.einsum("bij,jk->bik", b, n)
torch.einsum("ii->i", square)
torch.einsum("ij,ij->", m, p)
torch.einsum("i,j->ij", v, c)
torch.tensordot(m, n, 1)
torch.linalg.multi_dot([m, n, w])
torch.kron(v, c)
torch.cdist(m, p)
torch.chain_matmul(m, n)
nn.Bilinear(5, 5, 3)(m, p)
nn.Bilinear(5, 5, 3, bias=False)(m, p)
F.glu(image, 1)
nn.MaxPool1d(2)(m)
nn.MaxPool2d(2)(image[0])
nn.AvgPool1d(2)(m)
nn.AvgPool2d(2)(image[0])
nn.AdaptiveAvgPool1d(2)(m)
nn.AdaptiveAvgPool2d(2)(image[0])
nn.AdaptiveMaxPool2d(2)(image[0])
nn.EmbeddingBag(9, 3)(index)
nn.CircularPad2d(1)(image)
nn.MultiheadAttention(4, 2, batch_first=True)(tokens, tokens, tokens)[0]
nn.MultiheadAttention(4, 2, batch_first=True)(tokens, tokens, tokens, need_weights=False)[0]
nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)(tokens)
nn.RNNCell(5, 3)(m)
nn.LSTMCell(5, 3)(m)[0]
nn.GRUCell(5, 3)(m)
nn.RNN(5, 3, batch_first=True)(b)[0]
nn.LSTM(5, 3, batch_first=True)(b)[0]
nn.GRU(5, 3, batch_first=True)(b)[0]
F.cross_entropy(b, index[:2])
F.hinge_embedding_loss(m, signs)
F.multi_margin_loss(m, labels)
F.multilabel_margin_loss(m, index_rows)
F.cosine_embedding_loss(m, p, signs[:, 0])
"""

# What PyTorch saves and our gradients do not need, or need in another form.
UNSAVED = """
CtcLossBackward0 result1
StdBackward0 correction
VarBackward0 correction
AdaptiveAvgPool2DBackward0 self
AdaptiveAvgPool3DBackward0 self
AdaptiveMaxPool2DBackward0 result1 self
AffineGridGeneratorBackward0 size
AvgPool2DBackward0 self stride
AvgPool3DBackward0 self
GatherBackward0 self
IndexAddBackward0 source
LinalgDetBackward0 LU pivots result
LinalgSolveExBackward0 LU pivots
LogSigmoidBackward0 buffer
MaskedSelectBackward0 self
MaxPool2DWithIndicesBackward0 result1 self
MaxPool3DWithIndicesBackward0 self
NativeBatchNormBackward0 result1 result2 running_mean running_var
NllLoss2DBackward0 self total_weight
NllLossBackward0 self total_weight
ProdBackward0 result
ProdBackward1 result
ReflectionPad2DBackward0 self
ReplicationPad2DBackward0 self
ScaledDotProductFlashAttentionForCpuBackward0 logsumexp output scale
TakeBackward0 self
"""


def of_other_steps():
    return OTHER_STEPS.strip().splitlines()


def without_unsaved(graph):
    """The description of a graph without the values that are not saved here."""
    rows = {node: attributes for node, *attributes in map(str.split, UNSAVED.strip().splitlines())}
    return [
        (name, edges, {a: None if a.removeprefix("_saved_") in rows.get(name, ()) else value for a, value in saved.items()})
        for name, edges, saved in graph
    ]
