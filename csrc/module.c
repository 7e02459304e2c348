/* The module flambeau._kernels: native kernels by name, each with a NumPy kernel to fall back to. */

#define FLAMBEAU_KERNELS_MODULE
#include "kernels.h"

#include <structmember.h>

#include "blas.h"
#include "lists.h"
#include "memory.h"
#include "threads.h"

static const Row *const FAMILIES[] = {
    JOIN_ROWS, REDUCE_ROWS, SOFTMAX_ROWS, NORM_ROWS, NORM_ACT_ROWS, POINTWISE_ROWS, FINISH_ROWS, DIVIDE_ROWS,
    SCATTER_ROWS, RANDOM_ROWS, CONVERT_ROWS, SELECT_ROWS, OPTIM_ROWS, POOL_ROWS, RESAMPLE_ROWS, PRODUCT_ROWS,
    CONV_ROWS, RNN_ROWS, ATTENTION_ROWS, LOSS_ROWS, CTC_ROWS, SHAPE_ROWS, ARITHMETIC_ROWS,
};
#define FAMILY_COUNT (sizeof FAMILIES / sizeof FAMILIES[0])

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Native native;
    int count;
    PyObject *parameters[MOST_PARAMETERS]; /* interned strings */
    PyObject *name;
    PyObject *twin;
} Kernel;

/* ---- calls */

/* Where the parameter of that name stands, or -1. */
static int position_of(const Kernel *self, PyObject *name)
{
    for (int i = 0; i < self->count; i++) {
        if (self->parameters[i] == name) {
            return i;
        }
    }
    for (int i = 0; i < self->count; i++) { /* a name made at run time need not be interned */
        if (PyUnicode_Compare(self->parameters[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Puts each argument in the place of its parameter; false where the call does not fit the parameters. */
static bool arranged(const Kernel *self, PyObject *const *given, Py_ssize_t n, PyObject *keywords, PyObject **arguments)
{
    if (n > self->count) {
        return false;
    }
    for (int i = 0; i < self->count; i++) {
        arguments[i] = i < n ? given[i] : NULL;
    }
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t i = 0; i < named; i++) {
        int place = position_of(self, PyTuple_GET_ITEM(keywords, i));
        if (place < 0 || arguments[place] != NULL) {
            return false;
        }
        arguments[place] = given[n + i];
    }
    return true;
}

static PyObject *kernel_call(PyObject *callable, PyObject *const *given, size_t flagged, PyObject *keywords)
{
    Kernel *self = (Kernel *)callable;
    PyObject *arguments[MOST_PARAMETERS];
    if (arranged(self, given, PyVectorcall_NARGS(flagged), keywords, arguments)) {
        PyObject *result = self->native(arguments);
        if (result != Py_NotImplemented) {
            return result;
        }
        Py_DECREF(result);
    }
    return PyObject_Vectorcall(self->twin, given, flagged, keywords);
}

PyArrayObject *row_major(PyObject *x, PyArrayObject *like)
{
    PyArrayObject *a = (PyArrayObject *)x;
    if (x == NULL || !PyArray_CheckExact(x) || PyArray_TYPE(a) != PyArray_TYPE(like) || !PyArray_SAMESHAPE(a, like)) {
        return NULL;
    }
    if (PyArray_ISCARRAY_RO(a)) {
        Py_INCREF(x);
        return a;
    }
    return PyArray_ISBEHAVED_RO(a) ? (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER) : NULL;
}

PyArrayObject *in_rows(PyObject *x)
{
    return x != NULL && PyArray_CheckExact(x) ? row_major(x, (PyArrayObject *)x) : NULL;
}

bool as_integer(PyObject *x, npy_intp *value)
{
    if (x == NULL || !PyLong_CheckExact(x)) {
        return false;
    }
    *value = PyLong_AsSsize_t(x);
    if (*value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

bool as_double(PyObject *x, double *value)
{
    if (x == NULL || !PyFloat_CheckExact(x)) {
        return false;
    }
    *value = PyFloat_AS_DOUBLE(x);
    return true;
}

bool as_number(PyObject *x, double *value)
{
    npy_intp integer;
    if (as_double(x, value)) {
        return true;
    }
    if (!as_integer(x, &integer) || integer > (npy_intp)1 << 53 || integer < -((npy_intp)1 << 53)) {
        return false;
    }
    *value = (double)integer;
    return true;
}

bool as_axis(PyObject *x, int ndim, int *axis)
{
    npy_intp value;
    if (!as_integer(x, &value) || value < -ndim || value >= ndim) {
        return false;
    }
    *axis = (int)(value < 0 ? value + ndim : value);
    return true;
}

/* ---- the type. It has no tp_clear: a cycle through a kernel also goes through the globals of its twin. */

static int kernel_traverse(Kernel *self, visitproc visit, void *arg)
{
    Py_VISIT(self->twin);
    return 0;
}

static void kernel_dealloc(Kernel *self)
{
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < self->count; i++) {
        Py_XDECREF(self->parameters[i]);
    }
    Py_XDECREF(self->name);
    Py_XDECREF(self->twin);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *kernel_repr(Kernel *self)
{
    return PyUnicode_FromFormat("<native kernel %U>", self->name);
}

static PyMemberDef kernel_members[] = {
    {"__name__", T_OBJECT, offsetof(Kernel, name), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(Kernel, twin), READONLY, "The NumPy kernel that takes over."},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "flambeau._kernels.Kernel",
    .tp_doc = "A native kernel, which leaves what it cannot do to a NumPy kernel.",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_dealloc = (destructor)kernel_dealloc,
    .tp_traverse = (traverseproc)kernel_traverse,
    .tp_repr = (reprfunc)kernel_repr,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Kernel, vectorcall),
    .tp_members = kernel_members,
};

/* ---- the module */

static const Row *row_of(PyObject *name)
{
    for (size_t f = 0; f < FAMILY_COUNT; f++) {
        for (const Row *row = FAMILIES[f]; row->name != NULL; row++) {
            if (PyUnicode_CompareWithASCIIString(name, row->name) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

static PyObject *kernel_of(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2 || !PyUnicode_Check(given[0]) || !PyCallable_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "kernel(name, twin) takes the name of a native kernel and a callable");
        return NULL;
    }
    const Row *row = row_of(given[0]);
    if (row == NULL) {
        PyErr_Format(PyExc_KeyError, "there is no native kernel %R", given[0]);
        return NULL;
    }
    Kernel *self = (Kernel *)KernelType.tp_alloc(&KernelType, 0); /* zeroed */
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = kernel_call;
    self->native = row->native;
    self->name = Py_NewRef(given[0]);
    self->twin = Py_NewRef(given[1]);
    for (int i = 0; i < MOST_PARAMETERS && row->parameters[i] != NULL; i++) {
        self->parameters[i] = PyUnicode_InternFromString(row->parameters[i]);
        if (self->parameters[i] == NULL) {
            Py_DECREF(self);
            return NULL;
        }
        self->count = i + 1;
    }
    return (PyObject *)self;
}

static PyObject *all_names(void)
{
    PyObject *names = PyList_New(0);
    for (size_t f = 0; names != NULL && f < FAMILY_COUNT; f++) {
        for (const Row *row = FAMILIES[f]; row->name != NULL; row++) {
            PyObject *name = PyUnicode_FromString(row->name);
            if (name == NULL || PyList_Append(names, name) < 0) {
                Py_XDECREF(name);
                Py_CLEAR(names);
                break;
            }
            Py_DECREF(name);
        }
    }
    PyObject *result = names == NULL ? NULL : PyList_AsTuple(names);
    Py_XDECREF(names);
    return result;
}

static PyObject *use_width(PyObject *module, PyObject *widest)
{
    (void)module;
    npy_intp width;
    if (!as_integer(widest, &width)) {
        PyErr_SetString(PyExc_TypeError, "use_width(widest) takes a number of bytes");
        return NULL;
    }
    return PyLong_FromLong(choose_loops(width > 64 ? 64 : (int)width));
}

static PyObject *set_threads(PyObject *module, PyObject *given)
{
    (void)module;
    npy_intp count;
    if (!as_integer(given, &count)) {
        PyErr_SetString(PyExc_TypeError, "set_threads(count) takes a number of threads");
        return NULL;
    }
    set_thread_count(count > INT_MAX ? INT_MAX : (int)count);
    Py_RETURN_NONE;
}

static PyObject *use_tiles(PyObject *module, PyObject *always)
{
    (void)module;
    int truth = PyObject_IsTrue(always);
    return truth < 0 ? NULL : PyBool_FromLong(use_tiles_always(truth));
}

static PyObject *use_blas_at(PyObject *module, PyObject *path)
{
    (void)module;
    const char *text = PyUnicode_AsUTF8(path);
    return text == NULL ? NULL : PyBool_FromLong(use_blas(text));
}

static PyObject *set_threads_of_blas(PyObject *module, PyObject *given)
{
    (void)module;
    npy_intp count;
    if (!as_integer(given, &count) || count < 1 || count > INT_MAX) {
        PyErr_SetString(PyExc_TypeError, "set_blas_threads(count) takes a number of threads");
        return NULL;
    }
    if (has_blas()) {
        set_blas_threads((int)count);
    }
    Py_RETURN_NONE;
}

static PyObject *give_back(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromSize_t(give_back_blocks());
}

static PyMethodDef methods[] = {
    {"kernel", (PyCFunction)(void (*)(void))kernel_of, METH_FASTCALL,
     "kernel(name, twin)\n--\n\nThe native kernel of that name, which calls `twin` for what it does not do itself."},
    {"use_width", use_width, METH_O,
     "use_width(widest)\n--\n\nUses vectors of so many bytes, or of what the processor has below; returns how many."},
    {"set_threads", set_threads, METH_O,
     "set_threads(count)\n--\n\nLets so many threads work at once, the one that calls among them."},
    {"use_blas", use_blas_at, METH_O,
     "use_blas(path)\n--\n\nCalls the OpenBLAS at a path directly, if NumPy has loaded it; returns whether it has."},
    {"use_tiles", use_tiles, METH_O,
     "use_tiles(always)\n--\n\nMultiplies by our own tiles even where BLAS is faster; returns whether it did before."},
    {"set_blas_threads", set_threads_of_blas, METH_O,
     "set_blas_threads(count)\n--\n\nLets what calls OpenBLAS by itself, such as NumPy, use so many threads."},
    {"exchange_handler", exchange_handler, METH_O,
     "exchange_handler(handler)\n--\n\nWhere NumPy's arrays get their memory in this context: from `handler`, or, where it "
     "is None, from one that uses large blocks again. Returns the handler before."},
    {"give_back_blocks", give_back, METH_NOARGS,
     "give_back_blocks()\n--\n\nGives memory that waits to be used again back to the system; returns how many bytes."},
    {"maker", (PyCFunction)(void (*)(void))maker, METH_FASTCALL,
     "maker(class, member, values, twin)\n--\n\nDoes what `twin` does: makes objects with its argument in that slot, and "
     "these values in others."},
    {"read_slot", (PyCFunction)(void (*)(void))read_slot, METH_FASTCALL,
     "read_slot(member, objects)\n--\n\nA list of what objects hold in the slot that is the `member` of their class."},
    {"set_slot", (PyCFunction)(void (*)(void))set_slot, METH_FASTCALL,
     "set_slot(member, objects, values)\n--\n\nMakes objects hold values in the slot that is the `member` of their "
     "class."},
    {"increment_slot", (PyCFunction)(void (*)(void))increment_slot, METH_FASTCALL,
     "increment_slot(member, objects)\n--\n\nAdds one to the integer that each object holds in a slot; to one that is "
     "there twice, two."},
    {"exchange_each", (PyCFunction)(void (*)(void))exchange_each, METH_FASTCALL,
     "exchange_each(members, tensors, arrays, writer, start)\n--\n\nMakes arrays the elements of tensors from `start` "
     "on, and counts the writes, up to one whose storage has a memory; returns its place."},
    {"are_in_slots", (PyCFunction)(void (*)(void))are_in_slots, METH_FASTCALL,
     "are_in_slots(members, objects, values)\n--\n\nWhether objects hold, in the slots that are `members` of their "
     "class, the very things that `values` has, a list for each member."},
    {"are_same", (PyCFunction)(void (*)(void))are_same, METH_FASTCALL,
     "are_same(found, expected)\n--\n\nWhether two sequences hold the very same objects."},
    {"held_elsewhere", (PyCFunction)(void (*)(void))held_elsewhere, METH_FASTCALL,
     "held_elsewhere(objects, places, count)\n--\n\nThose places of a list whose objects have more than `count` "
     "references, of which the list is one."},
    {"unheld", (PyCFunction)(void (*)(void))unheld, METH_FASTCALL,
     "unheld(objects, count)\n--\n\nThose objects of a list that have up to `count` references, of which the list is one, "
     "no weak ones, and no attributes beside slots."},
    {"are_items", (PyCFunction)(void (*)(void))are_items, METH_FASTCALL,
     "are_items(tables, names, values, missing)\n--\n\nWhether each table has the very value under a name, which is "
     "`missing` where it has none."},
    {"are_contents", (PyCFunction)(void (*)(void))are_contents, METH_FASTCALL,
     "are_contents(containers, lengths, contents)\n--\n\nWhether dicts and lists hold the very things, in this order: "
     "keys before their values."},
    {"are_of_types", (PyCFunction)(void (*)(void))are_of_types, METH_FASTCALL,
     "are_of_types(objects, types)\n--\n\nWhether the objects are of the very types."},
    {"pick", (PyCFunction)(void (*)(void))pick, METH_FASTCALL,
     "pick(numbers, items)\n--\n\nA list of the items of a sequence with these numbers, an array of them."},
    {"places_of_types", (PyCFunction)(void (*)(void))places_of_types, METH_FASTCALL,
     "places_of_types(objects, types)\n--\n\nThe places of a list at which there are objects of these very types."},
    {"forms_of", forms_of, METH_O,
     "forms_of(arrays)\n--\n\nDtypes, shapes and strides of arrays, as a value to compare with another."},
    {"are_plain", are_plain, METH_O,
     "are_plain(arrays)\n--\n\nWhether the elements of all arrays lie in row-major order and may be written to."},
    {"are_equal_numbers", are_equal_numbers, METH_O,
     "are_equal_numbers(arrays)\n--\n\nWhether arrays hold one number, or the same ones, down to the sign of zero."},
    {"fill_each", (PyCFunction)(void (*)(void))fill_each, METH_FASTCALL,
     "fill_each(arrays, values)\n--\n\nMakes values the elements of arrays."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "flambeau._kernels",
    .m_doc = "Native kernels for contiguous arrays. The NumPy engine puts them in the place of its own ones.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    import_array();
    choose_loops(64);
    if (PyType_Ready(&KernelType) < 0 || !prepare_arrays()) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    PyObject *names = all_names();
    if (module == NULL || names == NULL || PyModule_AddObjectRef(module, "NAMES", names) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(names);
    return module;
}
