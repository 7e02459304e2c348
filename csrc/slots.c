/* Reads, sets and compares slots of many objects at once, and their reference counts.
 *
 * The objects are rarely in the cache, so their memory is prefetched.
 */

#include "kernels.h"
#include "lists.h"

#include <structmember.h>

Py_ssize_t offset_of(PyObject *member)
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

static void fetch_slot(PyObject *objects, Py_ssize_t i, Py_ssize_t offset)
{
    if (i < PySequence_Fast_GET_SIZE(objects)) {
        __builtin_prefetch((char *)PySequence_Fast_GET_ITEM(objects, i) + offset);
    }
}

static PyObject *values_of(PyObject *member, Py_ssize_t offset, PyObject *objects)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(objects);
    PyObject *values = PyList_New(n);
    if (values != NULL && PySequence_Fast_GET_SIZE(objects) != n) { /* by what was collected to make the list */
        PyErr_SetString(PyExc_RuntimeError, "the list of objects changed while it was read");
        Py_CLEAR(values);
    }
    for (Py_ssize_t i = 0; values != NULL && i < n; i++) {
        fetch_slot(objects, i + AHEAD, offset);
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
        fetch_slot(objects, i + AHEAD, offset);
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

/* The slot of an int gets the next one. */
static bool incremented(PyObject **slot)
{
    if (*slot == NULL || !PyLong_CheckExact(*slot)) {
        PyErr_SetString(PyExc_TypeError, "expected slots that hold integers");
        return false;
    }
    long long count = PyLong_AsLongLong(*slot);
    PyObject *next = count == -1 && PyErr_Occurred() ? NULL : PyLong_FromLongLong(count + 1);
    if (next == NULL) {
        return false;
    }
    Py_SETREF(*slot, next);
    return true;
}

PyObject *increment_slot(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "increment_slot(member, objects) takes two arguments");
        return NULL;
    }
    Py_ssize_t offset = offset_of(given[0]);
    PyObject *objects = offset < 0 ? NULL : PySequence_Fast(given[1], "expected a sequence of objects");
    bool done = objects != NULL;
    for (Py_ssize_t i = 0; done && i < PySequence_Fast_GET_SIZE(objects); i++) {
        fetch_slot(objects, i + AHEAD, offset);
        PyObject **slot = slot_of(given[0], offset, PySequence_Fast_GET_ITEM(objects, i));
        done = slot != NULL && incremented(slot);
    }
    Py_XDECREF(objects);
    if (!done) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- what a program writes */

enum { ELEMENTS, STORAGE, MEMORY, ARRAY, WRITER, VERSION, MEMBERS };

static void fetch_storage(PyObject *members, PyObject *tensors, Py_ssize_t i, Py_ssize_t offset)
{
    PyObject *t = i < PyList_GET_SIZE(tensors) ? PyList_GET_ITEM(tensors, i) : NULL;
    if (t != NULL && PyObject_TypeCheck(t, PyDescr_TYPE(PyTuple_GET_ITEM(members, STORAGE)))) {
        char *storage = *(char **)((char *)t + offset);
        __builtin_prefetch(storage, 1);
        __builtin_prefetch(storage + 64, 1);
    }
}

/* Makes an array the elements of a tensor and counts the write; 0 if its storage has a memory, -1 with an error. */
static int exchanged(PyObject *members, const Py_ssize_t *offsets, PyObject *t, PyObject *array, PyObject *writer)
{
    PyObject **slots[MEMBERS];
    PyObject *owner = t;
    for (int m = 0; m < MEMBERS; m++) {
        slots[m] = slot_of(PyTuple_GET_ITEM(members, m), offsets[m], owner);
        if (slots[m] == NULL) {
            return -1;
        }
        if (m == STORAGE && *slots[m] == NULL) {
            PyErr_SetObject(PyExc_AttributeError, PyDescr_NAME(PyTuple_GET_ITEM(members, m)));
            return -1;
        }
        owner = m < STORAGE ? t : *slots[STORAGE];
    }
    if (*slots[MEMORY] != Py_None) {
        return 0;
    }
    if (!incremented(slots[VERSION])) {
        return -1;
    }
    PyObject *before[] = {*slots[ELEMENTS], *slots[ARRAY], *slots[WRITER]};
    *slots[ELEMENTS] = Py_NewRef(array);
    *slots[ARRAY] = Py_NewRef(array);
    *slots[WRITER] = Py_NewRef(writer);
    for (int i = 0; i < 3; i++) { /* now, for it may run code that asks for any of these */
        Py_XDECREF(before[i]);
    }
    return 1;
}

PyObject *exchange_each(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    npy_intp done;
    if (n != 5 || !PyTuple_Check(given[0]) || PyTuple_GET_SIZE(given[0]) != MEMBERS || !PyList_Check(given[1])
        || !PyList_Check(given[2]) || PyList_GET_SIZE(given[1]) != PyList_GET_SIZE(given[2])
        || !as_integer(given[4], &done) || done < 0) {
        PyErr_SetString(PyExc_TypeError, "exchange_each(members, tensors, arrays, writer, start) takes six members, two "
                                         "lists of one length, a name and a place");
        return NULL;
    }
    Py_ssize_t offsets[MEMBERS];
    for (int m = 0; m < MEMBERS; m++) {
        offsets[m] = offset_of(PyTuple_GET_ITEM(given[0], m));
        if (offsets[m] < 0) {
            return NULL;
        }
    }
    while (done < PyList_GET_SIZE(given[1]) && done < PyList_GET_SIZE(given[2])) {
        fetch_slot(given[1], done + 2 * AHEAD, offsets[STORAGE]);
        fetch_storage(given[0], given[1], done + AHEAD, offsets[STORAGE]);
        PyObject *array = PyList_GET_ITEM(given[2], done);
        int result = exchanged(given[0], offsets, PyList_GET_ITEM(given[1], done), array, given[3]);
        if (result < 0) {
            return NULL;
        }
        if (result == 0) {
            break;
        }
        done++;
    }
    return PyLong_FromSsize_t(done);
}

#define MOST_MEMBERS 8

/* Whether the objects hold the very things that the lists, one for each member, have; -1 with an error. */
static int hold_all(PyObject *members, PyObject *objects, PyObject *lists)
{
    Py_ssize_t count = PyTuple_GET_SIZE(members), n = PySequence_Fast_GET_SIZE(objects), offsets[MOST_MEMBERS];
    for (Py_ssize_t m = 0; m < count; m++) {
        PyObject *list = PyTuple_GET_ITEM(lists, m);
        offsets[m] = offset_of(PyTuple_GET_ITEM(members, m));
        if (offsets[m] < 0) {
            return -1;
        }
        if (!PyList_Check(list) || PyList_GET_SIZE(list) != n) {
            return PyList_Check(list) ? 0 : (PyErr_SetString(PyExc_TypeError, "expected lists of values"), -1);
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = PySequence_Fast_GET_ITEM(objects, i);
        for (Py_ssize_t m = 0; m < count; m++) {
            fetch_slot(objects, i + AHEAD, offsets[m]);
            PyObject **slot = slot_of(PyTuple_GET_ITEM(members, m), offsets[m], x);
            if (slot == NULL) {
                return -1;
            }
            if (*slot != PyList_GET_ITEM(PyTuple_GET_ITEM(lists, m), i)) {
                return 0;
            }
        }
    }
    return 1;
}

PyObject *are_in_slots(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    if (n != 3 || !PyTuple_Check(given[0]) || !PyTuple_Check(given[2]) || PyTuple_GET_SIZE(given[0]) > MOST_MEMBERS
        || PyTuple_GET_SIZE(given[0]) != PyTuple_GET_SIZE(given[2])) {
        PyErr_SetString(PyExc_TypeError, "are_in_slots(members, objects, values) takes as many lists as members");
        return NULL;
    }
    PyObject *objects = PySequence_Fast(given[1], "expected a sequence of objects");
    int result = objects == NULL ? -1 : hold_all(given[0], objects, given[2]);
    Py_XDECREF(objects);
    return result < 0 ? NULL : PyBool_FromLong(result);
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

/* ---- who holds objects */

PyObject *held_elsewhere(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    npy_intp count;
    const npy_intp *places = n == 3 ? vector_of_places(given[1]) : NULL;
    if (places == NULL || !PyList_Check(given[0]) || !as_integer(given[2], &count)) {
        PyErr_SetString(PyExc_TypeError, "held_elsewhere(objects, places, count) takes a list, a vector of intp and a number");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyArray_SIZE((PyArrayObject *)given[1]); i++) {
        if (places[i] < 0 || places[i] >= PyList_GET_SIZE(given[0])) {
            PyErr_SetString(PyExc_IndexError, "expected places of the list of objects");
            Py_CLEAR(found);
        } else if (Py_REFCNT(PyList_GET_ITEM(given[0], places[i])) > count) {
            PyObject *place = PyLong_FromSsize_t(places[i]);
            if (place == NULL || PyList_Append(found, place) < 0) {
                Py_CLEAR(found);
            }
            Py_XDECREF(place);
        }
    }
    return found;
}

/* Whether an object has attributes beside its slots; -1 with an error. */
static int has_attributes(PyObject *x)
{
    if (Py_TYPE(x)->tp_dictoffset == 0) {
        return 0;
    }
    PyObject *table = PyObject_GenericGetDict(x, NULL);
    int result = table == NULL ? -1 : PyDict_GET_SIZE(table) > 0;
    Py_XDECREF(table);
    return result;
}

static bool has_weak_references(PyObject *x)
{
    return PyType_SUPPORTS_WEAKREFS(Py_TYPE(x)) && *PyObject_GET_WEAKREFS_LISTPTR(x) != NULL;
}

PyObject *unheld(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    (void)module;
    npy_intp count;
    if (n != 2 || !PyList_Check(given[0]) || !as_integer(given[1], &count)) {
        PyErr_SetString(PyExc_TypeError, "unheld(objects, count) takes a list and a number");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(given[0]); i++) {
        PyObject *x = PyList_GET_ITEM(given[0], i);
        if (Py_REFCNT(x) > count || has_weak_references(x)) {
            continue;
        }
        Py_INCREF(x);
        int more = has_attributes(x);
        if (more < 0 || (more == 0 && PyList_Append(found, x) < 0)) {
            Py_CLEAR(found);
        }
        Py_DECREF(x);
    }
    return found;
}
