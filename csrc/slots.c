/* One slot of many objects, read or set at once: what the host does for each tensor of a program, again and again. */

#include "kernels.h"
#include "slots.h"

#include <structmember.h>

/* Where, in objects of its class, a slot lies; -1 with an error if `member` is no slot. */
static Py_ssize_t offset_of(PyObject *member)
{
    if (Py_IS_TYPE(member, &PyMemberDescr_Type)) {
        const PyMemberDef *definition = ((PyMemberDescrObject *)member)->d_member;
        if (definition->type == T_OBJECT_EX && !(definition->flags & READONLY)) {
            return definition->offset;
        }
    }
    PyErr_Format(PyExc_TypeError, "expected a member of a class with __slots__, but got %R", member);
    return -1;
}

/* The slot of an object; NULL with an error if the object is of another class. */
static PyObject **slot_of(PyObject *member, Py_ssize_t offset, PyObject *x)
{
    if (!PyObject_TypeCheck(x, PyDescr_TYPE(member))) {
        PyErr_Format(PyExc_TypeError, "expected objects that have %R, but got %R", member, (PyObject *)Py_TYPE(x));
        return NULL;
    }
    return (PyObject **)((char *)x + offset);
}

static PyObject *values_of(PyObject *member, Py_ssize_t offset, PyObject *objects)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(objects);
    PyObject *values = PyList_New(n);
    for (Py_ssize_t i = 0; values != NULL && i < n; i++) {
        PyObject **slot = slot_of(member, offset, PySequence_Fast_GET_ITEM(objects, i));
        if (slot != NULL && *slot == NULL) {
            PyErr_SetObject(PyExc_AttributeError, PyDescr_NAME(member));
        }
        if (slot == NULL || *slot == NULL) {
            Py_CLEAR(values);
            break;
        }
        PyList_SET_ITEM(values, i, Py_NewRef(*slot));
    }
    return values;
}

PyObject *read_slot(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "read_slot(member, objects) takes two arguments");
        return NULL;
    }
    Py_ssize_t offset = offset_of(given[0]);
    PyObject *objects = offset < 0 ? NULL : PySequence_Fast(given[1], "expected a sequence of objects");
    PyObject *values = objects == NULL ? NULL : values_of(given[0], offset, objects);
    Py_XDECREF(objects);
    return values;
}

/* What is no longer held may run code that changes the sequences, so they are looked at anew each time. */
static bool filled(PyObject *member, Py_ssize_t offset, PyObject *objects, PyObject *values)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(objects);
    if (PySequence_Fast_GET_SIZE(values) != n) {
        PyErr_Format(PyExc_ValueError, "expected as many values as objects, but got %zd for %zd",
                     PySequence_Fast_GET_SIZE(values), n);
        return false;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(objects) && i < PySequence_Fast_GET_SIZE(values); i++) {
        PyObject **slot = slot_of(member, offset, PySequence_Fast_GET_ITEM(objects, i));
        if (slot == NULL) {
            return false;
        }
        PyObject *before = *slot;
        *slot = Py_NewRef(PySequence_Fast_GET_ITEM(values, i));
        Py_XDECREF(before);
    }
    return true;
}

PyObject *set_slot(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "set_slot(member, objects, values) takes three arguments");
        return NULL;
    }
    Py_ssize_t offset = offset_of(given[0]);
    PyObject *objects = offset < 0 ? NULL : PySequence_Fast(given[1], "expected a sequence of objects");
    PyObject *values = objects == NULL ? NULL : PySequence_Fast(given[2], "expected a sequence of values");
    bool done = values != NULL && filled(given[0], offset, objects, values);
    Py_XDECREF(values);
    Py_XDECREF(objects);
    if (!done) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static bool is_same(PyObject *found, PyObject *expected)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(found);
    PyObject **a = PySequence_Fast_ITEMS(found), **b = PySequence_Fast_ITEMS(expected);
    if (n != PySequence_Fast_GET_SIZE(expected)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

PyObject *are_same(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "are_same(found, expected) takes two arguments");
        return NULL;
    }
    PyObject *found = PySequence_Fast(given[0], "expected a sequence");
    PyObject *expected = found == NULL ? NULL : PySequence_Fast(given[1], "expected a sequence");
    PyObject *result = expected == NULL ? NULL : PyBool_FromLong(is_same(found, expected));
    Py_XDECREF(expected);
    Py_XDECREF(found);
    return result;
}
