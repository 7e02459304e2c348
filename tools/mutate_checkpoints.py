"""Loads thousands of damaged and forged checkpoints, and counts what goes wrong.

    PYTHONPATH=src python tools/mutate_checkpoints.py                      # 5,000 files
    PYTHONPATH=src python tools/mutate_checkpoints.py --files 300 --seed 2

Each file is a valid checkpoint (a zip archive, or in the format before PyTorch 1.6) that was truncated, had bits or
blocks changed, claims wrong sizes, is compressed, or has a pickle that would run code. A restricted load may succeed,
or raise RuntimeError, UnpicklingError or EOFError. It must not run code, nor take more than a few seconds and a few
hundred megabytes of memory; a separate process checks all of this. Exits with 1 on any violation.
"""

import argparse
import codecs
import collections
import functools
import io
import os
import pathlib
import pickle
import random
import resource
import signal
import struct
import sys
import traceback
import zipfile

import flambeau
from flambeau import nn
from flambeau.serialization._archive import Writer

ALLOWED = (RuntimeError, pickle.UnpicklingError, EOFError)
MEMORY = 256 << 20  # limit for all loads
SECONDS = 20  # limit for one load
MAGIC = 0x1950A86A20F9469CFC6C

# Audit events that no load should cause.
FORBIDDEN = ("exec", "compile", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pickle.find_class")


# ---- valid files


def values():
    """The contents of the valid checkpoints."""
    torch = flambeau
    base = torch.arange(24.0).view(4, 6)
    model = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
    optimizer = torch.optim.Adam(model.parameters())
    model(base).sum().backward()
    optimizer.step()
    marked = torch.ones(2)
    marked.note = {"a": 1}
    return [
        {"base": base, "row": base[1], "transposed": base.t(), "empty": torch.empty(0, 3), "scalar": torch.tensor(2.5)},
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3},
        {"dtypes": [torch.ones(2, dtype=dtype) for dtype in (torch.bfloat16, torch.uint16, torch.complex64)],
         "parameter": nn.Parameter(torch.ones(3)), "marked": marked, "sparse": torch.eye(3).to_sparse(),
         "set": {1, "a"}, "bytes": b"\0\xff", "long": 2**100, "size": base.shape, "counts": collections.Counter("ab")},
    ]


def parts_of(value):
    """(pickle, {key: elements}) of a checkpoint."""
    file = io.BytesIO()
    flambeau.save(value, file)
    with zipfile.ZipFile(file) as archive:
        entries = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    return entries["data.pkl"], {name[5:]: data for name, data in entries.items() if name.startswith("data/")}


def as_zip(pickled, storages):
    file = io.BytesIO()
    writer = Writer(file, "archive")
    writer.add("data.pkl", pickled)
    writer.add("byteorder", sys.byteorder.encode())
    for key, data in storages.items():
        writer.add(f"data/{key}", data)
    writer.add("version", b"3\n")
    writer.close()
    return file.getvalue()


def as_legacy(pickled, storages, counts=None):
    """A file in the old format, whose storage records have one more field."""
    head = [MAGIC, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}]
    elements = b"".join(
        struct.pack("<q", (counts or {}).get(key, len(data) // 4)) + data for key, data in storages.items()
    )
    return b"".join(pickle.dumps(part, 2) for part in head) + pickled + pickle.dumps(list(storages), 2) + elements


def legacy_pickle(shapes):
    """The pickle of {key: a float32 tensor} in the old format, and its storages."""
    out, storages = [b"\x80\x02}("], {}
    for number, shape in enumerate(shapes):
        count = functools.reduce(lambda a, b: a * b, shape, 1)
        key = str(number)
        storages[key] = bytes(4 * count)
        record = _text("storage") + b"ctorch\nFloatStorage\n" + _text(key) + _text("cpu") + _int(count) + b"N"
        strides = [functools.reduce(lambda a, b: a * b, shape[dim + 1:], 1) for dim in range(len(shape))]
        out.append(_text(f"t{number}") + b"ctorch._utils\n_rebuild_tensor_v2\n((" + record + b"tQK\0(" +
                   b"".join(map(_int, shape)) + b"t(" + b"".join(map(_int, strides)) +
                   b"t\x89ccollections\nOrderedDict\n)RtR")
    return b"".join(out) + b"u.", storages


def _text(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _int(number):
    return b"J" + struct.pack("<i", number)


# ---- mutations: each takes a generator and (pickle, storages, pack), and returns the bytes of a file


def cut_off(draw, pickled, storages, pack):
    data = pack(pickled, storages)
    return data[: draw.randrange(len(data))]


def flipped_bits(draw, pickled, storages, pack):
    return _flip(draw, pack(pickled, storages))


def flipped_pickle(draw, pickled, storages, pack):
    """With a correct checksum, so that the pickle is read."""
    return pack(_flip(draw, pickled), storages)


def cut_pickle(draw, pickled, storages, pack):
    return pack(pickled[: draw.randrange(len(pickled))], storages)


def changed_block(draw, pickled, storages, pack):
    """A block is removed, duplicated, overwritten or moved."""
    data = pack(pickled, storages) if draw.random() < 0.5 else pickled
    start = draw.randrange(len(data))
    block = data[start: start + draw.randint(1, 64)]
    rest = data[start + len(block):]
    other = draw.choice([b"", block * 2, draw.randbytes(len(block)), bytes(len(block)), b"\xff" * len(block)])
    mutated = data[:start] + other + rest
    return pack(mutated, storages) if data is pickled else mutated


def wrong_sizes(draw, pickled, storages, pack):
    """Storages are longer or shorter than declared in the pickle, or missing."""
    storages = dict(storages)
    key = draw.choice(list(storages))
    size = len(storages[key])
    change = draw.choice([None, 0, size + 1, size * 2, max(size - 4, 0), 1 << 16])
    if change is None:
        del storages[key]
    else:
        storages[key] = (storages[key] + bytes(change))[:change]
    return pack(pickled, storages)


def large_numbers(draw, pickled, storages, pack):
    """Numbers in the pickle become large: counts, sizes, strides, offsets."""
    data = bytearray(pickled)
    places = [i for i in range(len(data) - 5) if data[i] in b"KMJ"]
    for _ in range(draw.randint(1, 3)):
        place = draw.choice(places)
        number = draw.choice([b"J\xff\xff\xff\x7f", b"J\xff\xff\xff\xff", b"\x8a\x08" + b"\xff" * 7 + b"\x7f"])
        length = {ord("K"): 2, ord("M"): 3, ord("J"): 5}.get(data[place], 2)
        data[place: place + length] = number
    return pack(bytes(data), storages)


def claims_in_directory(draw, pickled, storages, pack):
    """Sizes and offsets of a zip directory, or counts of the old format, become arbitrary."""
    data = bytearray(pack(pickled, storages))
    marks = [i for i in range(len(data) - 46) if data[i: i + 4] in (b"PK\1\2", b"PK\5\6", b"PK\3\4")]
    if not marks:
        return as_legacy(pickled, storages, {draw.choice(list(storages)): draw.choice([-1, 2**62, 7])})
    place = draw.choice(marks) + draw.choice([8, 10, 16, 20, 24, 28, 30, 42])
    data[place: place + 4] = draw.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", draw.randbytes(4)])
    return bytes(data)


def bomb(draw, pickled, storages, pack):
    """An entry that unpacks to a thousand times its size, or many that overlap."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", b"3\n")
        for key in storages:
            archive.writestr(f"archive/data/{key}", bytes(draw.choice([1 << 16, 1 << 22])))
    return file.getvalue()


class Call:
    """Pickled as a call."""

    def __init__(self, name, *arguments):
        self.name, self.arguments = name, arguments

    def opcodes(self):
        arguments = b"".join(a.opcodes() if isinstance(a, Call) else pickle.dumps(a, 2)[2:-1] for a in self.arguments)
        return b"c" + self.name.replace(" ", "\n").encode() + b"\n(" + arguments + b"tR"


HOSTILE = [
    Call("os system", "touch /tmp/executed"), Call("posix system", "true"), Call("subprocess Popen", ["true"]),
    Call("builtins eval", "1"), Call("__builtin__ exec", "import os"), Call("builtins __import__", "this"),
    Call("builtins getattr", "a", "upper"), Call("torch load", "/etc/passwd"), Call("torch.serialization load", "x"),
    Call("torch.hub load", "a/b", "c"), Call("torch Tensor", 1 << 20, 1 << 20), Call("torch zeros", 1 << 40),
    Call("torch FloatStorage", 1 << 40), Call("builtins bytearray", 1 << 40), Call("builtins range", 1 << 60),
    Call("_codecs encode", "a", "rot13"), Call("collections OrderedDict", Call("os system", "true")),
    Call("functools partial", Call("os getcwd")), Call("torch.storage _load_from_bytes", b"abc"),
    Call("flambeau.serialization._load load", "x"), Call("torch._utils _rebuild_tensor_v2", None, 0, (1,), (1,)),
    Call("torch._tensor _rebuild_from_type_v2", Call("os system", "true"), None, (), {}),
]
GADGETS = [b"(S'true'\niposix\nsystem\n", b"\x82\x01", b"(cposix\nsystem\nS'true'\no", b"\x97", b"\x98", b"Pname\n",
           b"ctorch\nTensor\n}X\3\0\0\0addK\1sb", b"cbuiltins\nset\n)\x81", b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
           b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x96\0\0\0\0\0\1\0\0", b"\x8b\xff\xff\xff\x7f",
           b"r\xff\xff\xff\xff"]


def hostile_pickle(draw, pickled, storages, pack):
    """A call or an unusual opcode, alone or inside a valid pickle."""
    evil = draw.choice(GADGETS) if draw.random() < 0.4 else draw.choice(HOSTILE).opcodes()
    if draw.random() < 0.5:
        return pack(b"\x80\x02" + evil + b".", storages if draw.random() < 0.5 else {})
    place = draw.randrange(2, len(pickled))
    return pack(pickled[:place] + evil + draw.choice([b"", b"0"]) + pickled[place:], storages)


def growing_pickle(draw, pickled, storages, pack):
    """One long list, and many copies of it: by sets, by Counters, by doubling a list that contains itself."""
    items = b"](" + b"".join(_int(n) for n in range(draw.randint(10, 3000))) + b"eq\1"
    maker = draw.choice([b"cbuiltins\nset\n", b"ccollections\nCounter\n", b"cbuiltins\nfrozenset\n"])
    copies = (maker + b"h\1\x85R") * draw.randint(1, 3000)
    if draw.random() < 0.3:  # a list in a list in a list, twice each
        copies = b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(1, 60))
    return pack(b"\x80\x02](" + items + copies + b"e.", {})


def _flip(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 1, 2, 8])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


MUTATIONS = [cut_off, flipped_bits, flipped_pickle, flipped_pickle, cut_pickle, changed_block, wrong_sizes,
             large_numbers, claims_in_directory, bomb, hostile_pickle, hostile_pickle, growing_pickle]


def files(count, seed):
    """(name of the mutation, bytes) for this many files."""
    draw = random.Random(seed)
    sound = [(*parts_of(value), as_zip) for value in values()]
    sound += [(*legacy_pickle(shapes), as_legacy) for shapes in ([(4, 6), (3,)], [(2, 2, 2)] * 4)]
    for pickled, storages, pack in sound:
        flambeau.load(io.BytesIO(pack(pickled, storages)))  # they are valid
    for _ in range(count):
        mutation, source = draw.choice(MUTATIONS), draw.choice(sound)
        yield mutation.__name__, mutation(draw, *source)


# ---- the loads, in a separate process


class Watch:
    """Records forbidden audit events while a file is loaded."""

    def __init__(self):
        self.active = False
        self.events = []
        sys.addaudithook(self.hear)

    def hear(self, event, arguments):
        if self.active and event.startswith(FORBIDDEN):
            self.events.append(f"{event} {arguments!r:.100}")


def load_all(count, seed, load, report):
    """Loads the files and writes one line for each to `report`: the outcome, and any violation."""
    watch = Watch()
    for _ in files(1, seed):  # triggers lazy imports
        pass
    codecs.lookup("raw-unicode-escape")  # used by a pickle opcode
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    _limit_memory(MEMORY)
    for name, data in files(count, seed):
        watch.events.clear()
        signal.alarm(SECONDS)
        watch.active = True
        outcome, wrong = _attempt(load, data)
        watch.active = False
        signal.alarm(0)
        wrong += [f"ran code: {event}" for event in watch.events]
        report.write(f"{name}\t{outcome}\t{' | '.join(wrong)}\n")
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - used
    report.write(f"peak\t{peak}\t\n")
    report.flush()


def _limit_memory(more):
    """Limits the process to this many bytes more than it has now."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _attempt(load, data):
    try:
        load(io.BytesIO(data))
        return "loaded", []
    except ALLOWED as error:
        return type(error).__name__, []
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return type(error).__name__, [f"{error!r:.200} at {where.filename}:{where.lineno}"]


def mutate(count, seed, load=flambeau.load):
    """(outcomes by kind, violations, peak memory in bytes) for this many files."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        status = 1
        try:
            with os.fdopen(writer, "w") as report:
                load_all(count, seed, load, report)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    outcomes, faults, peak, done = collections.Counter(), [], 0, 0
    with os.fdopen(reader) as report:
        for line in report:
            name, outcome, wrong = line.rstrip("\n").split("\t")
            if name == "peak":
                peak = int(outcome)
                continue
            done += 1
            outcomes[outcome] += 1
            if wrong:
                faults.append(f"file {done} ({name}): {wrong}")
    _, status = os.waitpid(child, 0)
    if status or done != count:
        faults.append(f"the process ended after {done} files with the status {os.waitstatus_to_exitcode(status)}")
    return outcomes, faults, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes, faults, peak = mutate(options.files, options.seed)
    print(f"{sum(outcomes.values())} files: {dict(outcomes.most_common())}")
    print(f"peak: {peak / (1 << 20):.1f} MiB more than before; faults: {len(faults)}")
    for why in faults[:20]:
        print(f"    {why}")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
