"""Optimizer steps on 25 million parameters, as one tensor and as 500 small ones, and on a small model.

PyTorch's time is that of its default path and, in a second row, of ``fused=True``. The argument is the thread count:

    python bench/optim.py [threads]
"""

import sys

from _harness import Suite

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
suite = Suite("optim" if THREADS == 1 else f"optim-{THREADS}-threads", THREADS)

SHAPES = {
    "one tensor of 25M": [(25_000_000,)], "500 tensors of 50k": [(50_000,)] * 500, "10 tensors of 1k": [(1000,)] * 10,
}
OPTIMIZERS = {
    "SGD": ("SGD", {}), "SGD with momentum": ("SGD", {"momentum": 0.9}), "Adam": ("Adam", {}), "AdamW": ("AdamW", {}),
}


def register(label, kind, settings, size, shapes, fused):
    @suite.case(f"{label}, {size}, {'fused' if fused else 'default'}")
    def _(t):
        parameters = [t.nn.Parameter(t.full(shape, 0.5)) for shape in shapes]
        for p in parameters:
            p.grad = t.full(p.shape, 0.01)
        optimizer = getattr(t.optim, kind)(parameters, lr=1e-3, fused=fused, **settings)

        def step():
            optimizer.step()
            return parameters[-1][:2]

        return step


for size, shapes in SHAPES.items():
    for label, (kind, settings) in OPTIMIZERS.items():
        for fused in (None, True):
            register(label, kind, settings, size, shapes, fused)

suite.main()
