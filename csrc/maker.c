/* Makes objects of a class with the same values in their slots, but for one. */

#include "kernels.h"
#include "lists.h"

#define MOST_SLOTS 16

typedef struct {
    PyTypeObject *class;
    PyObject *nothing; /* an empty tuple */
    PyObject *member, *twin;
    Py_ssize_t slot;
    int count;
    Py_ssize_t others[MOST_SLOTS];
    PyObject *values[MOST_SLOTS];
} Maker;

static void free_maker(PyObject *capsule)
{
    Maker *m = PyCapsule_GetPointer(capsule, NULL);
    for (int i = 0; i < m->count; i++) {
        Py_DECREF(m->values[i]);
    }
    Py_XDECREF(m->member);
    Py_XDECREF(m->twin);
    Py_XDECREF(m->nothing);
    Py_XDECREF(m->class);
    PyMem_Free(m);
}

/* The class may have something else in place of the member for a while: then the twin does it. */
static PyObject *make(PyObject *capsule, PyObject *value)
{
    const Maker *m = PyCapsule_GetPointer(capsule, NULL);
    if (PyDict_GetItemWithError(m->class->tp_dict, PyDescr_NAME(m->member)) != m->member) {
        return PyErr_Occurred() ? NULL : PyObject_CallOneArg(m->twin, value);
    }
    PyObject *object = PyBaseObject_Type.tp_new(m->class, m->nothing, NULL);
    if (object == NULL) {
        return NULL;
    }
    *(PyObject **)((char *)object + m->slot) = Py_NewRef(value);
    for (int i = 0; i < m->count; i++) {
        *(PyObject **)((char *)object + m->others[i]) = Py_NewRef(m->values[i]);
    }
    return object;
}

static PyMethodDef make_method = {"make", make, METH_O, "make(value)\n--\n\nAn object with the value in its slot."};

/* The offset of a slot of the class; -1 with an error. */
static Py_ssize_t offset_in(PyObject *class, PyObject *member)
{
    Py_ssize_t offset = offset_of(member);
    if (offset >= 0 && !PyType_IsSubtype((PyTypeObject *)class, PyDescr_TYPE(member))) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %R", class, member);
        return -1;
    }
    return offset;
}

PyObject *maker(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 4 || !PyType_Check(given[0]) || ((PyTypeObject *)given[0])->tp_new != PyBaseObject_Type.tp_new
        || !PyDict_Check(given[2]) || PyDict_GET_SIZE(given[2]) > MOST_SLOTS) {
        PyErr_SetString(PyExc_TypeError, "maker(class, member, values, twin) takes a class without __new__, and a dict of members");
        return NULL;
    }
    Maker *m = PyMem_Calloc(1, sizeof *m);
    PyObject *capsule = m == NULL ? PyErr_NoMemory() : PyCapsule_New(m, NULL, free_maker);
    if (capsule == NULL) {
        PyMem_Free(m);
        return NULL;
    }
    m->class = (PyTypeObject *)Py_NewRef(given[0]);
    m->nothing = PyTuple_New(0);
    m->member = Py_NewRef(given[1]);
    m->twin = Py_NewRef(given[3]);
    m->slot = m->nothing == NULL ? -1 : offset_in(given[0], given[1]);
    bool known = m->slot >= 0;
    PyObject *member, *value;
    for (Py_ssize_t place = 0; known && PyDict_Next(given[2], &place, &member, &value);) {
        m->others[m->count] = offset_in(given[0], member);
        known = m->others[m->count] >= 0;
        if (known) {
            m->values[m->count++] = Py_NewRef(value);
        }
    }
    PyObject *made = known ? PyCFunction_New(&make_method, capsule) : NULL;
    Py_DECREF(capsule);
    return made;
}
