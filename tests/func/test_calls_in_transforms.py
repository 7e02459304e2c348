"""Calls under vmap and in forward mode give PyTorch's results, for zero-dimensional samples and for matrices."""

import pytest

import flambeau
from _oracle import assert_same, outcome

SETUP = """
from {lib}.func import jacfwd, jacrev, vmap
F = torch.nn.functional
"""

NUMBERS = "torch.tensor([[0.5, 1.5], [2.5, 0.1]])"
MATRICES = "(torch.sin(torch.arange(24.0)) * 2 + 0.8).reshape(2, 2, 2, 3)"
TRANSFORMS = {
    "vmap": "vmap(f)(x[0])",
    "nested": "vmap(vmap(f))(x)",
    "jacfwd": "jacfwd(lambda t: f(t[0] * t[1]))(x[0])",
    "jacrev": "jacrev(lambda t: f(t[0] * t[1]))(x[0])",
}

# Calls on x, a number.
OF_NUMBERS = """
torch.stack([x,x*2]) | torch.stack([x,x*2],-1) | torch.stack((x,torch.tensor(1.))) | torch.hstack([x,x])
torch.vstack([x,x]) | torch.dstack([x,x]) | torch.column_stack([x,x]) | torch.atleast_1d(x) | torch.atleast_2d(x)
torch.atleast_3d(x) | x.unsqueeze(0) | x.unsqueeze(-1) | x[None] | x[None,...,None] | x[...] | x.squeeze()
x.squeeze(0) | x.squeeze(-1) | x.flatten() | x.flatten(0,-1) | x.view(1) | x.view(-1) | x.view(1,1) | x.reshape(1,1)
x.reshape(()) | x.expand(3) | x.expand(2,3) | x.repeat(3) | x.repeat(2,3) | x.tile(2) | x.repeat_interleave(3)
x.repeat_interleave(3,0) | x.sum(0) | x.sum(-1,keepdim=True) | x.sum() | x.mean(0) | x.prod(0) | x.prod() | x.max(0)
x.max() | x.min(-1) | x.amax(0) | x.amin(()) | x.argmax(0) | x.argmax() | x.argmin(-1) | x.cumsum(0) | x.cumprod(0)
x.logcumsumexp(0) | x.cummax(0) | x.softmax(0) | x.log_softmax(-1) | x.logsumexp(0) | x.logsumexp((0,)) | x.sort(0)
x.sort() | x.argsort() | x.topk(1) | x.kthvalue(1) | x.median(0) | x.median() | x.nanmedian() | x.mode() | x.norm()
x.norm(2,0) | torch.linalg.vector_norm(x) | torch.linalg.vector_norm(x,dim=0) | x.std(unbiased=False)
x.std(0,unbiased=False) | x.var(0,unbiased=False) | torch.var_mean(x,0,unbiased=False) | x.any() | x.any(0)
x.all(-1) | x.count_nonzero() | x.count_nonzero(0) | x.nansum(0) | x.flip(0) | x.flip(-1) | x.flip(()) | x.roll(1,0)
x.t() | x.T | x.transpose(0,0) | x.transpose(0,-1) | x.permute(()) | x.movedim(0,0) | x.unfold(0,1,1)
x.gather(0,torch.tensor(0)) | x.index_select(0,torch.tensor([0])) | x.index_add(0,torch.tensor([0]),torch.ones(1))
x.index_fill(0,torch.tensor([0]),2.) | x.masked_fill(x>1,0.) | x.masked_fill(torch.tensor(True),0.)
x.scatter(0,torch.tensor(0),torch.tensor(2.)) | x.scatter_add(0,torch.tensor(0),x) | torch.where(x>0,x,0.)
x.clamp(0,1) | x.new_zeros(3)+x | x.new_tensor(3.)+x | torch.zeros_like(x) | torch.cat([x[None],x[None]])
torch.cat([x.view(1),torch.ones(2)]) | F.pad(x[None],(1,2)) | torch.outer(x[None],x[None])
torch.dot(x[None],x[None]) | torch.einsum('i->',x[None]) | torch.einsum(',->',x,x) | torch.kron(x,x)
torch.kron(x,torch.ones(2)) | torch.tensordot(x,x,0) | torch.broadcast_to(x,(2,)) | torch.meshgrid(x,x,indexing='ij')
torch.cartesian_prod(x[None],torch.ones(2)) | torch.block_diag(x,x) | torch.diag(x[None]) | torch.diag_embed(x[None])
torch.aminmax(x) | torch.aminmax(x,dim=0) | torch.take_along_dim(x[None],torch.tensor([0]),0)
torch.take(x,torch.tensor(0)) | torch.quantile(x,.5) | torch.quantile(x,torch.tensor([.2,.5]),dim=0)
torch.renorm(x.view(1,1),2,0,1.) | torch.logaddexp(x,x) | torch.cov(x) | torch.fft.fft(x[None]) | torch.complex(x,x)
torch.view_as_real(torch.complex(x,x)) | torch.polar(x,x) | torch.cross(x.expand(3),torch.ones(3),dim=0)
F.one_hot(x.long(),4) | torch.bucketize(x,torch.tensor([0.,1.])) | torch.searchsorted(torch.tensor([0.,1.]),x)
torch.isin(x,torch.tensor([1.])) | torch.trapezoid(x[None]) | torch.linspace(0,1,3)*x | torch.full((2,),1.)*x
torch.rot90(x.view(1,1)) | torch.chunk(x[None],1) | torch.split(x[None],1) | torch.unbind(x[None]) | torch.ravel(x)
torch.numel(x)*x | F.softplus(x) | F.dropout(x,0.) | F.mse_loss(x,torch.tensor(1.))
F.l1_loss(x,x*2,reduction='none') | F.binary_cross_entropy_with_logits(x,torch.tensor(1.))
F.linear(x[None],torch.ones(2,1)) | F.normalize(x[None],dim=0) | F.layer_norm(x[None],(1,))
F.cross_entropy(x.expand(3),torch.tensor(1)) | F.embedding(x.long(),torch.eye(4)) | F.softmax(x,0) | F.logsigmoid(x)
torch.eye(3)[x.long()] | torch.eye(3)[:,x.long()] | torch.arange(3.)*x | torch.eye(2)*x | x.real | x.conj()
x.double() | x.to(torch.int) | x.bool() | x**2 | 2**x | x//2 | x%2 | x.lerp(x*2,.5) | x.addcmul(x,x)
torch.stack([torch.stack([x,x]),torch.stack([x,x])]) | torch.block_diag(x,torch.ones(2,2))
torch.tensor_split(x[None],2) | torch.vander(x[None],3) | torch.tril(x.view(1,1)) | torch.special.logsumexp(x,0)
torch.nanmean(x) | torch.stack([x]).squeeze() | torch.linalg.norm(x) | torch.linalg.norm(x[None])
torch.dist(x,torch.tensor(0.))
"""

# Calls on x, a matrix of two rows and three columns.
OF_MATRICES = """
x.roll((1,1),(0,1)) | x.sum((0,1)) | x.std(-1) | torch.var_mean(x,(0,1)) | x.argmax() | x.argmax(0) | x.median()
x.median(0) | x.nanmedian(1) | x.mode(0) | x.cummax(0) | x.cumprod(1) | x.logcumsumexp(1) | x.sort(0,descending=True)
x.topk(2) | x.kthvalue(2,0) | x.unfold(1,2,1) | x.unfold(0,2,2) | x.diff() | x.diff(dim=0) | x.diff(prepend=x[:,:1])
torch.gradient(x) | torch.trapezoid(x) | torch.cumulative_trapezoid(x) | x.flip((0,1)) | x.fliplr() | x.rot90()
x.movedim(0,1) | x.swapaxes(0,1) | x.mT | x.H | x.adjoint() | x.diagonal() | x.diag() | x.diag_embed() | x.tril(1)
x.triu() | x.trace() | x.repeat(2,1) | x.repeat_interleave(2) | x.repeat_interleave(2,0) | x.tile(2,2)
x.unflatten(1,(3,1)) | x.flatten() | x.chunk(2) | x.split([1,1]) | x.tensor_split(2,1) | x.unbind(1)
torch.stack([x,x],1) | torch.cat([x,x],-1) | torch.cat([x,torch.ones(1,3)],0) | torch.hstack([x,x])
torch.block_diag(x,x) | torch.kron(x,x) | torch.cov(x) | torch.corrcoef(x) | F.pdist(x) | torch.linalg.norm(x)
torch.linalg.norm(x,'nuc') | torch.linalg.matrix_norm(x,2) | torch.linalg.svdvals(x) | torch.linalg.pinv(x)
torch.linalg.matrix_rank(x) | torch.linalg.qr(x)[1].abs() | torch.linalg.inv(x@x.T+torch.eye(2))
torch.linalg.det(x@x.T) | torch.linalg.slogdet(x@x.T+torch.eye(2)) | torch.linalg.solve(x@x.T+torch.eye(2),x)
torch.linalg.lstsq(x.T,x.T[:,:1])[0] | torch.linalg.cholesky(x@x.T+torch.eye(2))
torch.linalg.eigvalsh(x@x.T+torch.diag(torch.arange(2.))) | torch.linalg.matrix_power(x@x.T,3)
torch.linalg.multi_dot([x,x.T,x]) | torch.linalg.cross(x,x.flip(0)) | torch.linalg.vander(x[0])
torch.matrix_exp(x@x.T/9) | torch.addmm(x,x@x.T,x) | torch.baddbmm(x[None],x[None]@x.T[None],x[None])
torch.bmm(x[None],x.T[None]) | torch.mv(x,torch.ones(3)) | torch.outer(x[0],x[1]) | torch.tensordot(x,x,([0],[0]))
torch.einsum('ij,kj->ik',x,x) | torch.bilinear(x,x,torch.ones(4,3,3),None) | x[0] | x[:,1] | x[...,-1:] | x[::1,None]
x[[1,0]] | x[:,[2,0]] | x[torch.tensor([1,0]),torch.tensor([2,0])] | x[torch.tensor([[1,0]])]
x.index_select(1,torch.tensor([0,2])) | x.gather(1,torch.tensor([[0,1],[1,2]]))
x.scatter(0,torch.tensor([[0,1,0]]),x) | x.scatter_reduce(0,torch.tensor([[0,1,0]]),x,"amax")
x.index_add(0,torch.tensor([1]),x[:1]) | x.index_copy(0,torch.tensor([1]),x[:1])
x.index_fill(1,torch.tensor([1]),0.) | x.masked_fill(x>1,0.) | x.masked_fill(torch.tensor([True,False,True]),0.)
x.take(torch.tensor([0,5])) | x.put(torch.tensor([0,5]),torch.ones(2))
torch.take_along_dim(x,torch.tensor([[0],[1]]),1) | torch.where(x>1,x,-x) | F.pad(x,(1,2),value=3.)
F.pad(x[None],(1,2),mode="reflect") | F.pad(x[None],(1,1),mode="circular") | F.layer_norm(x,(3,))
F.layer_norm(x,(3,),torch.ones(3),torch.ones(3)) | F.rms_norm(x,(3,)) | F.group_norm(x[None],2)
F.instance_norm(x[None]) | F.batch_norm(x,None,None,training=True) | F.batch_norm(x,torch.zeros(3),torch.ones(3))
F.normalize(x) | F.cosine_similarity(x,x.flip(0)) | F.pairwise_distance(x,x*2) | F.softmax(x,0)
F.glu(torch.cat([x,x],1)) | F.gelu(x) | F.prelu(x,torch.tensor([.1])) | F.linear(x,torch.ones(4,3),torch.ones(4))
F.conv1d(x[None],torch.ones(4,2,2),padding=1) | F.conv1d(x,torch.ones(4,2,2))
F.conv2d(x[None,None],torch.ones(2,1,2,2),stride=1) | F.conv2d(torch.ones(1,1,4,4),x[None,None])
F.conv_transpose1d(x[None],torch.ones(2,3,2),stride=2) | F.conv1d(x[None],torch.ones(2,1,2),groups=2)
F.max_pool1d(x[None],2,1) | F.max_pool1d(x,2) | F.max_pool2d(x[None],2,1,return_indices=True)
F.avg_pool1d(x[None],2) | F.avg_pool2d(x[None,None],2,1,1) | F.adaptive_avg_pool1d(x[None],2)
F.adaptive_max_pool1d(x[None],2) | F.lp_pool1d(x[None],2,2) | F.interpolate(x[None],scale_factor=2.)
F.interpolate(x[None,None],size=(3,5),mode="bilinear") | F.unfold(x[None,None],2)
F.fold(x.reshape(1,2,3).expand(1,2,3)[:, :, :2].reshape(1,4,1),(2,2),2)
F.pixel_shuffle(x.reshape(1,6,1,1).expand(1,6,1,1)[:, :4],2) | F.embedding(torch.tensor([0,1]),x)
F.embedding(torch.tensor([0,1]),x,padding_idx=0) | F.embedding_bag(torch.tensor([[0,1]]),x)
F.cross_entropy(x,torch.tensor([0,2]))
F.cross_entropy(x,torch.tensor([0,2]),weight=torch.tensor([1.,2,3]),label_smoothing=.1)
F.cross_entropy(x,x.softmax(1)) | F.nll_loss(x,torch.tensor([0,-100])) | F.mse_loss(x,x*2) | F.smooth_l1_loss(x,x*2)
F.huber_loss(x,x*2) | F.kl_div(x.log_softmax(1),x.softmax(1),reduction="batchmean")
F.binary_cross_entropy(x.sigmoid(),(x>1).float())
F.binary_cross_entropy_with_logits(x,(x>1).float(),pos_weight=torch.ones(3))
F.multi_margin_loss(x,torch.tensor([0,1])) | F.triplet_margin_loss(x,x*2,x.flip(0))
F.cosine_embedding_loss(x,x.flip(0),torch.tensor([1,-1])) | F.hinge_embedding_loss(x,torch.tensor([[1,-1,1]]))
F.soft_margin_loss(x,torch.tensor([[1,-1,1]])) | F.multilabel_soft_margin_loss(x,(x>1).float())
F.gaussian_nll_loss(x,x*2,x.abs()+1) | F.poisson_nll_loss(x,x.abs()) | F.margin_ranking_loss(x,x*2,torch.ones(2,3))
F.scaled_dot_product_attention(x[None],x[None],x[None])
F.scaled_dot_product_attention(x[None],x[None],x[None],is_causal=True)
F.grid_sample(x[None,None],torch.zeros(1,1,2,2)+.3,align_corners=False)
F.affine_grid(x[None],(1,1,2,2),align_corners=False) | F.one_hot(x.long().clamp(0,3),5) | torch.fft.fft(x)
torch.fft.rfft2(x) | torch.fft.irfft(x.to(torch.complex64)) | torch.fft.fftshift(x)
torch.stft(x.flatten(),4,2,window=torch.ones(4),return_complex=True) | torch.bucketize(x,torch.tensor([0.,1.]))
torch.searchsorted(torch.tensor([0.,1.,2.]),x) | torch.searchsorted(x.sort().values,torch.ones(2,1))
torch.isin(x,torch.tensor([1.])) | torch.isin(torch.tensor([1.,.5]),x) | torch.isclose(x,x)
torch.quantile(x,.3,dim=1) | torch.quantile(x,torch.tensor([.1,.9])) | torch.nanquantile(x,.3)
torch.logsumexp(x,(0,1)) | torch.renorm(x,2,0,1.) | torch.norm(x,p=1) | torch.dist(x,x*2,1)
torch.clamp(x,min=x.mean()) | torch.maximum(x,x.mean()) | torch.lerp(x,x*2,x) | torch.addcdiv(x,x,x+1,value=.5)
torch.vander(x[0],2) | torch.combinations(x[0],2) | torch.cartesian_prod(x[0],x[1])
torch.meshgrid(x[0],x[1],indexing="xy") | torch.broadcast_tensors(x,torch.ones(4,1,1)) | torch.count_nonzero(x>1,0)
torch.aminmax(x,dim=1) | torch.diagonal_scatter(x,torch.ones(2)) | torch.select_scatter(x,torch.ones(3),0,0)
torch.slice_scatter(x,torch.ones(2,1),1,0,1) | torch.as_strided(x,(2,2),(1,1)) | x.view_as(x.clone())
x.expand_as(torch.ones(4,2,3)) | x.new_full((2,),1.)+x[:,0] | x.type(torch.int64) | torch.polygamma(1,x.abs()+1)
torch.special.xlogy(x,x.abs()) | torch.cumsum(x,0)[-1] | x.clone().add_(1).mul_(x) | x.clone().zero_()
x.clone().fill_(2.) | x.clone().clamp_(0,1) | x.clone().index_add_(0,torch.tensor([0]),x[:1])
x.clone().scatter_(1,torch.tensor([[0],[1]]),5.) | x.clone().copy_(torch.ones(3)) | x.sum()*x.new_ones(())
F.multilabel_margin_loss(x,torch.tensor([[0,-1,1],[1,2,-1]]))
torch.lu_solve(x[:,:1],*torch.linalg.lu_factor(x@x.T+torch.eye(2))) | torch.linalg.lu(x)[1]
torch.linalg.eigh(x@x.T+torch.diag(torch.arange(2.)))[0] | torch.linalg.cond(x)
torch.linalg.tensorinv((x@x.T+torch.eye(2)).reshape(2,2),1) | torch.linalg.householder_product(x.T,torch.ones(2))
torch.tril_indices(2,2)+x[:2,:1].long() | torch.logit(x.sigmoid()) | torch.frexp(x)
torch.unravel_index(x.long().abs(),(3,3)) | torch.bincount(torch.tensor([1,2]))+x[0,0]
torch.rnn_tanh_cell(x,torch.zeros(2,2),torch.ones(2,3),torch.ones(2,2))
torch.gru_cell(x,torch.zeros(2,2),torch.ones(6,3),torch.ones(6,2))
torch.lstm_cell(x,(torch.zeros(2,2),torch.zeros(2,2)),torch.ones(8,3),torch.ones(8,2))
"""


def calls_in(table):
    return [call.strip() for line in table.strip().splitlines() for call in line.split(" | ")]


def run(x, call, transform, library):
    code = f"{SETUP.format(lib=library.__name__)}\nx = {x}\nf = lambda x: {call}\n{TRANSFORMS[transform]}"
    return outcome(code, library)


@pytest.mark.oracle
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("x", "call"), [(NUMBERS, call) for call in calls_in(OF_NUMBERS)]
                         + [(MATRICES, call) for call in calls_in(OF_MATRICES)])
def test_calls_in_transforms(x, call, transform):
    import torch

    want, refused = run(x, call, transform, torch)
    if refused is None:
        got, error = run(x, call, transform, flambeau)
        assert error is None, repr(error)
        assert_same(got, want, rtol=2e-4, atol=2e-4)
