/* Functions on lists: batched operations on the thousands of tensors, arrays and dicts checked before each run. */

#ifndef FLAMBEAU_LISTS_H
#define FLAMBEAU_LISTS_H

#define AHEAD 8 /* objects whose memory is fetched while those before them are looked at */

/* Where, in objects of its class, a slot lies; -1 with an error if `member` is no slot. */
Py_ssize_t offset_of(PyObject *member);

PyObject *maker(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *read_slot(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *set_slot(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *exchange_each(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *increment_slot(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *are_in_slots(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *are_same(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *held_elsewhere(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *unheld(PyObject *module, PyObject *const *given, Py_ssize_t n);

/* The numbers of an array that is a vector of intp; NULL, without an error, if it is none. */
const npy_intp *vector_of_places(PyObject *x);

PyObject *pick(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *places_of_types(PyObject *module, PyObject *const *given, Py_ssize_t n);

PyObject *are_items(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *are_contents(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *are_of_types(PyObject *module, PyObject *const *given, Py_ssize_t n);

PyObject *forms_of(PyObject *module, PyObject *arrays);
PyObject *are_plain(PyObject *module, PyObject *arrays);
PyObject *are_equal_numbers(PyObject *module, PyObject *arrays);
PyObject *fill_each(PyObject *module, PyObject *const *given, Py_ssize_t n);

#endif
