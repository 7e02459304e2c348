/* Updates of many small arrays in one call, such as the step counts of an optimizer. */

#include "kernels.h"
#include "lists.h"

#include <string.h>

/* Whether there are only arrays in a list; false with an error. */
static bool has_arrays(PyObject *list, const char *name)
{
    bool fits = PyList_Check(list);
    for (Py_ssize_t i = 0; fits && i < PyList_GET_SIZE(list); i++) {
        fits = PyArray_Check(PyList_GET_ITEM(list, i));
    }
    if (!fits) {
        PyErr_Format(PyExc_TypeError, "%s takes a list of arrays", name);
    }
    return fits;
}

static PyArrayObject *array_at(PyObject *list, Py_ssize_t i)
{
    return (PyArrayObject *)PyList_GET_ITEM(list, i);
}

static char *append(char *at, const void *bytes, size_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}

PyObject *forms_of(PyObject *module, PyObject *list)
{
    (void)module;
    if (!has_arrays(list, "forms_of(arrays)")) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(list), size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        size += sizeof(void *) + sizeof(int) + 2 * (Py_ssize_t)sizeof(npy_intp) * PyArray_NDIM(array_at(list, i));
    }
    PyObject *forms = PyBytes_FromStringAndSize(NULL, size);
    char *at = forms == NULL ? NULL : PyBytes_AS_STRING(forms);
    for (Py_ssize_t i = 0; forms != NULL && i < count; i++) {
        PyArray_Descr *dtype = PyArray_DESCR(array_at(list, i));
        int ndim = PyArray_NDIM(array_at(list, i));
        at = append(at, &dtype, sizeof dtype);
        at = append(at, &ndim, sizeof ndim);
        if (ndim > 0) {
            at = append(at, PyArray_DIMS(array_at(list, i)), sizeof(npy_intp) * (size_t)ndim);
            at = append(at, PyArray_STRIDES(array_at(list, i)), sizeof(npy_intp) * (size_t)ndim);
        }
    }
    return forms;
}

PyObject *are_plain(PyObject *module, PyObject *list)
{
    (void)module;
    if (!has_arrays(list, "are_plain(arrays)")) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (!PyArray_ISCARRAY(array_at(list, i))) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

/* Whether the elements of one array can be copied to the other as bytes. */
static bool is_alike(PyArrayObject *a, PyArrayObject *b)
{
    return PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_SAMESHAPE(a, b) && PyArray_ISCARRAY(a)
        && PyArray_ISCARRAY_RO(b) && !PyDataType_REFCHK(PyArray_DESCR(a));
}

PyObject *are_equal_numbers(PyObject *module, PyObject *list)
{
    (void)module;
    if (!has_arrays(list, "are_equal_numbers(arrays)")) {
        return NULL;
    }
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(list); i++) {
        if (!is_alike(array_at(list, i), array_at(list, 0))
            || memcmp(PyArray_DATA(array_at(list, i)), PyArray_DATA(array_at(list, 0)), (size_t)PyArray_NBYTES(array_at(list, 0))) != 0) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

static bool filled(PyObject *own, PyObject *value)
{
    PyArrayObject *to = (PyArrayObject *)own, *from = (PyArrayObject *)value;
    if (PyArray_Check(own) && PyArray_Check(value) && is_alike(to, from)) {
        memmove(PyArray_DATA(to), PyArray_DATA(from), (size_t)PyArray_NBYTES(to));
        return true;
    }
    return PyObject_SetItem(own, Py_Ellipsis, value) == 0;
}

PyObject *fill_each(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2 || !PyList_Check(given[1]) || !PyList_Check(given[0])
        || PyList_GET_SIZE(given[0]) != PyList_GET_SIZE(given[1])) {
        PyErr_SetString(PyExc_ValueError, "fill_each(arrays, values) takes two lists of one length");
        return NULL;
    }
    if (!has_arrays(given[0], "fill_each(arrays, values)")) {
        return NULL;
    }
    /* A value may run code that changes the lists, so they are looked at anew each time. */
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(given[0]) && i < PyList_GET_SIZE(given[1]); i++) {
        PyObject *own = Py_NewRef(PyList_GET_ITEM(given[0], i)), *value = Py_NewRef(PyList_GET_ITEM(given[1], i));
        bool good = filled(own, value);
        Py_DECREF(own);
        Py_DECREF(value);
        if (!good) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}
