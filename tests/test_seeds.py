"""The programs of the five documents from which this library grew: they run, and print what the documents say.

Each document is a list of blocks, run one after the other in one namespace with ``torch`` being flambeau. A block has
the text that the document shows for it, with random numbers masked. Under the oracle the same blocks run on PyTorch
after the same seed, and must print the same, numbers included.

What is left out: the passages that quote PyTorch's own source (Linear, Conv2d, Sequential, the methods of Module), and
the last loop of document 004, which the document itself shows as a syntax error.

What PyTorch has changed since the documents were written, and prints otherwise now (``since`` says it of each block):

- tables of a Module are dicts, no longer OrderedDicts;
- the keys of a state dict come in the order of registration, as ``odict_keys([...])``;
- shapes print as ``torch.Size([20])`` (were ``(20L,)``), classes of tensors as ``torch.Tensor`` (``torch.FloatTensor``);
- parameters print ``requires_grad=True``, and numbers without a space before the first digit;
- a BatchNorm says ``bias=True``;
- nodes of the graph are called ``MmBackward0``, ``MseLossBackward0``.

What is adapted (``adapted`` says it of each block): no timm, torchvision and GPU here, code that is cut short in the
document (``..``) is completed, files go to a temporary folder, names that a document uses before it defines them are
defined.
"""

import contextlib
import io
import re
import sys
import textwrap
import warnings
from dataclasses import dataclass

import pytest

import flambeau


@dataclass
class Block:
    """A piece of code and what the document says it prints (None: it shows a picture, or nothing)."""

    code: str
    says: str | None = None
    since: str = ""
    adapted: str = ""


CONV = "Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))"

SEED_000 = [
    Block("""
        import torch.nn as nn
        import torch.nn.functional as F

        class Model(nn.Module):
            def __init__(self):
                super(Model, self).__init__()
                self.conv1 = nn.Conv2d(1, 20, 5)
                self.conv2 = nn.Conv2d(20, 20, 5)

            def forward(self, x):
                x = F.relu(self.conv1(x))
                return F.relu(self.conv2(x))
        """),
    Block("""
        import torch.nn as nn

        class Model(nn.Module):
            def __init__(self):
                super(Model, self).__init__()
                self.conv1 = nn.Conv2d(1, 20, 5)
                self.add_module("conv2", nn.Conv2d(1, 20, 5))

        model = Model()
        print(model)
        """, f"""
        Model(
          (conv1): {CONV}
          (conv2): {CONV}
        )
        """),
    Block("print(model.conv1)", CONV),
    Block("""
        for i in model.children():
            print(i)
        """, f"{CONV}\n{CONV}"),
    Block("""
        for name, module in model.named_children():
            print(name,module)
        """, f"conv1 {CONV}\nconv2 {CONV}"),
    Block("""
        import torch

        net = nn.Sequential(nn.Linear(2, 2),
                            nn.Linear(2, 2),
                            nn.ReLU(),
                            nn.Sequential(nn.Linear(2, 2),
                                            nn.ReLU())
                            )
        for module in net.modules():
            print(module)
        """),
    Block("""
        class GaussianModel(nn.Module):

            def __init__(self):
                super(GaussianModel, self).__init__()

                self.register_parameter('mean', nn.Parameter(torch.zeros(1),
                                                             requires_grad=True))

                self.pdf = torch.distributions.Normal(self.state_dict()['mean'],
                                                      torch.tensor([1.0]))
            def forward(self, x):
                return -self.pdf.log_prob(x)

        model = GaussianModel()
        for name, param in model.named_parameters():
            print(name,param.size())
        """, "mean torch.Size([1])"),
    Block("""
        for name, module in model.named_modules():
            print(name, module)
        """, " GaussianModel()"),
    Block("""
        for param in model.parameters():
            print(type(param), param.size())
        """),
    Block("""
        for name, param in net.named_parameters():
            print(name,param.size())
        """, """
        0.weight torch.Size([2, 2])
        0.bias torch.Size([2])
        1.weight torch.Size([2, 2])
        1.bias torch.Size([2])
        3.0.weight torch.Size([2, 2])
        3.0.bias torch.Size([2])
        """),
    Block("print(net.get_parameter('1.weight'))", """
        Parameter containing:
        tensor([[#, #],
                [#, #]], requires_grad=True)
        """),
    Block("""
        for name, buf in net.named_buffers():
            print(buf.size())
        """, ""),
    Block("""
        class BatchNorm(nn.Module):
            def __init__(self, num_features):
                super().__init__()
                self.register_buffer('running_mean',torch.zeros(num_features))
                self.register_buffer('running_variance',torch.ones(num_features))

        print(BatchNorm(3).get_buffer('running_variance'))
        """, "tensor([1., 1., 1.])", adapted="the document leaves the arguments and super().__init__() out"),
    Block("""
        @torch.no_grad()
        def init_weights(m):
            print(m)
            if type(m) == nn.Linear:
                m.weight.fill_(1.0)
                print(m.weight)
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2),nn.ReLU(),nn.Sequential(nn.Linear(2, 2),nn.ReLU()))
        net.apply(init_weights)
        """),
    Block("""
        optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
        EPOCH = 5
        PATH = folder + "/model.pt"
        LOSS = 0.4

        torch.save({
                    'epoch': EPOCH,
                    'model_state_dict': net.state_dict(),
                    'optimizer_state_dict': optimizer.state_dict(),
                    'loss': LOSS,
                    }, PATH)
        """, adapted="the optimizer is defined; the file goes to a temporary folder"),
    Block("""
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2),nn.ReLU(),nn.Sequential(nn.Linear(2, 2),nn.ReLU()))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)

        checkpoint = torch.load(PATH)
        model.load_state_dict(checkpoint['model_state_dict'])
        optimizer.load_state_dict(checkpoint['optimizer_state_dict'])
        epoch = checkpoint['epoch']
        loss = checkpoint['loss']

        model.eval()
        # - or -
        model.train()
        print(epoch, loss, all(torch.equal(a, b) for a, b in zip(model.parameters(), net.parameters())))
        """, "5 0.4 True", adapted="the document's Net is the net of the block before; the last line is ours"),
    Block("""
        x = torch.tensor([3.], requires_grad=True)
        y = torch.tensor([5.], requires_grad=True)

        a = x + y
        b = x * y
        c = a * b
        a_grad = []
        def hook_grad(grad):
            a_grad.append(grad)

        handle = a.register_hook(hook_grad)
        c.backward()

        print('gradient:', x.grad, y.grad, a.grad, b.grad, c.grad)
        print('a:', a_grad[0])
        handle.remove()
        """, """
        gradient: tensor([55.]) tensor([39.]) None None None
        a: tensor([15.])
        """),
    Block("""
        def print_shape(model, input, output):
            print(model)
            print(input[0].shape, '=>', output.shape)
            print('====================================')


        def get_children(model: nn.Module):
            children = list(model.children())
            flatt_children = []
            if children == []:
                return model
            else:
                for child in children:
                    try:
                        flatt_children.extend(get_children(child))
                    except TypeError:
                        flatt_children.append(get_children(child))
            return flatt_children

        model = nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
                          nn.ReLU(), nn.MaxPool2d(2)),
            nn.AdaptiveAvgPool2d((7, 7)), nn.Flatten(),
            nn.Sequential(nn.Linear(16 * 7 * 7, 32), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(32, 10)))
        flatt_children = get_children(model)
        for layer in flatt_children:
            layer.register_forward_hook(print_shape)

        batch_input = torch.randn(4,3,33,33)
        output = model(batch_input)
        """, adapted="a small VGG, written out, in the place of timm's"),
    Block("""
        class Net(nn.Module):
            def __init__(self):
                super(Net, self).__init__()
                self.conv1 = nn.Conv2d(1, 2, 3)
                self.pool1 = nn.MaxPool2d(2, 2)

            def forward(self, x):
                print("-- forward")
                print("input:",x)
                x = self.conv1(x)
                print("conv:",x)
                x = self.pool1(x)
                print("pool:",x)
                print("-- end of forward")
                return x

        def forward_pre_hook(module, data_input):
            print("-- forward_pre_hook")
            input_block.append(data_input)
            print("-- end of forward_pre_hook")

        net = Net()
        net.conv1.weight[0].detach().fill_(1)
        net.conv1.weight[1].detach().fill_(2)
        net.conv1.bias.data.detach().zero_()

        input_block = list()
        handle = net.conv1.register_forward_pre_hook(forward_pre_hook)

        fake_img = torch.ones((1, 1, 4, 4))  # batch size * channel * H * W
        output = net(fake_img)
        handle.remove()

        print("output shape: {}\\noutput value: {}\\n".format(output.shape, output))
        print(len(input_block), torch.equal(input_block[0][0], fake_img))
        """, """
        -- forward
        input: tensor([[[[1., 1., 1., 1.],
                  [1., 1., 1., 1.],
                  [1., 1., 1., 1.],
                  [1., 1., 1., 1.]]]])
        -- forward_pre_hook
        -- end of forward_pre_hook
        conv: tensor([[[[ 9., 9.],
                  [ 9., 9.]],
                 [[18., 18.],
                  [18., 18.]]]], grad_fn=<ConvolutionBackward0>)
        pool: tensor([[[[ 9.]],
                 [[18.]]]], grad_fn=<MaxPool2DWithIndicesBackward0>)
        -- end of forward
        output shape: torch.Size([1, 2, 1, 1])
        output value: tensor([[[[ 9.]],
                 [[18.]]]], grad_fn=<MaxPool2DWithIndicesBackward0>)
        1 True
        """, adapted="the document's output is a picture: this is what follows from its numbers"),
]

SHARED = """
    (0): Linear(in_features=2, out_features=2, bias=True)
    (1): Linear(in_features=2, out_features=2, bias=True)
"""

SEED_001 = [
    Block("""
        import torch
        from torch import nn, optim
        from collections import OrderedDict
        module = nn.Linear(3, 2)
        print(module.state_dict().keys())
        """, "odict_keys(['weight', 'bias'])", since="was ['bias', 'weight']", adapted="the module is defined"),
    Block("""
        l = nn.Linear(2, 2)
        net = nn.Sequential(l, l)
        for idx, m in enumerate(net.modules()):
            print(idx, '->', m)
        """, f"0 -> Sequential({SHARED})\n1 -> Linear(in_features=2, out_features=2, bias=True)"),
    Block("""
        l = nn.Linear(2, 2)
        net = nn.Sequential(l, l)
        for idx, m in enumerate(net.named_modules()):
            print(idx, '->', m)
        """, f"0 -> ('', Sequential({SHARED}))\n1 -> ('0', Linear(in_features=2, out_features=2, bias=True))"),
    Block("""
        model = nn.Conv2d(1, 20, 5)
        for param in model.parameters():
            print(type(param.data), param.size())
        """, """
        <class 'torch.Tensor'> torch.Size([20, 1, 5, 5])
        <class 'torch.Tensor'> torch.Size([20])
        """, since="was torch.FloatTensor, (20L,), and the bias first", adapted="the model is defined"),
    Block("""
        for name, param in model.named_parameters():
            if name in ['bias']:
                print(param.size())
        """, "torch.Size([20])", adapted="self is the model"),
    Block("""
        for name, buf in nn.BatchNorm2d(7).named_buffers():
            if name in ['running_var']:
                print(buf.size())
        """, "torch.Size([7])", adapted="self is a BatchNorm2d"),
    Block("""
        def init_weights(m):
            print(m)
            if type(m) == nn.Linear:
                m.weight.data.fill_(1.0)
                print(m.weight)
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        print(net.apply(init_weights))
        """, f"""
        Linear(in_features=2, out_features=2, bias=True)
        Parameter containing:
        tensor([[1., 1.],
                [1., 1.]], requires_grad=True)
        Linear(in_features=2, out_features=2, bias=True)
        Parameter containing:
        tensor([[1., 1.],
                [1., 1.]], requires_grad=True)
        Sequential({SHARED})
        Sequential({SHARED})
        """, since="tensors print as [1., 1.] (was [ 1., 1.]) and requires_grad=True"),
    Block("""
        linear = nn.Linear(2, 2)
        print(linear.weight)
        print(linear.to(torch.double))
        print(linear.weight)
        cpu0 = torch.device("cpu")
        print(linear.to(cpu0, dtype=torch.half, non_blocking=True))
        print(linear.weight)
        cpu = torch.device("cpu")
        print(linear.to(cpu))
        print(linear.weight)
        """, """
        Parameter containing:
        tensor([[#, #],
                [#, #]], requires_grad=True)
        Linear(in_features=2, out_features=2, bias=True)
        Parameter containing:
        tensor([[#, #],
                [#, #]], dtype=torch.float64, requires_grad=True)
        Linear(in_features=2, out_features=2, bias=True)
        Parameter containing:
        tensor([[#, #],
                [#, #]], dtype=torch.float16, requires_grad=True)
        Linear(in_features=2, out_features=2, bias=True)
        Parameter containing:
        tensor([[#, #],
                [#, #]], dtype=torch.float16, requires_grad=True)
        """, since="requires_grad=True is printed", adapted="cuda:1 is the CPU"),
    Block("""
        model = nn.Sequential(
            nn.Conv2d(1,20,5),
            nn.ReLU(),
            nn.Conv2d(20,64,5),
            nn.ReLU()
        )
        model = nn.Sequential(OrderedDict([
            ('conv1', nn.Conv2d(1,20,5)),
            ('relu1', nn.ReLU()),
            ('conv2', nn.Conv2d(20,64,5)),
            ('relu2', nn.ReLU())
        ]))
        print(model)
        print(model(torch.rand(1, 1, 9, 9)).shape)
        """, """
        Sequential(
          (conv1): Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))
          (relu1): ReLU()
          (conv2): Conv2d(20, 64, kernel_size=(5, 5), stride=(1, 1))
          (relu2): ReLU()
        )
        torch.Size([1, 64, 1, 1])
        """, adapted="the prints are ours"),
    Block("""
        class Lambda(nn.Module):
            def __init__(self, func):
                super().__init__()
                self.func = func
            def forward(self, x):
                return self.func(x)

        def preprocess(x):
            return x.view(-1, 1, 28, 28)

        model = nn.Sequential(
            Lambda(preprocess),
            nn.Conv2d(1, 16, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 10, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.AvgPool2d(4),
            Lambda(lambda x: x.view(x.size(0), -1)),
        )
        lr = 0.1
        opt = optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        out = model(torch.rand(2, 784))
        out.sum().backward()
        opt.step()
        print(out.shape)
        """, "torch.Size([2, 10])", adapted="indentation mended; one step is taken"),
    Block("""
        output = nn.Linear(5, 10)(torch.randn(1, 5))
        target = torch.randn(10)
        target = target.view(1, -1)
        criterion = nn.MSELoss()
        loss = criterion(output, target)
        print(loss)
        """, "tensor(#, grad_fn=<MseLossBackward0>)", since="was MseLossBackward", adapted="the net is a Linear"),
    Block("""
        class Net(nn.Module):
            def __init__(self, in_dim, n_hidden_1, n_hidden_2, out_dim):
                super().__init__()
                self.layer = nn.Sequential(
                    nn.Linear(in_dim, n_hidden_1),
                    nn.ReLU(True)
                     )
                self.layer2 = nn.Sequential(
                        nn.Linear(n_hidden_1, n_hidden_2),
                        nn.ReLU(True),
                    )
                self.layer3 = nn.Linear(n_hidden_2, out_dim)

            def forward(self, x):
                x = self.layer(x)
                x = self.layer2(x)
                x = self.layer3(x)
                return x

        net = Net(4, 3, 2, 1)
        print(len(list(net.modules())), len(list(net.children())), net(torch.ones(1, 4)).shape)
        """, "8 3 torch.Size([1, 1])", adapted="the document's forward says layer1; the last lines are ours"),
    Block("""
        bn = nn.BatchNorm1d(3)
        try:
            bn(torch.ones(1, 3))
        except ValueError as error:
            print("ValueError")
        print(bn.eval()(torch.ones(1, 3)).shape)
        """, "ValueError\ntorch.Size([1, 3])", adapted="the document says it in words: a batch of one, training and eval()"),
]

MODEL = """
Model(
  (conv1): Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))
  (conv2): Conv2d(20, 20, kernel_size=(5, 5), stride=(1, 1))
)
"""
CONVS = """
'conv1': Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1)),
'conv2': Conv2d(20, 20, kernel_size=(5, 5), stride=(1, 1))
"""
LAYERS = """
Sequential(
  (0): Conv2d(3, 3, kernel_size=(3, 3), stride=(1, 1))
  (1): BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
  (2): ReLU()
)
"""

SEED_002 = [
    Block("""
        import torch.nn as nn
        import torch as t
        import torch.nn.functional as F

        class Model(nn.Module):
            def __init__(self):
                super(Model, self).__init__()
                self.conv1 = nn.Conv2d(1, 20, 5)
                self.conv2 = nn.Conv2d(20, 20, 5)
                #self.p = nn.Parameter(t.randn(3,4))

            def forward(self, x):
                x = F.relu(self.conv1(x))
                return F.relu(self.conv2(x))
        a = Model()
        print(a.__dict__.get('_modules'))
        print(a.__dict__.get('_parameters'))
        """, f"{{{CONVS}}}\n{{}}", since="were OrderedDicts"),
    Block("""
        class WithParameter(Model):
            def __init__(self):
                super(WithParameter, self).__init__()
                self.p = nn.Parameter(t.randn(3,4))
        print(WithParameter().__dict__.get('_parameters'))
        """, """
        {'p': Parameter containing:
        tensor([[#, #, #, #],
                [#, #, #, #],
                [#, #, #, #]], requires_grad=True)}
        """, since="was an OrderedDict", adapted="the line that is commented out before, in a subclass"),
    Block("""
        print([list(p.shape) for p in a.parameters()])
        for name, data in a.named_parameters():
            print(name)
        optimizer = t.optim.SGD(a.parameters(), lr=0.1)
        """, """
        [[20, 1, 5, 5], [20], [20, 20, 5, 5], [20]]
        conv1.weight
        conv1.bias
        conv2.weight
        conv2.bias
        """, adapted="shapes and names in the place of all the numbers"),
    Block("print(list(a.conv1._parameters), a.conv1._parameters is a.conv1.__dict__['_parameters'])", "['weight', 'bias'] True",
          adapted="the keys in the place of all the numbers"),
    Block("print(list(a.named_modules()))", f"""
        [('', {MODEL}),
         ('conv1', Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))),
         ('conv2', Conv2d(20, 20, kernel_size=(5, 5), stride=(1, 1)))]
        """),
    Block("print(a)", MODEL),
    Block("print(a.conv1)", "Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))"),
    Block("""
        class Net(nn.Module):
            def __init__(self):
                super(Net, self).__init__()
                self.layers = nn.Sequential(
                            nn.Conv2d(3,3,3),
                            nn.BatchNorm2d(3),
                            nn.ReLU())
        a = Net()
        print(list(a.modules()))
        """, f"""
        [Net(
          (layers): {LAYERS}
        ), {LAYERS}, Conv2d(3, 3, kernel_size=(3, 3), stride=(1, 1)),
            BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True),
            ReLU()]
        """, since="BatchNorm2d says bias=True too"),
    Block("""
        a = t.rand(3,4, requires_grad=True)
        print(a.grad_fn)  # None
        b = t.randn(4,3)
        c = a.matmul(b)
        print(c.grad_fn.name())
        e = c.sum()
        print(e.grad_fn.name())
        e.backward()
        print(a.grad)
        print(a.data)
        print(c.grad)
        """, """
        None
        MmBackward0
        SumBackward0
        tensor([[#, #, #, #],
                [#, #, #, #],
                [#, #, #, #]])
        tensor([[#, #, #, #],
                [#, #, #, #],
                [#, #, #, #]])
        None
        """, since="was MmBackward", adapted="names without addresses; d, which is not defined, is c"),
]

SEED_003 = [
    Block("""
        import os
        import torch
        from torch import nn

        class NeuralNetwork(nn.Module):
            def __init__(self):
                super().__init__()
                self.flatten = nn.Flatten()
                self.linear_relu_stack = nn.Sequential(
                    nn.Linear(28*28, 512),
                    nn.ReLU(),
                    nn.Linear(512, 512),
                    nn.ReLU(),
                    nn.Linear(512, 10),
                )

            def forward(self, x):
                x = self.flatten(x)
                logits = self.linear_relu_stack(x)
                return logits
        """, adapted="without the imports of torchvision and DataLoader, which it does not use"),
    Block("""
        device = "cpu"
        model = NeuralNetwork().to(device)
        print(model)
        """, adapted="the device is the CPU"),
    Block("""
        X = torch.rand(1, 28, 28, device=device)
        logits = model(X)
        pred_probab = nn.Softmax(dim=1)(logits)
        y_pred = pred_probab.argmax(1)
        print(f"Predicted class: {y_pred}")
        """),
    Block("""
        input_image = torch.rand(3,28,28)
        print(input_image.size())

        flatten = nn.Flatten()
        flat_image = flatten(input_image)
        print(flat_image.size())

        layer1 = nn.Linear(in_features=28*28, out_features=20)
        hidden1 = layer1(flat_image)
        print(hidden1.size())

        print(f"Before ReLU: {hidden1}\\n\\n")
        hidden1 = nn.ReLU()(hidden1)
        print(f"After ReLU: {hidden1}")
        """),
    Block("""
        seq_modules = nn.Sequential(
            flatten,
            layer1,
            nn.ReLU(),
            nn.Linear(20, 10)
        )
        input_image = torch.rand(3,28,28)
        logits = seq_modules(input_image)
        print(logits)
        seq_modules.append(nn.ReLU())
        print(seq_modules[0], len(seq_modules))
        """, adapted="the prints are ours: the document names append, [0] and len in words"),
    Block("""
        modules = nn.ModuleList([flatten, layer1])
        try:
            modules(input_image)
        except NotImplementedError:
            print("a ModuleList has no forward")
        x = input_image
        for module in modules:
            x = module(x)
        print(x.shape)
        """, "a ModuleList has no forward\ntorch.Size([3, 20])", adapted="the document says it in words"),
    Block("""
        print(f"Model structure: {model}\\n\\n")

        for name, param in model.named_parameters():
            print(f"Layer: {name} | Size: {param.size()} | Values : {param[:2]} \\n")
        """),
    Block("""
        class TinyModel(torch.nn.Module):
            def __init__(self):
                super(TinyModel, self).__init__()

                self.linear1 = torch.nn.Linear(100, 200)
                self.activation = torch.nn.ReLU()
                self.linear2 = torch.nn.Linear(200, 10)
                self.softmax = torch.nn.Softmax()
            def forward(self, x):
                x = self.linear1(x)
                x = self.activation(x)
                x = self.linear2(x)
                x = self.softmax(x)
                return x
        tinymodel = TinyModel()
        print('The model:')
        print(tinymodel)
        print('\\n\\nJust one layer:')
        print(tinymodel.linear2)
        print('\\n\\nModel params:')
        for param in tinymodel.parameters():
            print(param)

        print('\\n\\nLayer params:')
        for param in tinymodel.linear2.parameters():
            print(param)
        """),
    Block("""
        tinymodel.linear1.weight.requires_grad = False
        print([p.requires_grad for p in tinymodel.parameters()])
        """, "[False, True, True, True]", adapted="fc1 is linear1"),
    Block("""
        net = NeuralNetwork()
        print(net.training, net._parameters, net._buffers, net._non_persistent_buffers_set, net._is_full_backward_hook)
        for table in ('_backward_hooks', '_forward_hooks', '_forward_pre_hooks', '_state_dict_hooks',
                      '_load_state_dict_pre_hooks'):
            print(table, len(getattr(net, table)))
        """, """
        True {} {} set() None
        _backward_hooks 0
        _forward_hooks 0
        _forward_pre_hooks 0
        _state_dict_hooks 0
        _load_state_dict_pre_hooks 0
        """, since="were OrderedDicts", adapted="the document lists the attributes in words"),
]

MY_MODEL = """
MyModel(
  (fc1): Linear(in_features=10, out_features=20, bias=True)
  (fc2): Linear(in_features=20, out_features=5, bias=True)
)
"""

SEED_004 = [
    Block("""
        import torch
        import torch.nn as nn

        class MyModel(nn.Module):
            def __init__(self):
                super(MyModel, self).__init__()
                self.fc1 = nn.Linear(10, 20)
                self.fc2 = nn.Linear(20, 5)

            def forward(self, x):
                x = torch.relu(self.fc1(x))
                x = self.fc2(x)
                return x

        model = MyModel()

        print(model)

        x = torch.randn(1, 10)
        output = model(x)
        print(output)
        """, f"{MY_MODEL}\ntensor([[#, #, #, #, #]], grad_fn=<AddmmBackward0>)"),
    Block("""
        for name, param in model.named_parameters():
            print(f"Parameter name: {name}, shape: {param.shape}")
        """, """
        Parameter name: fc1.weight, shape: torch.Size([20, 10])
        Parameter name: fc1.bias, shape: torch.Size([20])
        Parameter name: fc2.weight, shape: torch.Size([5, 20])
        Parameter name: fc2.bias, shape: torch.Size([5])
        """),
    Block('torch.save(model.state_dict(), folder + "/model.pth")', adapted="the file goes to a temporary folder"),
    Block('print(model.load_state_dict(torch.load(folder + "/model.pth")))', "<All keys matched successfully>",
          adapted="the print is ours"),
    Block("model.train()\nprint(model.training)", "True", adapted="the print is ours"),
    Block("model.eval()\nprint(model.training)", "False", adapted="the print is ours"),
    Block("""
        class SubModule(nn.Module):
            def __init__(self):
                super(SubModule, self).__init__()
                self.fc = nn.Linear(10, 10)

            def forward(self, x):
                return torch.relu(self.fc(x))

        class MainModule(nn.Module):
            def __init__(self):
                super(MainModule, self).__init__()
                self.submodule1 = SubModule()
                self.submodule2 = SubModule()

            def forward(self, x):
                x = self.submodule1(x)
                x = self.submodule2(x)
                return x

        print(MainModule()(torch.randn(2, 10)).shape)
        """, "torch.Size([2, 10])", adapted="the print is ours"),
    Block("""
        class MyModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(2, 1)

            def forward(self, x):
                return self.linear(x)

        model = MyModel()

        def pre_hook_fn(module, inputs):
            print(f"Original Input: {inputs}")
            modified_input = inputs[0] * 2
            return (modified_input,)

        handle = model.register_forward_pre_hook(pre_hook_fn)

        x = torch.tensor([[1.0, 2.0]])
        output = model(x)
        print("Output:", output)

        handle.remove()
        """, "Original Input: (tensor([[1., 2.]]),)\nOutput: tensor([[#]], grad_fn=<AddmmBackward0>)"),
    Block("""
        def forward_hook_fn(module, inputs, output):
            print(f"Original Output: {output}")
            modified_output = output + 10
            return modified_output

        handle = model.register_forward_hook(forward_hook_fn)

        x = torch.tensor([[1.0, 2.0]])
        output = model(x)
        print("Final Output:", output)

        handle.remove()
        """, """
        Original Output: tensor([[#]], grad_fn=<AddmmBackward0>)
        Final Output: tensor([[#]], grad_fn=<AddBackward0>)
        """),
    Block("""
        x = torch.tensor([1.0, 2.0], requires_grad=True)

        def tensor_hook_fn(grad):
            print(f"Original Gradient: {grad}")
            return grad * 2

        x.register_hook(tensor_hook_fn)

        y = x.sum()
        y.backward()
        """, "Original Gradient: tensor([1., 1.])"),
    Block("""
        def full_backward_hook_fn(module, grad_input, grad_output):
            print(f"Gradient Input: {grad_input}")
            print(f"Gradient Output: {grad_output}")
            modified_grad_input = tuple(g * 2 if g is not None else None for g in grad_input)
            return modified_grad_input

        model = MyModel()
        handle = model.register_full_backward_hook(full_backward_hook_fn)

        x = torch.tensor([[1.0, 2.0]], requires_grad=True)
        output = model(x).sum()
        output.backward()

        handle.remove()
        """, "Gradient Input: (tensor([[#, #]]),)\nGradient Output: (tensor([[1.]]),)"),
    Block("""
        class MyModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(10, 10)

        model = MyModel()
        print(model._modules)
        """, "{'linear': Linear(in_features=10, out_features=10, bias=True)}"),
    Block("""
        class MyModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.add_module("linear", nn.Linear(10, 10))

        model = MyModel()
        print(model._modules)
        """, "{'linear': Linear(in_features=10, out_features=10, bias=True)}"),
    Block("""
        class MyModel(nn.Module):
            def __init__(self):
                super().__init__()
                for i in range(3):
                    self.add_module(f"linear_{i}", nn.Linear(10, 10))

        model = MyModel()
        print(model._modules)
        """, """
        {'linear_0': Linear(in_features=10, out_features=10, bias=True),
        'linear_1': Linear(in_features=10, out_features=10, bias=True),
        'linear_2': Linear(in_features=10, out_features=10, bias=True)}
        """, since="was an OrderedDict"),
    Block("""
        class MyModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear1 = nn.Linear(10, 10)
                self.add_module("linear2", nn.Linear(20, 20))

        model = MyModel()
        print(model._modules)
        """, """
        {'linear1': Linear(in_features=10, out_features=10, bias=True),
        'linear2': Linear(in_features=20, out_features=20, bias=True)}
        """, since="was an OrderedDict"),
]

SEEDS = {"000": SEED_000, "001": SEED_001, "002": SEED_002, "003": SEED_003, "004": SEED_004}


# ---- running them


@contextlib.contextmanager
def named_torch(library):
    """Inside, ``import torch`` and its submodules give the library."""
    name = library.__name__
    before = {k: m for k, m in sys.modules.items() if k.partition(".")[0] == "torch"}
    if name != "torch":
        for key in before:
            del sys.modules[key]
        for key, module in list(sys.modules.items()):
            if key.partition(".")[0] == name:
                sys.modules["torch" + key.removeprefix(name)] = module
    try:
        yield
    finally:
        if name != "torch":
            for key in [k for k in sys.modules if k.partition(".")[0] == "torch"]:
                del sys.modules[key]
            sys.modules.update(before)


def run(library, blocks, folder):
    """What each block prints."""
    scope, printed = {"folder": str(folder)}, []
    library.manual_seed(0)
    with named_torch(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Softmax() without dim, .grad of a tensor that is not a leaf: as in PyTorch
        for block in blocks:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(textwrap.dedent(block.code), scope)
            printed.append(out.getvalue().replace(library.__name__ + ".", "torch."))
    return printed


NUMBER = r"-?\d+\.\d*(?:e[+-]\d+)?|-?\d+e[+-]\d+"


def flat(text):
    """A text without what layout and blank lines do to it."""
    return re.sub(r"(?<=[(\[{]) | (?=[)\]},])", "", re.sub(r"\s+", " ", text)).strip()


def same(printed, says):
    """Whether a block printed what the document says, random numbers aside."""
    if "#" not in says:
        return flat(printed) == flat(says)
    return flat(re.sub(NUMBER, "#", printed)) == flat(re.sub(NUMBER, "#", says))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What flambeau prints, of all documents."""
    return {name: run(flambeau, blocks, tmp_path_factory.mktemp(name)) for name, blocks in SEEDS.items()}


CASES = [pytest.param(name, i, id=f"{name}-{i}") for name, blocks in SEEDS.items() for i in range(len(blocks))]


@pytest.mark.parametrize(("name", "i"), CASES)
def test_block_prints_the_documented_output(outputs, name, i):
    block = SEEDS[name][i]
    if block.says is not None:
        assert same(outputs[name][i], block.says), f"{flat(outputs[name][i])}\nis not\n{flat(block.says)}"


@pytest.fixture(scope="module")
def torch_outputs(tmp_path_factory):
    torch = pytest.importorskip("torch")
    return {name: run(torch, blocks, tmp_path_factory.mktemp(name)) for name, blocks in SEEDS.items()}


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "i"), CASES)
def test_a_block_prints_what_torch_prints(outputs, torch_outputs, name, i):
    """Words and layout character by character; numbers as far as rounding allows."""
    ours, theirs = outputs[name][i], torch_outputs[name][i]
    assert re.split(NUMBER, ours) == re.split(NUMBER, theirs)
    numbers = [[float(n) for n in re.findall(NUMBER, text)] for text in (ours, theirs)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=2e-4)


@pytest.mark.parametrize("name", SEEDS)
def test_every_difference_is_explained(name):
    """A block that says it is changed says how."""
    assert all(not b.since or b.says is not None for b in SEEDS[name])
