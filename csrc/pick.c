/* Selection of list items by index and by type. */

#include "kernels.h"
#include "lists.h"

/* The place of a number that may count from the end; -1 where there is none. */
static Py_ssize_t place_of(npy_intp number, Py_ssize_t length)
{
    Py_ssize_t place = number < 0 ? number + length : number;
    return place < length ? place : -1;
}

static PyObject *picked(const npy_intp *numbers, Py_ssize_t count, PyObject *items)
{
    PyObject *found = PyList_New(count);
    Py_ssize_t length = PySequence_Fast_GET_SIZE(items); /* now: to make a list may run code that changes the other */
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        Py_ssize_t place = place_of(numbers[i], length);
        Py_ssize_t later = i + AHEAD < count ? place_of(numbers[i + AHEAD], length) : -1;
        if (later >= 0) {
            __builtin_prefetch(PySequence_Fast_GET_ITEM(items, later), 1);
        }
        if (place < 0) {
            PyErr_Format(PyExc_IndexError, "there is no item %zd among %zd", (Py_ssize_t)numbers[i], length);
            Py_CLEAR(found);
        } else {
            PyList_SET_ITEM(found, i, Py_NewRef(PySequence_Fast_GET_ITEM(items, place)));
        }
    }
    return found;
}

const npy_intp *vector_of_places(PyObject *x)
{
    PyArrayObject *array = PyArray_Check(x) ? (PyArrayObject *)x : NULL;
    bool fits = array != NULL && PyArray_TYPE(array) == NPY_INTP && PyArray_NDIM(array) == 1 && PyArray_ISCARRAY_RO(array);
    return fits ? PyArray_DATA(array) : NULL;
}

PyObject *pick(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    const npy_intp *numbers = n == 2 ? vector_of_places(given[0]) : NULL;
    if (numbers == NULL) {
        PyErr_SetString(PyExc_TypeError, "pick(numbers, items) takes a vector of intp and a sequence");
        return NULL;
    }
    PyObject *items = PySequence_Fast(given[1], "expected a sequence of items");
    PyObject *found = items == NULL ? NULL : picked(numbers, PyArray_SIZE((PyArrayObject *)given[0]), items);
    Py_XDECREF(items);
    return found;
}

PyObject *places_of_types(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2 || !PyList_Check(given[0]) || !PyTuple_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "places_of_types(objects, types) takes a list and a tuple");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    Py_ssize_t count = PyList_GET_SIZE(given[0]), types = PyTuple_GET_SIZE(given[1]);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        if (i + AHEAD < count) {
            __builtin_prefetch(PyList_GET_ITEM(given[0], i + AHEAD));
        }
        PyObject *type = (PyObject *)Py_TYPE(PyList_GET_ITEM(given[0], i));
        bool is_one = false;
        for (Py_ssize_t t = 0; t < types; t++) {
            is_one |= type == PyTuple_GET_ITEM(given[1], t);
        }
        PyObject *place = is_one ? PyLong_FromSsize_t(i) : NULL;
        if (is_one && (place == NULL || PyList_Append(found, place) < 0)) {
            Py_CLEAR(found);
        }
        Py_XDECREF(place);
    }
    return found;
}
