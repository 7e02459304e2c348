"""Storages: the memory of tensors; set_, resize_ and elementwise access."""

import multiprocessing
import sys

import pytest

import flambeau
from _oracle import check_code
from flambeau.functions import _warn

STORAGES = """
torch.UntypedStorage()
torch.UntypedStorage(3).nbytes()
torch.UntypedStorage([1,2,3])
torch.UntypedStorage([1,2,300])
torch.UntypedStorage([1,2,-1])
torch.UntypedStorage(3, device="cpu").device
torch.UntypedStorage(3, device="meta").device
torch.UntypedStorage(-1)
torch.UntypedStorage(2.5)
torch.UntypedStorage("a")
torch.UntypedStorage(3, dtype=torch.float32)
s=torch.UntypedStorage([1,2,3,4]); s[1:3]
s=torch.UntypedStorage([1,2,3,4]); s[1:3].data_ptr()==s.data_ptr()+1
s=torch.UntypedStorage([1,2,3,4]); v=s[1:3]; v[0]=9; s
s=torch.UntypedStorage([1,2,3,4]); s[::2]
s=torch.UntypedStorage([1,2,3,4]); s[-1]
s=torch.UntypedStorage([1,2,3,4]); s[4]
s=torch.UntypedStorage([1,2,3,4]); s[-5]
s=torch.UntypedStorage([1,2,3,4]); s[1.5]
s=torch.UntypedStorage([1,2,3,4]); s['a']
s=torch.UntypedStorage([1,2,3,4]); s[1]=300; s
s=torch.UntypedStorage([1,2,3,4]); s[1]=-1; s
s=torch.UntypedStorage([1,2,3,4]); s[1]=2.5; s
s=torch.UntypedStorage([1,2,3,4]); s[1:3]=7; s
s=torch.UntypedStorage([1,2,3,4]); s[1:3]=[7,8]; s
s=torch.UntypedStorage([1,2,3,4]); s[9]=7; s
s=torch.UntypedStorage([1,2,3,4]); s[0:9]=7; s
s=torch.UntypedStorage([1,2,3,4]); s[-1]=7; s
s=torch.UntypedStorage([1,2,3,4]); s.fill_(300)
s=torch.UntypedStorage([1,2,3,4]); s.fill_(2.5)
s=torch.UntypedStorage([1,2,3,4]); s.fill_(5) is s
s=torch.UntypedStorage([1,2,3,4]); s.copy_(torch.UntypedStorage([4,3,2,1]))
s=torch.UntypedStorage([1,2,3,4]); s.copy_(torch.UntypedStorage([4,3,2]))
s=torch.UntypedStorage([1,2,3,4]); s.copy_([1,2,3,4])
s=torch.UntypedStorage([1,2,3,4]); s.resize_(2)
s=torch.UntypedStorage([1,2,3,4]); s.resize_(6)[:4]
s=torch.UntypedStorage([1,2,3,4]); s.resize_(2.5)
s=torch.UntypedStorage([1,2,3,4]); s.resize_(-1)
s=torch.UntypedStorage([1,2,3,4]); s.tolist()
s=torch.UntypedStorage([1,2,3,4]); list(s)
s=torch.UntypedStorage([1,2,3,4]); s.clone().data_ptr()==s.data_ptr()
s=torch.UntypedStorage([1,2,3,4]); s.cpu() is s
s=torch.UntypedStorage([1,2,3,4]); s.is_shared(), s.is_pinned(), s.is_cuda, s.is_sparse, s.is_hpu, s.is_sparse_csr
s=torch.UntypedStorage([1,2,3,4]); s.type()
s=torch.UntypedStorage([1,2,3,4]); s.float()
s=torch.UntypedStorage([1,2,3,4]); s.double().dtype
s=torch.UntypedStorage([1,2,3,4]); s.bool()
s=torch.UntypedStorage([1,2,3,4]); s.byte()
s=torch.UntypedStorage([1,2,3,4]); s.get_device()
s=torch.UntypedStorage([1,2,3,4]); s.new()
s=torch.UntypedStorage([1,2,3,4]); s.to(device="cpu") is s
s=torch.UntypedStorage([1,2,3,4]); s.untyped() is s
s=torch.UntypedStorage([1,2,3,4]); s.filename
s=torch.UntypedStorage([1,2,3,4]); s.resizable()
s=torch.UntypedStorage([1,2,3,4]); s.byteswap(torch.int16); s
s=torch.UntypedStorage([1,2,3,4]); s == torch.UntypedStorage([1,2,3,4])
s=torch.UntypedStorage([1,2,3,4]); s == s, s != s
s=torch.UntypedStorage([1,2,3,4]); s < s
s=torch.UntypedStorage([1,2,3,4]); hash(s)==hash(s)
s=torch.UntypedStorage([1,2,3,4]); s.bogus
x=torch.arange(3.); x.untyped_storage() == x.untyped_storage()
x=torch.arange(3.); hash(x.untyped_storage())==hash(x[1:].untyped_storage())
x=torch.arange(3.); x.untyped_storage()._cdata == x[1:].untyped_storage()._cdata
import copy; s=torch.UntypedStorage([1,2,3,4]); copy.copy(s)
import copy; s=torch.UntypedStorage([1,2,3,4]); copy.deepcopy(s)
import copy; s=torch.UntypedStorage([1,2,3,4]); d=copy.deepcopy([s,s]); d[0].data_ptr()==d[1].data_ptr()
torch.UntypedStorage._new_shared(4).is_shared()
torch.UntypedStorage._new_shared(4).nbytes()
torch.UntypedStorage._new_shared(4, device="cpu").device
s=torch.UntypedStorage([1,2,3,4]); s.share_memory_().is_shared()
s=torch.UntypedStorage([1,2,3,4]); s.share_memory_() is s
s=torch.UntypedStorage([1,2,3,4]); s._share_memory_lock_protected
s=torch.UntypedStorage(8); torch.tensor([], dtype=torch.float32).set_(s).shape
x=torch.zeros(4); s=x.untyped_storage(); s[3]=64; x[0]
x=torch.zeros(4); s=x.untyped_storage(); s.fill_(1); x.view(torch.int32)[0]
x=torch.zeros(4); s=x.untyped_storage(); s.resize_(0); s.nbytes(), x.shape
x=torch.zeros(4); x.untyped_storage().device, x.untyped_storage().is_cuda
torch.UntypedStorage.from_buffer(b"abcd", dtype=torch.uint8)
torch.UntypedStorage.from_buffer(bytearray([1,2,3,4]), "little", dtype=torch.int16)
torch.TypedStorage()
torch.TypedStorage(3).size()
torch.TypedStorage([1,2,3])
torch.TypedStorage([1,2,3], dtype=torch.int64)
torch.TypedStorage([1.5,2], dtype=torch.int32)
torch.TypedStorage(2, device="meta")
torch.TypedStorage(2, dtype="x")
torch.TypedStorage(1,2)
torch.TypedStorage(wrap_storage=torch.UntypedStorage(8))
torch.TypedStorage(wrap_storage=torch.UntypedStorage(8), dtype=torch.float32).size()
torch.TypedStorage(wrap_storage=[1], dtype=torch.float32)
torch.TypedStorage(3, wrap_storage=torch.UntypedStorage(8), dtype=torch.float32)
torch.TypedStorage(wrap_storage=torch.UntypedStorage(8), dtype=torch.float32, device="cpu")
torch.TypedStorage(wrap_storage=torch.FloatStorage(2), dtype=torch.float32)
s=torch.FloatStorage([1,2,3]); s
s=torch.FloatStorage([1,2,3]); s[1]
s=torch.FloatStorage([1,2,3]); s[-1]
s=torch.FloatStorage([1,2,3]); s[3]
s=torch.FloatStorage([1,2,3]); s[-4]
s=torch.FloatStorage([1,2,3]); s[0:2]
s=torch.FloatStorage([1,2,3]); s[1.0]
s=torch.FloatStorage([1,2,3]); s['a']
s=torch.FloatStorage([1,2,3]); s[1]=5; s
s=torch.FloatStorage([1,2,3]); s[0:2]=5; s
s=torch.FloatStorage([1,2,3]); s[0:2]=[5,6]; s
s=torch.FloatStorage([1,2,3]); s[5]=5; s
s=torch.FloatStorage([1,2,3]); s['a']=5; s
s=torch.FloatStorage([1,2,3]); s[1]='a'; s
s=torch.LongStorage([1,2,3]); s[1]=2.7; s
s=torch.BoolStorage([True,False]); s[0], s
s=torch.ComplexFloatStorage([1+2j,3]); s
s=torch.HalfStorage([1.5,3]); s
s=torch.BFloat16Storage([1.5,3]); s
s=torch.FloatStorage([1,2,3]); s.fill_(4)
s=torch.FloatStorage([1,2,3]); s.fill_('a')
s=torch.FloatStorage([1,2,3]); s.copy_(torch.FloatStorage([3,2,1]))
s=torch.FloatStorage([1,2,3]); s.copy_(torch.DoubleStorage([3,2,1]))
s=torch.FloatStorage([1,2,3]); s.copy_(torch.FloatStorage([3,2]))
s=torch.FloatStorage([1,2,3]); s.resize_(2)
s=torch.FloatStorage([1,2,3]); s.resize_(5).size()
s=torch.FloatStorage([1,2,3]); s.type()
s=torch.FloatStorage([1.5,2,3]); s.double()
s=torch.FloatStorage([1.5,2,3]); s.float() is s
s=torch.FloatStorage([1.5,2,3]); s.half()
s=torch.FloatStorage([1.5,2,3]); s.bfloat16()
s=torch.FloatStorage([1.5,2,3]); s.long()
s=torch.FloatStorage([1.5,2,3]); s.int()
s=torch.FloatStorage([1.5,2,3]); s.short()
s=torch.FloatStorage([1.5,2,3]); s.char()
s=torch.FloatStorage([1.5,2,3]); s.byte()
s=torch.FloatStorage([1.5,0,3]); s.bool()
s=torch.FloatStorage([1.5,0,3]); s.complex_float()
s=torch.FloatStorage([1.5,0,3]); s.complex_double()
s=torch.FloatStorage([1.5,0,3]); s.tolist()
s=torch.FloatStorage([1.5,0,3]); list(s)
s=torch.FloatStorage([1.5,0,3]); s.clone()
s=torch.FloatStorage([1.5,0,3]); s.cpu() is s
s=torch.FloatStorage([1.5,0,3]); s.untyped().nbytes()
s=torch.FloatStorage([1.5,0,3]); s.is_shared(), s.is_pinned(), s.is_cuda, s.is_sparse
s=torch.FloatStorage([1.5,0,3]); s.share_memory_().is_shared()
s=torch.FloatStorage([1.5,0,3]); s.get_device()
s=torch.FloatStorage([1.5,0,3]); s.pickle_storage_type()
s=torch.FloatStorage([1.5,0,3]); s.is_resizable() if hasattr(s,'is_resizable') else s.resizable()
s=torch.FloatStorage([1.5,0,3]); s == s
s=torch.FloatStorage([1.5,0,3]); s == torch.FloatStorage([1.5,0,3])
s=torch.FloatStorage([1.5,0,3]); hash(s) == hash(s)
s=torch.FloatStorage([1.5,0,3]); isinstance(s, torch.FloatStorage), isinstance(s, torch.TypedStorage), isinstance(s, torch.LongStorage), type(s).__name__
s=torch.FloatStorage([1.5,0,3]); s.data_ptr() == s.untyped().data_ptr()
s=torch.FloatStorage([1.5,0,3]); s.to(device='cpu')
s=torch.FloatStorage([1.5,0,3]); s.filename
s=torch.FloatStorage([1.5,0,3]); s.bogus
import copy; s=torch.FloatStorage([1.5,0,3]); copy.copy(s)
import copy; s=torch.FloatStorage([1.5,0,3]); copy.deepcopy(s)
torch.FloatStorage(2, dtype=torch.float64)
torch.FloatStorage(2, dtype=torch.float32)
torch.FloatStorage(2, device='cpu').device
torch.FloatStorage(2, device='meta').device
torch.FloatStorage('a')
torch.FloatStorage(1,2)
torch.FloatStorage(wrap_storage=torch.UntypedStorage(8)).size()
torch.FloatStorage(wrap_storage=torch.UntypedStorage(7)).size()
torch.FloatStorage._new_shared(4).size()
torch.TypedStorage.from_buffer(b"abcd", dtype=torch.uint8)
torch.FloatStorage.from_buffer(b"abcdefgh", "little").size()
torch.ByteStorage.from_buffer(bytearray([1,2]))
torch.FloatStorage.from_buffer(b"abc", "native")
torch.FloatStorage.from_buffer(b"abcd")
torch.is_storage(torch.FloatStorage(1)), torch.is_storage(torch.UntypedStorage(1)), torch.is_storage(3)
x=torch.arange(4.); x.storage().size(), x[1:].storage().size(), x.storage()[1]
x=torch.arange(4.); s=x.storage(); s[0]=9; x
x=torch.arange(4.); s=x.storage(); s.fill_(2); x
x=torch.arange(4); x.storage().dtype, x.storage().type()
x=torch.arange(4.); x.storage().data_ptr()==x.data_ptr()
x=torch.arange(4.); x.storage_type()
x=torch.arange(4.); torch.FloatTensor(x.storage())
x=torch.arange(4.); torch.FloatTensor(x.storage()).data_ptr()==x.data_ptr()
x=torch.arange(4.); torch.tensor(x.storage())
x=torch.arange(4.); torch.tensor([]).set_(x.storage())
x=torch.arange(4.); torch.tensor([]).set_(x.storage(), 1, (3,))
x=torch.arange(4.); torch.tensor([]).set_(x.untyped_storage(), 1, (3,), (1,))
x=torch.arange(4.); torch.tensor([]).set_(torch.LongStorage(3))
x=torch.zeros(3, device='meta'); x.untyped_storage().nbytes(), x.untyped_storage().data_ptr()
x=torch.zeros(3, device='meta'); x.untyped_storage()[0]
x=torch.zeros(3, device='meta'); x.untyped_storage().tolist()
x=torch.zeros(3, device='meta'); x.untyped_storage()
x=torch.zeros(3, device='meta'); x.untyped_storage().fill_(1)
x=torch.zeros(3, device='meta'); x.storage()[0]
x=torch.zeros(3, device='meta'); x.storage()
x=torch.zeros(3, device='meta'); x.untyped_storage().clone().nbytes()
x=torch.zeros(3, device='meta'); x.untyped_storage().resize_(24).nbytes()
bytes(torch.UntypedStorage([1,2,3]))
s=torch.FloatStorage([1,2,3]); s._untyped_storage.nbytes()
torch.storage.UntypedStorage is torch.UntypedStorage, torch.storage.TypedStorage is torch.TypedStorage
s=torch.UntypedStorage([1,2,3]); 2 in s
s=torch.UntypedStorage([1,2,3]); s.nbytes() and bool(s)
s=torch.UntypedStorage(0); bool(s)
s=torch.UntypedStorage([1,2,3]); s.new().nbytes()
s=torch.UntypedStorage([1,2,3]); str(s)
s=torch.UntypedStorage([1,2,3]); s.long()
s=torch.UntypedStorage([1,2,3]); s.complex_double().size()
s=torch.UntypedStorage([1,2,3]); s.half()
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


GROWTH = [  # programs in which one of several tensors leaves their memory
    "x.resize_(9)", "v.resize_(9)", "e.resize_(2)", "e.detach().resize_(2)", "x.untyped_storage().resize_(0)", "x.untyped_storage().resize_(80)",
    "x.storage().resize_(9)", "x.share_memory_()", "v.share_memory_()", "x.untyped_storage().share_memory_()", "x.data = torch.ones(9)", "x.set_()",
    "x.resize_(0); x.resize_(9)", "x.resize_(2); x.resize_(9); v.resize_(7)",
    *[f"torch.neg(torch.ones({n}), out={out})" for n in (2, 9) for out in ("x", "v", "e")],
]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized", "ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("code", GROWTH)
def test_storages_match_the_memory_of_tensors(code):
    x = flambeau.arange(6.0)
    tensors = {"x": x, "v": x[2:5], "e": x[6:], "other": x.view(2, 3)}
    exec(code, {"torch": flambeau, **tensors})
    for name, t in tensors.items():
        storage, place = t.untyped_storage(), t.storage_offset() * t.itemsize
        assert t.numel() == 0 or t.data_ptr() == storage.data_ptr() + place, name
        assert 0 <= place <= place + t.numel() * t.itemsize <= storage.nbytes(), name
    assert tensors["other"].tolist()[0][:2] in ([0, 1], [-1, -1])


def test_a_view_whose_base_has_moved_is_not_written_to():
    x = flambeau.zeros(4)
    view = x[:2]
    x.resize_(8)
    with pytest.raises(RuntimeError, match="its base has moved to other memory"):
        view.mul_(flambeau.ones(2, requires_grad=True))
    assert view.add_(1).tolist() == [1, 1]


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


def test_a_file_as_memory(tmp_path):
    path = tmp_path / "elements"
    written = flambeau.FloatStorage.from_file(path, True, 3)
    written[1] = 2.5
    assert written.is_shared() and path.stat().st_size == 12
    private = flambeau.UntypedStorage.from_file(path, False, 12)
    private.fill_(0)
    again = flambeau.FloatStorage.from_file(path, True, 3)
    assert again.tolist() == [0, 2.5, 0] and not private.is_shared()
    assert flambeau.empty(0).set_(again)[1].item() == 2.5


@pytest.mark.parametrize("order, value", [("little", 513), ("big", 258)])
def test_the_byte_order_of_a_buffer(order, value):
    storage = flambeau.ShortStorage.from_buffer(bytes([0, 1, 2]), order, offset=1)
    assert storage.tolist() == [value]
    storage.untyped().byteswap(flambeau.int16)
    assert storage.tolist() == [771 - value]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("storage", [flambeau.UntypedStorage._new_shared(2), flambeau.UntypedStorage(2).share_memory_()])
def test_forked_processes_share_storages(storage):
    process = multiprocessing.get_context("fork").Process(target=storage.fill_, args=(3,))
    process.start()
    process.join()
    assert storage.tolist() == [3, 3]
