"""Training steps on a GPU: ordinary scripts on Flambeau, lazy and compiled, and on PyTorch, eager and torch.compile.

    python bench/gpu.py                          # all models, all ways; writes results/gpu.md
    python bench/gpu.py gpt2 mlp --ways lazy torch --steps 10

Each way of running a model has its own processes, so that they do not share the GPU's memory. The first process
compiles its programs, several of them in parallel (``--lanes``). The second one, alone on the machine, loads them from
disk and is measured. Its peak memory is that of the whole process, including the first step, which allocates state; the
peak of the first process, which includes autotuning of kernels, is reported separately.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
WAYS = {"lazy": "flambeau", "torch": "torch", "compiled": "flambeau", "torch.compile": "torch"}
BESIDE = {"lazy": "torch", "compiled": "torch.compile"}


# ---- models, for either library


def gpt2(t, batch=16, length=1024, vocabulary=50304, width=768, heads=12, depth=12):
    nn, F = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            parts = self.qkv(self.ln1(x)).split(width, 2)
            q, k, v = [p.view(*p.shape[:2], heads, width // heads).transpose(1, 2) for p in parts]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(x.shape))
            return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
            self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
            nn.init.normal_(self.tokens.weight, std=0.02)
            self.head.weight = self.tokens.weight

        def forward(self, x):
            x = self.tokens(x) + self.places(t.arange(x.shape[1], device=x.device))
            return self.head(self.ln(self.blocks(x)))

    def loss(model, x, y):
        with t.autocast("cuda", t.bfloat16):
            return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    tokens = t.randint(0, vocabulary, (batch, length + 1))
    model = GPT().cuda()
    return model, t.optim.AdamW(model.parameters(), lr=3e-4), loss, (tokens[:, :-1], tokens[:, 1:])


def resnet50(t, batch=128, size=224):
    nn, F = t.nn, t.nn.functional

    class Bottleneck(nn.Module):
        def __init__(self, inner, width, stride):
            super().__init__()
            outer = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, outer, 1, bias=False), nn.BatchNorm2d(outer),
            )
            self.skip = nn.Identity() if inner == outer and stride == 1 else nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

        def forward(self, x):
            return F.relu(self.body(x) + self.skip(x))

    layers, inner = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(depth):
            layers.append(Bottleneck(inner, width, stride if i == 0 else 1))
            inner = 4 * width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 1000)).cuda()

    def loss(model, x, y):
        with t.autocast("cuda", t.bfloat16):
            return F.cross_entropy(model(x), y)

    data = t.randn(batch, 3, size, size), t.randint(0, 1000, (batch,))
    return model, t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), loss, data


def vit(t, batch=64, size=224, patch=16, width=768, heads=12, depth=12):
    nn, F = t.nn, t.nn.functional
    count = (size // patch) ** 2

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, patch)
            self.cls = nn.Parameter(t.zeros(1, 1, width))
            self.places = nn.Parameter(t.zeros(1, count + 1, width))
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = t.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.places
            return self.head(self.ln(self.encoder(x))[:, 0])

    def loss(model, x, y):
        with t.autocast("cuda", t.bfloat16):
            return F.cross_entropy(model(x), y)

    model = ViT().cuda()
    data = t.randn(batch, 3, size, size), t.randint(0, 1000, (batch,))
    return model, t.optim.AdamW(model.parameters(), lr=3e-4), loss, data


def lstm(t, batch=64, length=64, vocabulary=10000, width=1024):
    nn, F = t.nn, t.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.rnn = nn.LSTM(width, width, 2, batch_first=True)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, x):
            return self.head(self.rnn(self.tokens(x))[0])

    def loss(model, x, y):
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    tokens = t.randint(0, vocabulary, (batch, length + 1))
    model = Model().cuda()
    return model, t.optim.Adam(model.parameters(), lr=1e-3), loss, (tokens[:, :-1], tokens[:, 1:])


def mlp(t, batch=128, width=512):
    nn, F = t.nn, t.nn.functional
    model = nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))

    def loss(model, x, y):
        return F.cross_entropy(model(x), y)

    model.cuda()
    data = t.randn(batch, 784), t.randint(0, 10, (batch,))
    return model, t.optim.Adam(model.parameters(), lr=1e-3), loss, data


MODELS = {"gpt2": gpt2, "resnet50": resnet50, "vit": vit, "lstm": lstm, "mlp": mlp}


# ---- one measurement, in this process


def measure(name, way, steps):
    """{quantity: number} for one model run in one way; without steps, for the first two only."""
    if WAYS[way] == "torch":
        import torch as t
    else:
        import flambeau as t
    t.manual_seed(0)
    model, optimizer, compute_loss, data = MODELS[name](t)
    x, y = [part.contiguous().cuda() for part in data]

    def step(x, y):
        optimizer.zero_grad()
        loss = compute_loss(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    if way == "torch.compile":
        compute_loss = t.compile(compute_loss)
    elif way == "compiled":
        step = t.compile(step)
    began = time.perf_counter()
    losses = [step(x, y).item() for _ in range(2)]  # compiled functions run as programs from the second call on
    found = {"first_s": time.perf_counter() - began}
    if steps:
        losses += [step(x, y).item() for _ in range(2)]
        rounds = []
        for _ in range(5):
            t.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(steps):
                loss = step(x, y)
            dispatched = time.perf_counter() - began
            losses.append(loss.item())
            rounds.append((time.perf_counter() - began, dispatched))
        best, dispatched = min(rounds)
        found |= {"ms": best / steps * 1e3, "host_ms": dispatched / steps * 1e3, "losses": losses}
    return found | {"peak_gib": t.cuda.max_memory_allocated() / 2**30}


# ---- all measurements


def run(name, way, steps, args, caches):
    """Measures in a new process, which stores its programs in ``caches``; returns a string if that failed."""
    folder = str(caches / f"{name}-{way}")
    environment = os.environ | {"FLAMBEAU_CACHE": folder, "TORCHINDUCTOR_CACHE_DIR": folder,
                                "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}  # or one process allocates most of the memory
    command = [sys.executable, __file__, name, "--ways", way, "--steps", str(args.steps), "--here", str(steps)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout, env=environment)
    except subprocess.TimeoutExpired:
        found = f"no result in {args.timeout} s"
    else:
        found = "failed: " + (done.stderr.strip().splitlines() or ["?"])[-1][:200]
        with contextlib.suppress(ValueError, IndexError):
            found = json.loads(done.stdout.splitlines()[-1])
    print(name, way, found, flush=True)
    return found


def table(first, second):
    """A row for each model and way, from the process that compiled and the one that was measured."""
    lines = ["| model | way | ms a step | of them host | of PyTorch's way | first two steps s | in a second process | "
             "peak GiB | of PyTorch's | while it compiles | losses |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for (name, way), r in second.items():
        if isinstance(r, str):
            lines.append(f"| {name} | {way} | {r} |" + " |" * 8)
            continue
        compiling, theirs = first.get((name, way)), second.get((name, BESIDE.get(way)))
        cells = [f"{r['ms']:.2f}", f"{r['host_ms']:.2f}", "", f"{r['first_s']:.1f}", "", f"{r['peak_gib']:.2f}", "", "",
                 ", ".join([f"{loss:.4f}" for loss in r["losses"][:1] + r["losses"][4:]])]
        if isinstance(theirs, dict):
            cells[2], cells[6] = [f"{r[what] / theirs[what]:.2f}" for what in ("ms", "peak_gib")]
        if isinstance(compiling, dict):
            cells[3:5] = f"{compiling['first_s']:.1f}", f"{r['first_s']:.1f}"
            cells[7] = f"{compiling['peak_gib']:.2f}"
        lines.append("| " + " | ".join([name, way, *cells]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], default=[])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--timeout", type=int, default=240, help="seconds for one model in one way")
    parser.add_argument("--lanes", type=int, default=4, help="processes that compile side by side")
    parser.add_argument("--out", type=Path, default=RESULTS / "gpu.md")
    parser.add_argument("--here", type=int, metavar="STEPS", help="one model, one way, in this process; prints JSON")
    args = parser.parse_args()
    if args.here is not None:
        print(json.dumps(measure(args.models[0], args.ways[0], args.here)))
        return
    cases = [(name, way) for name in args.models or MODELS for way in args.ways]
    second = dict.fromkeys(cases, "not measured")
    with tempfile.TemporaryDirectory() as folder:
        caches = Path(folder)
        with ThreadPoolExecutor(args.lanes) as lanes:
            compiling = [case for case in cases if case[1] != "torch"]
            first = dict(zip(compiling, lanes.map(lambda case: run(*case, 0, args, caches), compiling), strict=True))
        for case in cases:
            second[case] = run(*case, args.steps, args, caches)
            args.out.write_text(f"# Training steps on a GPU\n\n{table(first, second)}\n")


if __name__ == "__main__":
    main()
