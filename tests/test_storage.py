"""Storages: the memory behind tensors; set_, resize_ and what works element by element."""

import multiprocessing
import sys

import pytest

import flambeau
from _oracle import check_code
from flambeau.functions import _warn

STORAGES = """
torch.ones(2).storage()
torch.ones(2).untyped_storage()
torch.ones(2).storage()[0]
torch.ones(2).storage()[-1]
torch.ones(2).storage()[1:]
torch.ones(2).untyped_storage()[0]
torch.ones(2).untyped_storage()[2:4].tolist()
len(torch.ones(2).storage()), len(torch.ones(2).untyped_storage())
torch.ones(2).storage().dtype
torch.ones(2).storage().size(), torch.ones(2).storage().nbytes(), torch.ones(2).storage().element_size()
torch.ones(2).storage().type()
torch.ones(2).untyped_storage().tolist()
torch.ones(2, 3)[1:].storage().size()
torch.ones(2, 3)[1:].untyped_storage().nbytes()
torch.UntypedStorage(4).nbytes()
torch.UntypedStorage([1, 2, 3]).tolist()
torch.FloatStorage(3).size()
torch.FloatStorage([1, 2, 3])
torch.TypedStorage([1, 2, 3], dtype=torch.int32)
torch.BoolStorage([True, False])
isinstance(torch.ones(2).storage(), torch.FloatStorage), isinstance(torch.ones(2).storage(), torch.LongStorage)
torch.FloatStorage([1, 2]).fill_(3).tolist()
s = torch.FloatStorage([1, 2]); s[0] = 7; s.tolist()
s = torch.FloatStorage([1, 2]); s.resize_(3); s.size()
a = torch.FloatStorage([1, 2]); b = a.clone(); b[0] = 5; (a.tolist(), b.tolist())
a = torch.arange(3.); a.storage()[1] = 9; a
a = torch.arange(4.); a[1:].data_ptr() - a.untyped_storage().data_ptr()
a = torch.arange(4.); a.untyped_storage().data_ptr() == a[2:].untyped_storage().data_ptr()
s = torch.FloatStorage([1, 2, 3]); s[1] = 5; torch.tensor([]).set_(s)
torch.FloatTensor(torch.FloatStorage([1, 2, 3]))
torch.LongTensor(torch.FloatStorage([1, 2, 3]))
a = torch.ones(4); torch.empty(0).set_(a.untyped_storage(), 1, (2,), (1,))
a = torch.ones(4); torch.empty(0, dtype=torch.int32).set_(a.untyped_storage(), 1, (2,), (1,))
a = torch.ones(4); torch.empty(0).set_(a.storage(), 1, (2,))
a = torch.arange(4.); b = torch.empty(0).set_(a); b[0] = 9; a
a = torch.arange(4.); b = torch.empty(0).set_(a, 1, (3,), (1,)); b[0] = 9; a
torch.arange(4.).set_().shape
torch.empty(0).set_(torch.arange(4))
torch.empty(0).set_(3)
torch.ones(3, requires_grad=True).resize_(4)
torch.ones(3).resize_(2, 2).shape
torch.arange(6.).resize_(2, 2)
torch.arange(6.).resize_((2, 2), memory_format=torch.channels_last)
torch.arange(6.).resize_((1, 2, 3, 1), memory_format=torch.channels_last)
torch.arange(6.).resize_(-1)
torch.arange(6.).view(2, 3).t().resize_(2, 2)
torch.arange(6.).view(2, 3).t().resize_(3, 2)
torch.arange(6.).resize_as_(torch.ones(2, 2))
torch.resize_as_(torch.arange(6.), torch.ones(2, 2))
torch.arange(6.).resize(2, 2)
torch.arange(6.).resize(2, 3)
a = torch.arange(6.); a.resize_(2); a.resize_(4)
a = torch.arange(6.); b = a[:2]; a.resize_(7); a.resize_(7); (a._version, b._version)
torch.arange(6.).apply_(lambda x: x * 2)
torch.arange(6., requires_grad=True).apply_(lambda x: x * 2)
torch.arange(6).apply_(lambda x: x * 2.5)
torch.arange(3.).map_(torch.ones(3), lambda x, y: x + y)
torch.arange(3.).map_(torch.ones(3, dtype=torch.int64), lambda x, y: x + y)
torch.arange(3.).map_(torch.ones(1), lambda x, y: x + y)
torch.ones(2).share_memory_().is_shared()
"""


@pytest.mark.oracle
@pytest.mark.parametrize("code", STORAGES.strip().splitlines())
def test_agrees_with_torch(code):
    check_code(code)


# ---- without torch


def test_aliases_have_one_storage():
    t = flambeau.arange(4.0)
    assert t.untyped_storage() == t[1:].untyped_storage() == t.detach().untyped_storage()
    assert t.untyped_storage() != t.clone().untyped_storage()


def test_set_looks_at_other_memory():
    source = flambeau.arange(6.0)
    t = flambeau.empty(0).set_(source.untyped_storage(), 1, (2, 2), (2, 1))
    t[0, 0] = 9
    assert t.tolist() == [[9, 2], [3, 4]] and source[1].item() == 9 and t.storage_offset() == 1


def test_set_beyond_the_storage_is_refused():
    with pytest.raises(RuntimeError, match="need 20 bytes, but the storage has 16"):
        flambeau.empty(0).set_(flambeau.arange(4.0).untyped_storage(), 2, (3,), (1,))


def test_resize_keeps_the_elements_in_front():
    t = flambeau.arange(6.0)
    assert t.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert t.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert t.resize_(8).tolist()[:6] == [0, 1, 2, 3, 4, 5]


def test_typed_storage_warns_once():
    _warn.forget()
    with pytest.warns(UserWarning, match="untyped_storage"):
        flambeau.ones(1).storage()
    flambeau.ones(1).storage()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_forked_processes_share_memory():
    t = flambeau.zeros(2).share_memory_()
    process = multiprocessing.get_context("fork").Process(target=t.fill_, args=(3,))
    process.start()
    process.join()
    assert t.tolist() == [3, 3]
