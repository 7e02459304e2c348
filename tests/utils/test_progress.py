"""The progress bar."""

import io

import pytest

import flambeau
from flambeau.utils import data, progress
from flambeau.utils.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets; every drawing is due."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "INTERVAL", 0)
    return now


def lines(file):
    return file.getvalue().rstrip("\n").split(progress.CLEAR)[1:]


def test_the_line_shows_share_rate_time_and_loss(clock):
    file = Terminal()
    bar = Progress(range(4), "epoch 1", file=file)
    for i in bar:
        clock[0] += 0.5
        bar.update(loss=flambeau.tensor(1.0 / (i + 1)), step=i)
    assert lines(file)[0] == "epoch 1   25%  1/4  2.0/s  0:00<0:01  loss 1  step 0"
    assert lines(file)[-1] == "epoch 1  100%  4/4  2.0/s  0:02  loss 0.25  step 3"
    assert file.getvalue().endswith("\n")


def test_without_a_length(clock):
    file = Terminal()
    for _ in Progress(iter("abc"), file=file):
        clock[0] += 3700
    assert lines(file)[-1] == "3  0.0/s  3:05:00"


def test_it_is_silent_without_a_terminal(capsys):
    bar = Progress(data.DataLoader(range(5)), "epoch")
    for batch in bar:
        bar.update(loss=batch)
    file = io.StringIO()
    assert list(Progress("abc", file=file)) == ["a", "b", "c"] and file.getvalue() == ""
    assert capsys.readouterr() == ("", "")


def test_it_has_the_length_of_what_it_shows():
    """And so has a loader, by which others, such as tqdm, know how far they are."""
    assert len(Progress(data.DataLoader(range(5), batch_size=2))) == 3
    with pytest.raises(TypeError):
        len(Progress(iter("abc")))


def test_a_loop_that_is_left_ends_the_line(clock):
    file = Terminal()
    steps = iter(Progress("abc", file=file))
    next(steps)
    steps.close()
    assert file.getvalue().endswith("\n")


def test_a_tensor_is_read_only_when_the_line_is_drawn(monkeypatch):
    looks = []

    class Loss:
        def item(self):
            looks.append(1)
            return 0.5

    bar = Progress(range(1000), file=Terminal())
    monkeypatch.setattr(progress, "INTERVAL", 1000)
    monkeypatch.setattr(progress, "monotonic", lambda: 5.0)
    for _ in bar:
        bar.update(loss=Loss())
    assert len(looks) == 1


def test_the_line_fits_the_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    file = Terminal()
    list(Progress("ab", "a long description of the epoch", file=file))
    assert all(len(line) == 19 for line in lines(file))
