/* Functions of the module that read, set and compare what many objects hold. */

#ifndef FLAMBEAU_SLOTS_H
#define FLAMBEAU_SLOTS_H

PyObject *read_slot(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *set_slot(PyObject *module, PyObject *const *given, Py_ssize_t n);
PyObject *are_same(PyObject *module, PyObject *const *given, Py_ssize_t n);

#endif
