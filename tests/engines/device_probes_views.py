"""Foot-guns of views, writes, aliases and copies on a device."""

import copy
import gc
import io
import pickle

import numpy as np

from engines.device_probes import arange, error_of, probe

# ---- views, writes and aliases


@probe
def a_move_to_the_same_device_is_the_tensor(torch, device):
    x = arange(torch, device, 2, 3)
    same, copied = x.to(device), x.to(device, copy=True)
    x[0] = 9
    return same is x, same, copied


@probe
def a_move_between_devices_is_a_copy(torch, device):
    x = torch.arange(3.0)
    y = x.to(torch.device(device), copy=True)
    x.fill_(7)
    y.add_(1)
    back = y.cpu().clone()
    y.zero_()
    return x, y, back


@probe
def a_cast_to_the_same_dtype_is_the_tensor(torch, device):
    x = arange(torch, device, 3)
    other = x.to(torch.float64).float()
    same = x.float()
    x.neg_()
    return same, other, same is x


@probe
def views_of_views_of_pending_results(torch, device):
    x = arange(torch, device, 4, 6) * 2
    y = x.view(2, 2, 6)[1].t()[::2]
    y += 100
    z = x[2:].reshape(-1)[::5]
    z.mul_(-1)
    return x, y, z


@probe
def a_view_outlives_its_base(torch, device):
    x = arange(torch, device, 3, 3) + 1
    row = x[1]
    del x
    gc.collect()
    row *= 3
    return row, row._base.shape, row._base


@probe
def overlapping_windows_are_read_after_a_write(torch, device):
    x = arange(torch, device, 6)
    windows = x.unfold(0, 3, 1)
    before = windows.clone()
    x[2] = -1
    return before, windows, windows.sum(1)


@probe
def as_strided_writes_reach_all_that_share(torch, device):
    x = arange(torch, device, 8)
    diagonal = x.as_strided((2,), (5,), 1)
    other = x.view(2, 4)
    diagonal.fill_(50)
    return x, other, diagonal


@probe
def an_expanded_tensor_follows_its_base(torch, device):
    x = arange(torch, device, 3, 1)
    wide = x.expand(3, 4)
    x += 1
    return wide, error_of(lambda: wide.add_(1))


@probe
def a_detached_tensor_shares(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    y = x.detach()
    y[0] = 10
    z = x.data
    z.mul_(2)
    return x, y, z, x._version, y._version


@probe
def set_data_leaves_old_views_behind(torch, device):
    x = arange(torch, device, 4)
    view = x[1:]
    x.data = torch.full((4,), 8.0).to(device)
    view += 1
    x[0] = 3
    return x, view


@probe
def swapped_elements(torch, device):
    x = arange(torch, device, 4)
    x[0], x[3] = x[3].clone(), x[0].clone()
    a, b = x[1], x[2]
    x[1], x[2] = b, a  # views: the second sees what the first has written
    return x


@probe
def a_write_from_an_overlapping_view(torch, device):
    x = arange(torch, device, 6)
    x[:3].copy_(x[3:])
    y = arange(torch, device, 2, 2)
    y.copy_(y.t().clone())
    return x, y


@probe
def in_place_chains_with_old_copies(torch, device):
    x, olds = arange(torch, device, 3), []
    for i in range(4):
        olds.append(x * 1)
        olds.append(x.clone())
        x.add_(i).mul_(2)
    return x, *olds


@probe
def indices_that_are_changed_after_use(torch, device):
    x, i = arange(torch, device, 5), torch.tensor([0, 2]).to(device)
    first = x[i]
    i += 1
    x[i] = -5
    i.zero_()
    return first, x, x[i]


@probe
def masks_that_are_changed_after_use(torch, device):
    x = arange(torch, device, 5)
    mask = x > 2
    y = torch.where(mask, x, -x)
    x.masked_fill_(mask, 100.0)
    mask.logical_not_()
    x[mask] = 7
    return x, y, mask


@probe
def accumulating_index_puts(torch, device):
    x, i = torch.zeros(4, device=device), torch.tensor([1, 1, 3], device=device)
    x.index_put_((i,), torch.tensor([1.0, 2.0, 4.0], device=device), accumulate=True)
    x.index_add_(0, i, torch.ones(3, device=device), alpha=0.5)
    x.scatter_add_(0, i, torch.ones(3, device=device))
    return x


@probe
def numbers_of_python_are_read_when_they_are_used(torch, device):
    x, scale, shift = torch.ones(3, device=device), [2.0], np.array([1.0, 2.0, 3.0], np.float32)
    y = x * scale[0]
    scale[0] = 5.0
    z = x + torch.from_numpy(shift).to(device)
    shift += 10
    w = torch.tensor(shift, device=device)
    shift -= 100
    return y, z, w


@probe
def lists_of_sizes_are_read_when_they_are_used(torch, device):
    shape, x = [2, 3], arange(torch, device, 6)
    y = x.view(shape)
    z = y.sum(dims := [0])
    shape[0], dims[0] = 6, 1
    return y, z


@probe
def copies_on_the_cpu_are_not_changed(torch, device):
    x = arange(torch, device, 3)
    host = x.cpu().clone().numpy()
    forced = x.numpy(force=True).copy()
    x += 1
    return host, forced, x.cpu().numpy() + 1, x.tolist()


@probe
def dlpack_shares_or_copies_but_is_never_stale(torch, device):
    x = arange(torch, device, 4) * 2
    y = torch.from_dlpack(x)
    y = y.clone()
    x.add_(1)
    return x, y, torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).clone()


@probe
def resizes_keep_elements(torch, device):
    x = arange(torch, device, 6) + 0
    x.resize_(2, 3)
    y = x[1]
    x.resize_(4)
    x.t_() if x.dim() == 2 else x.unsqueeze_(0)
    return x, y, x.squeeze_()


@probe
def split_and_chunk_write_through(torch, device):
    x = arange(torch, device, 6)
    a, b = x.split(3)
    a.zero_()
    parts = torch.unbind(x.view(3, 2))
    parts[2].fill_(1)
    torch._foreach_add_([b[:1]], 10)
    return x, a, b


@probe
def real_views_of_complex_numbers_write_through(torch, device):
    x = torch.zeros(2, dtype=torch.complex64, device=device)
    x.real.fill_(3)
    torch.view_as_real(x)[1, 1] = 4
    return torch.view_as_real(x), x.abs()


@probe
def bits_of_another_dtype(torch, device):
    x = torch.ones(2, device=device)
    bits = x.view(torch.int32)
    x.mul_(2)
    return bits, bits.view(torch.float32)


@probe
def versions_count_writes(torch, device):
    x = torch.zeros(3, device=device)
    v = x[1:]
    v.add_(1)
    x.zero_()
    with torch.no_grad():
        v.mul_(2)
    return x._version, v._version


@probe
def a_saved_tensor_that_was_written_to(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    y = x.exp()
    y.add_(1)
    return error_of(lambda: y.sum().backward())


@probe
def a_leaf_is_not_written_to(torch, device):
    x = arange(torch, device, 3).requires_grad_()
    return error_of(lambda: x.add_(1)), error_of(lambda: x[0].zero_()), x


@probe
def out_arguments_write_into_views(torch, device):
    x, out = arange(torch, device, 2, 3), torch.full((4, 3), -1.0).to(device)
    torch.mul(x, 2, out=out[1:3])
    torch.sum(x, 1, out=out[0, :2])
    return out


@probe
def out_arguments_that_are_inputs(torch, device):
    x = arange(torch, device, 3)
    y = x * 1
    torch.add(x, y, out=x)
    torch.mul(x, x, out=x)
    return x, y


@probe
def out_arguments_of_wrong_dtype(torch, device):
    x = torch.ones(3, device=device)
    ints = torch.zeros(3, dtype=torch.int64, device=device)
    return error_of(lambda: torch.mul(x, 2.5, out=ints)), ints, torch.add(ints, 1, out=x)


# ---- copies and files of what is pending


@probe
def deep_copies_of_pending_tensors(torch, device):
    x = arange(torch, device, 3) * 2
    y, (a, b) = copy.deepcopy(x), copy.deepcopy([x, x[1:]])
    x.zero_()
    b.fill_(9)
    return x, y, a, b


@probe
def pickles_of_pending_tensors(torch, device):
    x = arange(torch, device, 3) * 3
    data = pickle.dumps((x, x[1:]))
    x.zero_()
    return pickle.loads(data)


@probe
def a_state_dict_is_a_view_of_the_parameters(torch, device):
    model = torch.nn.Linear(2, 2).to(device)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
        model.bias.zero_()
    state, copied = model.state_dict(), copy.deepcopy(model.state_dict())
    file = io.BytesIO()
    torch.save(state, file)
    with torch.no_grad():
        model.weight.add_(1)
    file.seek(0)
    loaded = torch.load(file, map_location=device)
    return state["weight"], copied["weight"], loaded["weight"]


@probe
def a_best_state_that_was_not_copied(torch, device):
    model = torch.nn.Linear(2, 1).to(device)
    torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
    best, kept = model.state_dict(), {k: v.clone() for k, v in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(1, 2, device=device)).sum().backward()
        optimizer.step()
    result = best["weight"].clone(), kept["weight"]
    model.load_state_dict(kept)
    return *result, model.weight, best["weight"]


@probe
def an_optimizer_is_resumed(torch, device):
    def make():
        model = torch.nn.Linear(2, 1).to(device)
        torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
        return model, torch.optim.AdamW(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(torch.tensor([[1.0, -2.0]], device=device)).square().sum().backward()
        optimizer.step()

    model, optimizer = make()
    step(model, optimizer), step(model, optimizer)
    file = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict()], file)
    step(model, optimizer)
    other, again = make()
    file.seek(0)
    states = torch.load(file)
    other.load_state_dict(states[0])
    again.load_state_dict(states[1])
    step(other, again)
    return model.weight, other.weight, again.state[other.weight]["exp_avg"], again.state[other.weight]["step"]


@probe
def deep_copied_models_train_apart(torch, device):
    model = torch.nn.Linear(2, 1).to(device)
    torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
    model(torch.ones(1, 2, device=device)).sum().backward()
    twin = copy.deepcopy(model)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    with torch.no_grad():
        twin.bias.sub_(5)
    return model.weight, model.bias, twin.weight, twin.bias, twin.weight.grad


@probe
def moved_models_keep_their_parameters(torch, device):
    model = torch.nn.Linear(2, 1)
    torch.nn.init.ones_(model.weight)
    weight, before = model.weight, id(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.to(device)
    model(torch.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    return id(model.weight) == before, weight, model.cpu().weight is weight, weight.device.type


@probe
def moved_gradients_move_along(torch, device):
    model = torch.nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    model.to(device)
    return model.weight.grad, model.weight.grad.device == model.weight.device, model.double().weight.grad.dtype == torch.float64
