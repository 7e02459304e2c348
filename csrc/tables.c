/* Compares the contents of many dicts, containers and objects with what they held before, at once. */

#include "kernels.h"
#include "lists.h"

static bool reads_as_dict(PyObject *table)
{
    return PyDict_Check(table)
        && Py_TYPE(table)->tp_as_mapping->mp_subscript == PyDict_Type.tp_as_mapping->mp_subscript;
}

/* What a mapping has under a name, to be compared only; `missing` where it has nothing, NULL with an error. */
static PyObject *item_of(PyObject *table, PyObject *name, PyObject *missing)
{
    if (reads_as_dict(table)) {
        PyObject *found = PyDict_GetItemWithError(table, name);
        return found != NULL ? found : PyErr_Occurred() ? NULL : missing;
    }
    PyObject *found = PyObject_CallMethod(table, "get", "OO", name, missing);
    Py_XDECREF(found);
    return found;
}

/* Whether a mapping has the very thing under a name; -1 with an error. It may run code that lets go of all three. */
static int has_item(PyObject *table, PyObject *name, PyObject *value, PyObject *missing)
{
    Py_INCREF(table);
    Py_INCREF(name);
    Py_INCREF(value);
    PyObject *found = item_of(table, name, missing);
    int result = found == NULL ? -1 : found == value;
    Py_DECREF(table);
    Py_DECREF(name);
    Py_DECREF(value);
    return result;
}

/* Fetches the memory of a mapping that is looked at soon, and what a dict has its items in. */
static void fetch_table(PyObject *tables, Py_ssize_t i)
{
    Py_ssize_t count = PyList_GET_SIZE(tables);
    if (i + 2 * AHEAD < count) {
        __builtin_prefetch(PyList_GET_ITEM(tables, i + 2 * AHEAD));
    }
    if (i + AHEAD < count && PyDict_Check(PyList_GET_ITEM(tables, i + AHEAD))) {
        char *items = (char *)((PyDictObject *)PyList_GET_ITEM(tables, i + AHEAD))->ma_keys;
        __builtin_prefetch(items);
        __builtin_prefetch(items + 64);
    }
}

PyObject *are_items(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 4 || !PyList_Check(given[0]) || !PyList_Check(given[1]) || !PyList_Check(given[2])
        || PyList_GET_SIZE(given[0]) != PyList_GET_SIZE(given[1])
        || PyList_GET_SIZE(given[0]) != PyList_GET_SIZE(given[2])) {
        PyErr_SetString(PyExc_TypeError, "are_items(tables, names, values, missing) takes three lists of one length");
        return NULL;
    }
    int result = 1;
    for (Py_ssize_t i = 0; result == 1 && i < PyList_GET_SIZE(given[0]); i++) {
        if (i >= PyList_GET_SIZE(given[1]) || i >= PyList_GET_SIZE(given[2])) {
            Py_RETURN_FALSE;
        }
        fetch_table(given[0], i);
        result = has_item(PyList_GET_ITEM(given[0], i), PyList_GET_ITEM(given[1], i), PyList_GET_ITEM(given[2], i), given[3]);
    }
    return result < 0 ? NULL : PyBool_FromLong(result);
}

/* Whether a dict or a list holds the very things from `at` on, keys before their values; moves `at` behind them. */
static bool holds(PyObject *container, PyObject *contents, Py_ssize_t *at)
{
    PyObject **expected = PySequence_Fast_ITEMS(contents) + *at, *key, *value;
    if (PyList_Check(container)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); i++) {
            if (PyList_GET_ITEM(container, i) != *expected++) {
                return false;
            }
        }
        *at += PyList_GET_SIZE(container);
        return true;
    }
    for (Py_ssize_t position = 0; PyDict_Next(container, &position, &key, &value); expected += 2) {
        if (key != expected[0] || value != expected[1]) {
            return false;
        }
    }
    *at += 2 * PyDict_GET_SIZE(container);
    return true;
}

PyObject *are_contents(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 3 || !PyList_Check(given[0]) || !PyList_Check(given[1]) || !PyList_Check(given[2])
        || PyList_GET_SIZE(given[0]) != PyList_GET_SIZE(given[1])) {
        PyErr_SetString(PyExc_TypeError, "are_contents(containers, lengths, contents) takes lists, a length for each");
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(given[0]), at = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *container = PyList_GET_ITEM(given[0], i);
        fetch_table(given[0], i);
        bool is_dict = PyDict_Check(container);
        npy_intp length;
        if ((!is_dict && !PyList_Check(container)) || !as_integer(PyList_GET_ITEM(given[1], i), &length)) {
            PyErr_SetString(PyExc_TypeError, "expected dicts and lists, and their lengths");
            return NULL;
        }
        Py_ssize_t own = is_dict ? PyDict_GET_SIZE(container) : PyList_GET_SIZE(container);
        if (own != length || at + own * (1 + is_dict) > PyList_GET_SIZE(given[2])
            || !holds(container, given[2], &at)) {
            Py_RETURN_FALSE;
        }
    }
    return PyBool_FromLong(at == PyList_GET_SIZE(given[2]));
}

PyObject *are_of_types(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2 || !PyList_Check(given[0]) || !PyList_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "are_of_types(objects, types) takes two lists");
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(given[0]);
    if (count != PyList_GET_SIZE(given[1])) {
        Py_RETURN_FALSE;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            __builtin_prefetch(PyList_GET_ITEM(given[0], i + AHEAD));
        }
        if ((PyObject *)Py_TYPE(PyList_GET_ITEM(given[0], i)) != PyList_GET_ITEM(given[1], i)) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}
