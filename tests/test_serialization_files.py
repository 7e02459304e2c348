"""Files of checkpoints: links, modes, pipes and devices, killed processes, mapped files."""

import io
import os
import pathlib
import stat
import subprocess
import sys
import threading

import pytest

import flambeau

posix = pytest.mark.skipif(os.name != "posix", reason="links, modes and pipes of POSIX")


@pytest.fixture
def old(tmp_path):
    """A checkpoint that is to be saved over."""
    path = tmp_path / "net.pt"
    flambeau.save({"step": 1}, path)
    return path


def names(folder):
    return sorted(os.listdir(folder))


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755])
def test_saving_over_a_file_keeps_its_mode(old, mode):
    old.chmod(mode)
    flambeau.save({"step": 2}, old)
    assert stat.S_IMODE(old.stat().st_mode) == mode
    assert flambeau.load(old) == {"step": 2} and names(old.parent) == ["net.pt"]


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, mask):
    script = f"import os, flambeau; os.umask({mask}); flambeau.save(1, 'a.pt'); print(os.umask(0))"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) == mask
    assert stat.S_IMODE((tmp_path / "a.pt").stat().st_mode) == 0o666 & ~mask


@posix
def test_the_umask_is_never_touched(old, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    flambeau.save({"step": 2}, old)
    flambeau.save({"step": 2}, old.parent / "new.pt")


@posix
@pytest.mark.parametrize("target", ["net.pt", "not there yet.pt", "../{folder}/net.pt"])
def test_symbolic_links_are_followed(old, target):
    link, chain = old.parent / "link.pt", old.parent / "chain.pt"
    link.symlink_to(target.format(folder=old.parent.name))
    chain.symlink_to(link)
    flambeau.save({"step": 2}, chain)
    assert chain.is_symlink() and link.is_symlink()
    assert flambeau.load(link) == flambeau.load(link.resolve()) == {"step": 2}


@posix
def test_hard_links_stay_links(old):
    other = old.parent / "other.pt"
    os.link(old, other)
    flambeau.save({"step": list(range(1000))}, old)
    flambeau.save({"step": 2}, old)
    assert other.samefile(old) and flambeau.load(other) == {"step": 2} and names(old.parent) == ["net.pt", "other.pt"]


@posix
def test_a_pipe_gets_the_checkpoint(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    flambeau.save({"a": flambeau.arange(3)}, path)
    reader.join()
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert flambeau.load(io.BytesIO(read[0]))["a"].tolist() == [0, 1, 2]


@posix
@pytest.mark.parametrize("name, to_file", [("/dev/stdout", False), ("/dev/fd/1", True), ("link", True)])
def test_standard_output(tmp_path, name, to_file):
    (tmp_path / "link").symlink_to("/dev/stdout")
    script = f"import flambeau; flambeau.save({{'step': 2}}, {name!r})"
    with open(tmp_path / "out.pt", "wb") as out:
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=tmp_path, stdout=out if to_file else subprocess.PIPE, check=True)
        written = pathlib.Path(out.name).read_bytes() if to_file else done.stdout
        assert os.path.samestat(os.fstat(out.fileno()), os.stat(out.name))
    assert flambeau.load(io.BytesIO(written)) == {"step": 2}


@posix
def test_devices_stay_devices():
    flambeau.save(flambeau.ones(3), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("name", ["x" * 255, "x" * 252 + ".pt", "é" * 127, ".hidden", "a.b.c", "no suffix", " "])
def test_names(tmp_path, name):
    for step in (1, 2):
        flambeau.save({"step": step}, tmp_path / name)
    assert flambeau.load(tmp_path / name) == {"step": 2} and names(tmp_path) == [name]


REFUSED = {
    "a folder": ".", "too long": "x" * 256, "a loop": "loop", "no folder": "missing/net.pt", "nothing": "",
    "no space": "/dev/full",
}


@posix
@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_written_is_a_runtime_error(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    os.symlink("loop", "loop")
    with pytest.raises(RuntimeError, match=r"cannot be written|does not exist"):
        flambeau.save(flambeau.ones(3), path)
    assert names(tmp_path) == ["loop"]


class Unpicklable:
    def __reduce__(self):
        raise OSError("not this one")


@pytest.mark.parametrize("links", [1, 2])
def test_a_failed_save_leaves_the_old_file(old, links):
    if links == 2:
        os.link(old, old.parent / "other.pt")
    before = names(old.parent)
    with pytest.raises(OSError, match="not this one"):
        flambeau.save({"a": flambeau.ones(3), "b": Unpicklable()}, old)
    assert flambeau.load(old) == {"step": 1} and names(old.parent) == before


KILLED = """
import os, sys, flambeau
from flambeau.serialization import _archive

class Killer(_archive.Writer):
    def add(self, name, data):
        super().add(name, data)
        self.file.flush()
        if name == {at!r}:
            os.kill(os.getpid(), 9)

from flambeau.serialization import _save
_save.Writer = Killer
flambeau.save({{"step": 2, "a": flambeau.ones(100000)}}, "net.pt")
"""


@posix
@pytest.mark.parametrize("at, links", [("data.pkl", 1), ("version", 1), ("data/0", 2)])
def test_a_killed_process_leaves_only_the_old_file(old, at, links):
    if links == 2:
        os.link(old, old.parent / "other.pt")
    before = names(old.parent)
    done = subprocess.run([sys.executable, "-c", KILLED.format(at=at)], cwd=old.parent, check=False)
    assert done.returncode == -9
    assert flambeau.load(old) == {"step": 1}
    if hasattr(os, "O_TMPFILE"):
        assert names(old.parent) == before


@posix
def test_a_half_written_file_has_a_complete_twin(old, monkeypatch):
    """The one case in which the old contents can go: the file itself must be written to, and that fails."""
    from flambeau.serialization import _files

    os.link(old, old.parent / "other.pt")

    def fail(source, target):
        target.write(source.read(10))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.shutil, "copyfileobj", fail)
    with pytest.raises(RuntimeError, match=r"No space left.*complete checkpoint is in"):
        flambeau.save({"step": 2}, old)
    (twin,) = old.parent.glob(".checkpoint-*.tmp")
    assert flambeau.load(twin) == {"step": 2}


@posix
def test_without_files_that_have_no_name(old, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    flambeau.save({"step": 2}, old)
    flambeau.save({"step": 3}, old.parent / "new.pt")
    with pytest.raises(OSError, match="not this one"):
        flambeau.save(Unpicklable(), old)
    assert flambeau.load(old) == {"step": 2} and names(old.parent) == ["net.pt", "new.pt"]


# ---- files of other kinds


class OnlyWrites:
    """Takes a few bytes at a time, and has nothing but ``write``."""

    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += bytes(data[:100])
        return min(len(data), 100)


class OnlyReads(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, size=-1):
        return self.data.read(min(size, 7))

    def seek(self, offset, whence=0):
        return self.data.seek(offset, whence)

    def tell(self):
        return self.data.tell()


def test_files_that_give_and_take_little():
    sink = OnlyWrites()
    flambeau.save(flambeau.arange(100), sink)
    assert flambeau.load(OnlyReads(sink.data)).tolist() == list(range(100))


def test_a_checkpoint_may_begin_anywhere_in_a_file():
    file = io.BytesIO()
    file.write(b"something before")
    flambeau.save(flambeau.arange(3), file)
    file.seek(len(b"something before"))
    assert flambeau.load(file).tolist() == [0, 1, 2]


# ---- mapped files


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big.pt"
    flambeau.save({"a": flambeau.ones(3), "big": flambeau.zeros(1 << 24), "b": flambeau.arange(3)}, path)
    return path


def test_a_mapped_file_is_not_read(big):
    script = (
        "import resource, flambeau\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "loaded = flambeau.load('big.pt', mmap=True)\n"
        "assert loaded['b'].tolist() == [0, 1, 2] and loaded['big'].shape == (1 << 24,)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=big.parent, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8 << 10  # KiB; the tensor has 64 MiB


def test_writes_to_mapped_tensors_do_not_reach_the_file(big):
    before = big.read_bytes()
    loaded = flambeau.load(big, mmap=True)
    loaded["a"][0] = 9
    loaded["big"].fill_(3)
    assert loaded["a"].tolist() == [9, 1, 1] and loaded["big"][-1] == 3
    assert big.read_bytes() == before


def test_what_cannot_be_mapped(tmp_path, big):
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        flambeau.load(io.BytesIO(big.read_bytes()), mmap=True)
    with open(big, "rb") as file, pytest.raises(ValueError, match="must be a file path"):
        flambeau.load(file, mmap=True)
    (tmp_path / "old.pt").write_bytes(b"\x80\x02something else")
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        flambeau.load(tmp_path / "old.pt", mmap=True)


def test_mapped_to_meta(big):
    assert flambeau.load(big, mmap=True, map_location="meta")["big"].is_meta


@pytest.mark.oracle
def test_torch_maps_ours(big):
    torch = pytest.importorskip("torch")
    loaded = torch.load(pathlib.Path(big), mmap=True)
    assert loaded["b"].tolist() == [0, 1, 2] and loaded["big"].sum() == 0


@pytest.mark.oracle
def test_we_map_torchs(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.arange(3), "b": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "a.pt")
    loaded = flambeau.load(tmp_path / "a.pt", mmap=True)
    assert loaded["a"].tolist() == [0, 1, 2] and loaded["b"].tolist() == [1, 1]


def test_records_of_a_file(tmp_path):
    flambeau.save({"a": flambeau.ones(2)}, tmp_path / "file.pt")
    reader = flambeau.PyTorchFileReader(str(tmp_path / "file.pt"))
    assert "data.pkl" in reader.get_all_records() and reader.has_record("version") and not reader.has_record("x")
    assert reader.get_record("data/0") == flambeau.ones(2).numpy().tobytes()
    with pytest.raises(RuntimeError, match="failed locating file x"):
        reader.get_record("x")
