"""Reductions, scans, sorting and statistics."""

from .writer import rows

REDUCTIONS = [
    *rows("fibc", "torch.NAME({x})", "sum prod mean all any count_nonzero", mild=True),
    *rows("fibc", "torch.NAME({x}, dim={dim}, keepdim={flag})", "sum prod mean all any", mild=True),
    *rows("fibc", "torch.NAME({x}, dim={dims}, keepdim={flag})", "sum mean all any", mild=True),
    *rows("fibc", "torch.count_nonzero({x}, dim={dims})"),
    *rows("fib", "torch.NAME({x}, dim={dim}, dtype={any_dtype})", "sum nansum mean prod cumsum cumprod", mild=True),
    *rows("fc", "torch.NAME({x}, dim={dim}, keepdim={flag})", "var std var_mean std_mean", mild=True),
    *rows("f", "torch.NAME({x}, dim={dims}, correction={count})", "var std var_mean std_mean", mild=True),
    *rows("fc", "torch.NAME({x})", "var std var_mean std_mean nansum nanmean", mild=True),
    *rows("f", "torch.NAME({x}, dim={dim})", "logsumexp softmax log_softmax nansum nanmean", mild=True),
    *rows("f", "torch.special.NAME({x}, dim={dim})", "logsumexp softmax log_softmax", mild=True),
    *rows("fc", "torch.logsumexp({x}, dim={dims}, keepdim={flag})", mild=True),
    *rows("fib", "torch.NAME({x}, dim={dim}, dtype={any_dtype})", "softmax log_softmax", mild=True),
    *rows("fib", "torch.NAME({x}, dim={dims}, keepdim={flag})", "amax amin"),
    *rows("fib", "torch.NAME({x}, dim={dim}, keepdim={flag})", """max min argmax argmin median nanmedian aminmax"""),
    *rows("f", "torch.mode({x}, dim={dim}, keepdim={flag})[0]"),
    *rows("fi", "torch.NAME({x})", "max min argmax argmin median nanmedian aminmax amax amin"),
    *rows("fc", "torch.norm({x}, {positive}, dim={dim}, keepdim={flag})", mild=True),
    *rows("fc", "torch.norm({x}, NAME)", "'fro' 1 2 0 inf", mild=True),
    *rows("fib", "torch.equal({x}, {peer})"),
    *rows("fibc", "torch.allclose({x}, {same}, equal_nan={flag})"),
]
SCANS = [
    *rows("fibc", "torch.NAME({x}, dim={dim})", "cumsum cumprod", mild=True),
    *rows("fib", "torch.NAME({x}, dim={dim})", "cummax cummin", mild=True),
    *rows("fc", "torch.logcumsumexp({x}, dim={dim})", mild=True),
    *rows("fibc", "torch.diff({x}, dim={dim})"),
    *rows("fib", "torch.diff({x}, {count}, dim={dim}, prepend={same})"),
    *rows("fic", "torch.NAME({x}, dim={dim})", "trapezoid trapz cumulative_trapezoid", mild=True),
    *rows("f", "torch.NAME({x}, {same}, dim={dim})", "trapezoid trapz cumulative_trapezoid", mild=True),
    *rows("f", "torch.NAME({x}, dx={positive}, dim={dim})", "trapezoid cumulative_trapezoid", mild=True),
    *rows("fc", "torch.gradient({x}, dim={dim})", mild=True),
    *rows("f", "torch.gradient({x}, spacing={positive}, edge_order=2)", mild=True),
]
SORTS = [
    *rows("fib", "torch.sort({x}, dim={dim}, stable=True, descending={flag})"),
    *rows("fib", "torch.argsort({x}, dim={dim}, stable=True, descending={flag})"),
    *rows("fi", "torch.topk({x}, {count}, dim={dim}, largest={flag})[0]"),
    *rows("fi", "torch.kthvalue({x}, {positive_count}, dim={dim}, keepdim={flag})[0]"),
    *rows("fib", "torch.NAME({x})", "unique_consecutive msort unique"),
    *rows("fib", "{x}.NAME(return_inverse={flag1}, return_counts={flag2})", "unique unique_consecutive"),
    *rows("fib", "{x}.NAME(dim={dim})", "unique unique_consecutive"),
    *rows("fib", "torch.isin({x}, {same})"),
    *rows("fi", "torch.isin({x}, {number}, invert={flag})"),
    *rows("fi", "torch.searchsorted(torch.arange(-2, 3), {x}, right={flag})"),
    *rows("fi", "torch.searchsorted({x}.sort()[0], {same}, side='NAME')", "left right"),
    *rows("fi", "torch.bucketize({x}, torch.tensor([-1.0, 0.5, 2.0]), right={flag})"),
]
STATISTICS = [
    *rows("f", "torch.NAME({x}, {fraction}, dim={dim}, keepdim={flag})", "quantile nanquantile", mild=True),
    *rows("f", "torch.quantile({x}, torch.tensor([0.25, 0.5]).to({x}.dtype), dim={dim}, interpolation='NAME')",
          "linear lower higher nearest midpoint", mild=True),
    *rows("fic", "torch.NAME({x})", "cov corrcoef", mild=True),
    *rows("f", "torch.cov({x}, correction={count})", mild=True),
    *rows("fi", "torch.histc({x}, 4, {index}, 3)", mild=True),
    *rows("f", "torch.histogram({x}, 3, range=(-1.0, 2.0), density={flag})", mild=True),
    *rows("f", "torch.histogram({x}, torch.tensor([-1.0, 0.5, 2.0]).to({x}.dtype))", mild=True),
    *rows("f", "torch.histogramdd({x}, [2] * {x}.shape[-1], range=[-1.0, 2.0] * {x}.shape[-1])", mild=True),
    *rows("i", "torch.bincount({x}, minlength={count})", x="vector"),
    *rows("i", "torch.bincount({x}.abs(), {x}.double())", x="vector", mild=True),
    *rows("f", "torch.NAME({x}, {same}, p={positive})", "cdist dist", mild=True),
    *rows("f", "torch.pdist({x}, {positive})", x="tall", mild=True),  # PyTorch crashes in backward without rows
    *rows("f", "torch.dist({x}, {positive})", mild=True),
    *rows("fc", "torch.renorm({x}, {positive1}, {dim}, {positive2})", mild=True),
    *rows("f", "torch.segment_reduce({x}, 'NAME', lengths=torch.tensor([1, {x}.shape[0] - 1]), unsafe=False)",
          "sum mean max min", mild=True),
]
REDUCE = [*REDUCTIONS, *SCANS, *SORTS, *STATISTICS]
