"""Single calls of many functions and methods, on matrices of 4x4 and of 1000x1000."""

from _harness import Suite

suite = Suite("calls")

# x, y: normal; p: between 0.1 and 1.1; n: integers from 0 to 3; i: indices along a row; m: a mask; v: a vector;
# r, c: row indices
FACTORIES = ("t.zeros(", "t.ones(", "t.full(", "t.arange", "t.lin", "t.eye", "t.empty", "t.tensor", "t.triu_indices")
CALLS = """
x + y; x - y; x * y; x / y; x // y; x % y; -x; x + 1; 2 * x; p ** 2; p ** 0.5; x @ y; x > y; x == y; m & m; ~m
x.abs(); x.exp(); p.log(); p.sqrt(); p.rsqrt(); x.sin(); x.tanh(); x.sigmoid(); x.relu(); x.floor(); x.round()
x.sign(); p.reciprocal(); x.square(); x.erf(); x.neg(); p.log1p(); x.expm1(); x.clamp(-1, 1); x.clamp_min(0)
x.isnan(); x.isfinite(); t.maximum(x, y); t.minimum(x, y); t.atan2(x, y); t.lerp(x, y, 0.3); t.addcmul(x, x, y)
t.where(m, x, y); x.pow(3); x.nan_to_num(); t.fmod(x, y); t.remainder(x, 2); t.hypot(x, y); t.logaddexp(x, y)
x.masked_fill(m, 0.0); x.double(); x.half(); x.int(); x.bool(); n.float(); x.sum(); x.sum(0); x.sum(1); x.mean()
x.mean(1); x.max(); x.min(); x.max(1)[0]; x.min(0)[0]; x.argmax(); x.argmax(1); x.prod(); x.std(); x.var(); x.std(1)
x.var(0); x.norm(); x.norm(dim=1); x.all(); m.any(); m.sum(); x.amax(1); x.logsumexp(1); x.cumsum(0); x.cumsum(1)
p.cumprod(1); x.median(); x.median(1)[0]; x.mode(1)[0]; x.kthvalue(2)[0]; x.topk(2)[0]; x.sort()[0]
x.argsort(stable=True); t.logcumsumexp(x, 1)
t.count_nonzero(x); x.aminmax()[0]; x.quantile(0.3, 1); t.var_mean(x)[0]; x.nansum(); m.nonzero(); n.unique()
t.histc(x, 10); x.reshape(-1); x.view(-1); x.flatten(); x.t(); x.transpose(0, 1); x.permute(1, 0); x.unsqueeze(0)
x.squeeze(); x[0]; x[1:3]; x[:, 1]; x[..., None]; x[m]; x[r]; x[:, r]; x.expand(2, -1, -1); x.contiguous()
x.t().contiguous(); x.clone(); x.detach(); x.repeat(2, 1); x.flip(0); x.roll(1, 0); x.tril(); x.triu(); x.diag()
x.diagonal(); x.chunk(2)[0]; x.split(2)[1]; x.unbind()[0]; x.narrow(0, 0, 2); x.select(0, 1); t.cat([x, y])
t.stack([x, y]); t.cat([x, y], 1); x.gather(1, i); x.scatter(1, i, y); x.scatter_add(1, i, y); x.index_select(0, r)
x.index_add(0, r, y[r]); x.take_along_dim(i, 1); x.masked_select(m); t.meshgrid(v, v, indexing="ij")[0]
x.movedim(0, 1); x.unfold(0, 2, 1); t.outer(v, v); t.dot(v, v); x @ v; t.mm(x, y); t.addmm(x, x, y)
t.einsum("ij,jk->ik", x, y); t.tensordot(x, y, 1); x.trace(); t.kron(v, v[:2]); t.cdist(x[:9], y[:9]); t.zeros(4, 4)
t.ones(4, 4); t.full((4, 4), 2.0); t.arange(10); t.linspace(0, 1, 10); t.eye(4); t.empty(4, 4).zero_()
t.tensor([1.0, 2.0]); t.zeros_like(x); t.ones_like(x); t.full_like(x, 2.0); x.new_zeros(4); x.tolist()[0] and x
t.tensor(2.0); F.relu(x); F.gelu(x); F.silu(x); F.elu(x); F.leaky_relu(x); F.softplus(x); F.softmax(x, 1)
F.log_softmax(x, 1); F.linear(x, y); F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.cross_entropy(x, c)
F.nll_loss(x, c); F.one_hot(n); F.normalize(x); F.binary_cross_entropy_with_logits(x, p); F.layer_norm(x, x.shape[1:])
F.pad(x, (1, 1)); F.cosine_similarity(x, y); F.hardtanh(x); F.embedding(r, x); F.dropout(x, 0.5, False)
F.kl_div(x, p, reduction="sum"); F.glu(x); F.softsign(x); F.logsigmoid(x); F.mish(x); F.hardswish(x)
t.logical_and(m, m)
t.isclose(x, y); t.allclose(x, x) and x; t.equal(x, x) and x; t.clip(x, 0, 1); x.type(t.float64); x.to(t.float64)
x.numel() and x; x.size(0) and x; x.sum().item() and x; x.add(y, alpha=2); x.sub(y); x.mul(2.0); x.div(2.0); x.eq(y)
x.ge(0); x.lt(0); x.addcdiv(x, p); t.triu_indices(4, 4); t.cov(x[:4]); t.diff(x); t.bucketize(x, v.sort()[0])
n.flatten().bincount()
"""


def scope(t, size, grad):
    """The variables that the calls use."""
    t.manual_seed(0)
    integers = t.arange(size * size).reshape(size, size)
    names = dict(x=t.randn(size, size), y=t.randn(size, size), p=t.rand(size, size) + 0.1, v=t.randn(size))
    if grad:
        names = {name: value.requires_grad_() for name, value in names.items()}
    names.update(n=integers % 4, i=integers * 7 % size, m=integers % 3 == 0, r=t.arange(size).flip(0))
    return dict(names, c=names["r"], t=t, F=t.nn.functional)


def make_case(call, size, grad):
    def make(t):
        names = scope(t, size, grad)
        exec(f"def run():\n    return {call}", names)
        return names["run"]

    return make


for call in [call.strip() for line in CALLS.strip().splitlines() for call in line.split(";")]:
    suite.case(f"{call}, 4x4")(make_case(call, 4, False))
    if make_case(call, 4, True)(suite.theirs)().requires_grad:
        suite.case(f"{call}, 4x4, grad")(make_case(call, 4, True))
    if not call.startswith(FACTORIES):
        suite.case(f"{call}, 1000x1000")(make_case(call, 1000, False))

if __name__ == "__main__":
    suite.main()
