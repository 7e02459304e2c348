"""The source templates of the hot functions of ops, which ``_codegen.py`` expands and compiles.

A slot such as ``{read}`` is filled with source text or another template.
"""

CALL = """
def bind(op, forward, kernel, otherwise):
    lowest, highest, row_major = op.lowest, op.highest, op.row_major
    checks_dtype, takes_int64 = op.checks_dtype, op.takes_int64
    recorders, recorder = op.recorders, op.recorder
    {state}

    def call({parameters}):
        {read}
        try:
            r = {compute}
        except Exception as error:
            {recover}
        {finish}

    return call
"""

# ---- reading the inputs: tensors' arrays, and whether they require a gradient (None: no tensor)

READ = """
if isinstance({x}, Tensor):
    {a} = {x}._a
    if type({a}) is not ndarray{or_promoted}:
        return op.call({inputs}, {settings})
    if {x}._view is not None:
        refresh({x})
    {flag} = {x}._rg
{no_tensor}
"""
OR_PROMOTED = " or ({a}.dtype is not float32 and checks_dtype and not (takes_int64 and {a}.dtype is int64))"
COMPUTE_ONLY = """
elif type({x}) is ndarray and ({x}.dtype is float32 or not checks_dtype):
    return forward(NUMPY, {x}{options})
else:
    return on_arrays(op, {x}{keywords})
"""
TAKE_NUMBER = """
elif not checks_dtype or {x} is None or type({x}) is float or type({x}) is int:
    {a}, {flag} = {x}, None
else:
    return op.call({inputs}, {settings})
"""
READ_ALL = """
arrays, flags = [], []
for x in inputs:
    {read_one}
    arrays.append(a)
    flags.append(flag)
if None in flags and True not in flags and False not in flags:
    return on_arrays(op, *inputs, **settings)
"""
READ_JOINED = """
if out is not axis or (type(tensors) is not list and type(tensors) is not tuple):  # the first: one of the two was given
    return otherwise(tensors, dim if axis is None else axis, out=out)
arrays, flags, recording = [], [], False
try:
    for x in tensors:
        a = x._a
        if type(a) is not ndarray:
            return otherwise(tensors, dim, out=out)
        if x._view is not None:
            refresh(x)
        if x._rg:
            recording = True
        arrays.append(a)
        flags.append(x._rg)
except AttributeError:
    return otherwise(tensors, dim, out=out)
"""
READ_VIEWED = """
if not isinstance(x0, Tensor):
    return forward(NUMPY, x0{options}) if type(x0) is ndarray else on_arrays(op, x0{keywords})
a0 = x0._a
settings = {own_settings}
if type(a0) is not ndarray:
    return op.call((x0,), settings)
"""
READ_OPERANDS = """
if type(input) is ndarray and (type(other) is ndarray or type(other) is float or type(other) is int):
    return forward(NUMPY, input, other)
try:
    a0 = input._a
    dtype = a0.dtype
    if type(other) is float or type(other) is int:
        if not FIRST_FLOAT <= dtype.num <= LAST_FLOAT and not (integers and type(other) is int and dtype is int64):
            return otherwise(input, other)
        a1, flag1 = other, None
        {constant}
    else:
        a1 = other._a
        if dtype is not a1.dtype or type(a1) is not ndarray:
            return otherwise(input, other)
        if dtype is not float32 and not lowest <= dtype.num <= highest:
            return otherwise(input, other)
        if other._view is not None:
            refresh(other)
        flag1 = other._rg
    if type(a0) is not ndarray:
        return otherwise(input, other)
except AttributeError:
    return otherwise(input, other)
if input._view is not None:
    refresh(input)
flag0 = input._rg
"""
CHECK_INT = """
if type(other) is int:
    check_int(other)
"""
CONSTANT = """
number, its_dtype, a1 = constant
if number is not other or its_dtype is not dtype:
    a1 = as_constant(other, dtype)
    constant = (other, dtype, a1)
"""

# ---- the result as a tensor

RECOVER = "r = op.recover(error, {arrays}, {settings})"
RECOVER_OPERANDS = """
if type(error) is OverflowError:  # an int beyond int64
    return otherwise(input, other)
r = op.recover(error, {arrays}, settings)
"""
FINISH = """
if type(r) is not ndarray:
    if not isinstance(r, numbers):
        return op.wrap_results({inputs}, {arrays}, r, {settings}, {recording})
    r = asarray(r)
elif row_major and not r.flags.c_contiguous:
    r = as_contiguous(r)
{wrap}
"""
FINISH_JOINED = """
if r.dtype is not arrays[0].dtype or not r.flags.c_contiguous:  # NumPy's promotion may differ from PyTorch's
    return otherwise(tensors, dim, out=out)
settings = AXIS[dim if dim >= 0 else dim + r.ndim]
{wrap}
"""
WRAP = """
t = new_tensor(r)
if ({recording}) and modes.grad:
    {record}
if in_use.inference and modes.grad is None:
    storage_of(t).inference = True
return t
"""
WRAP_VIEW = """
grad = modes.grad
if x0._view is not None:
    refresh(x0)
if type(r) is tuple:
    return op.wrap_results((x0,), (a0,), r, settings, x0._rg)
t = aliased(x0, r, ({function}, settings, None), None if grad else "no_grad" if grad is False else "inference")
if grad and x0._rg:
    {record}
return t
"""
RECORD_ONE = """
if in_use.watched and modes.watched:
    op.record((x0,), (a0,), r, t, {settings})
else:
    if record is None:
        record = recorder((True,))
    record(x0, a0, r, t, {settings})
"""
RECORD_FLAT = """
if in_use.watched and modes.watched:
    op.record({inputs}, {arrays}, r, t, {settings})
else:
    record = recorders.get({flags}) or recorder({flags})
    record({names}, {array_names}, r, t, {settings})
"""
RECORD_OPERANDS = """
if in_use.watched and modes.watched:
    op.record((input, other), (a0, other if flag1 is None else a1), r, t, settings)
else:
    pattern = 4 if flag1 is None else flag0 + 2 * flag1
    record = known[pattern]
    if record is None:
        record = known[pattern] = recorder((flag0, flag1))
    record(input, other, a0, a1, r, t, settings)
"""
RECORD_ALL = """
if len({inputs}) > MAX_COMPILED or (in_use.watched and modes.watched):
    op.record({inputs}, arrays, r, t, settings)
else:
    flags = tuple(flags)
    record = recorders.get(flags) or recorder(flags)
    record({inputs}, arrays, r, t, settings)
"""

# For functions that compute the result of an op themselves.
WRAPPER = """
def bind(op, function):
    recorders, recorder = op.recorders, op.recorder
    {state}

    def wrap({parameters}, r, settings):
        {read}
        {wrap}

    return wrap
"""

# ---- recording: what a call saves on its node

NAMED_NODE = """
name = {name}
try:
    node = node_classes[name]()
except KeyError:
    node = node_class(name)()
"""
RECORDER = """
def record({parameters}, r, t, settings):
    {unpack}
    {check}
    {node}
    node._edges = {edges}
    node._seq = next_sequence()
    node._hooked = False
    {form}
    node.backward = backward
    node.settings = settings
    node.inputs = {saved}
    node.guards = {guards}
    node.out = {out}
    node.shapes = {shapes}
    {attach}
    return node
"""
ONE_RESULT = {
    "check": """
dtype = r.dtype
if dtype.num < FIRST_FLOAT:
    return
""",
    "form": """
node._count = 1
node._shape = r.shape
node._dtype = dtype
""",
    "attach": """
t._node = node
t._rg = True
""",
}
TUPLE_OF_ONE = {  # with a single result
    "check": "",
    "form": """
node._count = 1
node._shape = r[0].shape
node._dtype = r[0].dtype
""",
    "attach": """
if node._dtype.num >= FIRST_FLOAT:
    t[0]._node = node
    t[0]._rg = True
""",
}
SEVERAL_RESULTS = {
    "check": "",
    "form": """
node._count = {count}
node._shape = tuple([x.shape for x in r])
node._dtype = tuple([x.dtype for x in r])
""",
    "attach": """
for nr, x in enumerate(t):
    if node._dtype[nr].num >= FIRST_FLOAT:
        x._node = node
        x._nr = nr
        x._rg = True
""",
}
