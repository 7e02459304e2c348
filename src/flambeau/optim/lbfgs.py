"""L-BFGS: a quasi-Newton method that estimates curvature from recent gradients."""

from .._modes import enable_grad, no_grad
from ..functions.complex import view_as_real
from ..functions.join import cat
from ._checks import check_settings
from ._line_search import Point, strong_wolfe
from .optimizer import Optimizer

__all__ = ["LBFGS"]

FLAT = 1e-10  # minimum curvature of a step that updates the history
MOST_CALLS = 25  # of the closure in a line search, after the first
KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Minimises with a curvature estimate from recent changes of parameters and gradients.

    It supports a single parameter group, and ``step`` calls its closure several times.

    Args:
        params: the parameters.
        lr: the step size.
        max_iter: the maximum number of iterations per step.
        max_eval: the maximum number of closure calls per step; by default 1.25 times ``max_iter``.
        tolerance_grad: stops when no element of the gradient exceeds it.
        tolerance_change: stops when the loss or the parameters change by less.
        history_size: the number of past updates to keep.
        line_search_fn: ``"strong_wolfe"``, or None for steps of the size ``lr``.

    Example::

        >>> w = flambeau.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = flambeau.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 1) ** 4).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> w.round(decimals=1)
        tensor([1., 1.], grad_fn=<RoundBackward1>)
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None):
        check_settings(lr=lr)
        super().__init__(params, dict(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
            line_search_fn=line_search_fn,
        ))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure):
        """Minimises; the ``closure`` clears gradients, computes the loss, calls ``backward`` and returns the loss."""
        if len(self.param_groups) != 1:  # some may have been added
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        evaluate = enable_grad()(closure)
        first_loss = evaluate()
        state["func_evals"] += 1
        search = Search(self, evaluate, group, state, float(first_loss))
        if not search.is_over():
            search.run()
        return first_loss

    # ---- the parameters as one vector

    def flat_grad(self):
        """The gradients of all parameters as a flat vector."""
        return cat([as_vector(p._grad.to_dense() if p._grad.is_sparse else p._grad) if p._grad is not None
                    else as_vector(p.detach()).new_zeros(as_vector(p.detach()).numel()) for p in self._params])

    def move(self, t, direction):
        """Moves the parameters along a direction."""
        start = 0
        for p in self._params:
            own = view_as_real(p) if p.is_complex() else p
            own.add_(direction[start:start + own.numel()].view_as(own), alpha=float(t))
            start += own.numel()

    def restore(self, values):
        """Restores the parameters."""
        for p, value in zip(self._params, values, strict=True):
            p.copy_(value)


class Search:
    """The iterations of a single step."""

    def __init__(self, optimizer, evaluate, group, state, loss):
        self.optimizer, self.evaluate, self.group, self.state = optimizer, evaluate, group, state
        self.loss, self.grad = loss, optimizer.flat_grad()
        self.calls = 1
        self.d, self.t, self.dirs, self.stps, self.ro, self.h_diag, self.last_grad, self.last_loss = [
            state.get(name) for name in KEPT]

    def is_over(self):
        """Whether the gradient is zero within the tolerance."""
        return bool(self.grad.abs().max() <= self.group["tolerance_grad"])

    def run(self):
        for n in range(1, self.group["max_iter"] + 1):
            self.state["n_iter"] += 1
            self.set_direction()
            self.last_grad = self.grad.clone() if self.last_grad is None else self.last_grad.copy_(self.grad)
            self.last_loss = self.loss
            is_first = self.state["n_iter"] == 1
            self.t = min(1.0, 1.0 / self.grad.abs().sum()) * self.group["lr"] if is_first else self.group["lr"]
            slope = self.grad.dot(self.d)
            if slope > -self.group["tolerance_change"]:
                break
            calls = self.advance(slope, is_last=n == self.group["max_iter"])
            self.calls += calls
            self.state["func_evals"] += calls
            if self.calls >= self.group["max_eval"] or self.is_over() or self.stands_still():
                break
        self.state.update(zip(KEPT, (self.d, self.t, self.dirs, self.stps, self.ro, self.h_diag, self.last_grad,
                                     self.last_loss), strict=True))

    def stands_still(self):
        change = self.group["tolerance_change"]
        return bool((self.d * self.t).abs().max() <= change) or abs(self.loss - self.last_loss) < change

    def set_direction(self):
        """Sets the search direction by multiplying the gradient with the estimated inverse Hessian."""
        if self.state["n_iter"] == 1:
            self.d, self.dirs, self.stps, self.ro, self.h_diag = -self.grad, [], [], [], 1
            return
        self.remember(self.grad - self.last_grad, self.d * self.t)
        al = self.state.setdefault("al", [None] * self.group["history_size"])
        q = -self.grad
        for i in reversed(range(len(self.dirs))):
            al[i] = self.stps[i].dot(q) * self.ro[i]
            q.add_(self.dirs[i], alpha=-float(al[i]))
        self.d = q * self.h_diag
        for i in range(len(self.dirs)):
            share = self.dirs[i].dot(self.d) * self.ro[i]
            self.d.add_(self.stps[i], alpha=float(al[i] - share))

    def remember(self, y, s):
        """Adds a gradient change and the parameter change that caused it to the history."""
        curvature = y.dot(s)
        if not curvature > FLAT:
            return
        if len(self.dirs) == self.group["history_size"]:
            for history in (self.dirs, self.stps, self.ro):
                history.pop(0)
        self.dirs.append(y)
        self.stps.append(s)
        self.ro.append(1.0 / curvature)
        self.h_diag = curvature / y.dot(y)

    def advance(self, slope, is_last):
        """Moves along the direction; returns the number of closure calls."""
        if self.group["line_search_fn"] is None:
            self.optimizer.move(self.t, self.d)
            if is_last:  # its loss is not needed
                return 0
            self.loss, self.grad = float(self.evaluate()), self.optimizer.flat_grad()
            return 1
        if self.group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = [p.clone() for p in self.optimizer._params]

        def evaluate(t):
            self.optimizer.move(t, self.d)
            loss, grad = float(self.evaluate()), self.optimizer.flat_grad()
            self.optimizer.restore(origin)
            return Point(t, loss, grad, grad.dot(self.d))

        start, most = Point(0, self.loss, self.grad, slope), min(MOST_CALLS, self.group["max_eval"] - self.calls)
        found, calls = strong_wolfe(evaluate, start, self.t, self.d.abs().max(), max_ls=most)
        self.loss, self.grad, self.t = found.loss, found.grad, found.t
        self.optimizer.move(self.t, self.d)
        return calls


def as_vector(t):
    return (view_as_real(t) if t.is_complex() else t).reshape(-1)
