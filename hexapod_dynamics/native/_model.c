/* Functions of a robot's library (include/hd_entries.h) as builtins of Python.
 *
 * One function, call_entry, serves all of them: it checks the arguments by the letters of the entry's shapes, makes the
 * arrays of the results, calls, and returns them; None where an argument is no C-contiguous, aligned float64 array of
 * the right shape, or the function did not compute. Callers then convert their input, or refuse it by name.
 *
 * The first argument is the memory of a morphology, an int64 array that begins with struct hd_model. Everything that
 * allocates comes before the computation, and nothing of it after it (a collection of garbage may call the model
 * again); the interpreter's lock is held throughout, so threads may share a model. The module does not declare
 * that it can do without that lock.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include "include/hd_entry.h"

enum kind { NUMBERS, LEG, FORCES, LEGS, NAMES, FLOAT, POSES, FOOT_FORCES, NOTHING };
enum size { ONE, THREE, FOUR, SIX, ALL_JOINTS, MOVING, VELOCITIES, SIZES }; /* places in the table that sizes_of fills */
enum { MOST = 8 };
#ifndef HD_SOURCE_DIGEST
#define HD_SOURCE_DIGEST ""
#endif

struct shape {
    int kind, dimensions;
    int sizes[2];
};

typedef struct {
    PyObject_HEAD
    const struct hd_entry *entry;
    PyMethodDef method;
    int argument_count, result_count;
    struct shape arguments[MOST], results[MOST];
} Entry;

static PyArray_Descr *float64;
static PyObject *absent; /* stands for a force that is not there */

/* ---- arguments ---- */

static inline void sizes_of(const struct hd_model *m, npy_intp *sizes)
{
    sizes[ONE] = 1, sizes[THREE] = 3, sizes[FOUR] = 4, sizes[SIX] = 6;
    sizes[ALL_JOINTS] = (npy_intp)m->joint_count;
    sizes[MOVING] = (npy_intp)m->moving_count;
    sizes[VELOCITIES] = (npy_intp)(6 + m->moving_count);
}

/* Numbers of an argument; NULL where it does not fit. */
static inline const void *numbers_of(const npy_intp *sizes, const struct shape *shape, PyObject *argument)
{
    if (!PyArray_CheckExact(argument))
        return NULL;
    PyArrayObject *array = (PyArrayObject *)argument;
    if (PyArray_NDIM(array) != shape->dimensions || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array))
        return NULL;
    const npy_intp *given = PyArray_DIMS(array);
    if (given[0] != sizes[shape->sizes[0]] || (shape->dimensions > 1 && given[1] != sizes[shape->sizes[1]]))
        return NULL;
    return PyArray_DATA(array);
}

/* Numbers of an int64 array (least or more); NULL where it is none. */
static inline const void *indices_of(PyObject *argument, npy_intp least)
{
    if (!PyArray_CheckExact(argument))
        return NULL;
    PyArrayObject *array = (PyArrayObject *)argument;
    const int good = PyArray_NDIM(array) == 1 && PyArray_TYPE(array) == NPY_INT64 && PyArray_ISCARRAY_RO(array);
    return good && PyArray_DIMS(array)[0] >= least ? PyArray_DATA(array) : NULL;
}

/* ---- results ---- */

static inline PyObject *new_array(const npy_intp *sizes, const struct shape *shape)
{
    npy_intp own[2] = {sizes[shape->sizes[0]], sizes[shape->sizes[1]]};
    Py_INCREF(float64); /* the array takes it */
    return PyArray_NewFromDescr(&PyArray_Type, float64, shape->dimensions, own, NULL, NULL, 0, NULL);
}

/* A new array on numbers of another one. */
static PyObject *view_of(PyObject *base, int dimensions, npy_intp *sizes, double *numbers)
{
    PyObject *view = PyArray_SimpleNewFromData(dimensions, sizes, NPY_DOUBLE, numbers);
    if (!view)
        return NULL;
    Py_INCREF(base);
    if (PyArray_SetBaseObject((PyArrayObject *)view, base) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    return view;
}

/* {name: (rotation (3, 3), start (3))} on the numbers of an array (links, 12). */
static PyObject *dict_of_poses(PyObject *base, PyObject *names)
{
    npy_intp sizes[2] = {3, 3};
    PyObject *made = PyDict_New();
    for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(names); i++) {
        double *numbers = (double *)PyArray_DATA((PyArrayObject *)base) + 12 * i;
        PyObject *pair = PyTuple_New(2);
        PyObject *rotation = pair ? view_of(base, 2, sizes, numbers) : NULL;
        PyObject *start = rotation ? view_of(base, 1, sizes, numbers + 9) : NULL;
        if (start) {
            PyTuple_SET_ITEM(pair, 0, rotation);
            PyTuple_SET_ITEM(pair, 1, start);
        } else {
            Py_XDECREF(rotation);
        }
        if (!start || PyDict_SetItem(made, PyTuple_GET_ITEM(names, i), pair) < 0)
            Py_CLEAR(made);
        Py_XDECREF(pair);
    }
    return made;
}

/* ---- the call ---- */

static PyObject *refuse(PyObject *const *made, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        Py_XDECREF(made[i]);
    Py_RETURN_NONE;
}

static PyObject *call_entry(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Entry *entry = (const Entry *)self;
    struct hd_model *m = count > 0 ? (struct hd_model *)indices_of(arguments[0], sizeof *m / 8) : NULL;
    if (!m)
        return PyErr_Format(PyExc_TypeError, "%s: the memory of a model needed", entry->entry->name);
    const void *given[count + 1];
    npy_intp sizes[SIZES];
    sizes_of(m, sizes);
    PyObject *names = NULL;
    Py_ssize_t at = 1, feet = 0;
    for (int i = 0; i < entry->argument_count; i++) {
        const struct shape *shape = entry->arguments + i;
        if (shape->kind == NUMBERS && at < count) {
            if (!(given[at - 1] = numbers_of(sizes, shape, arguments[at])))
                Py_RETURN_NONE;
            at++;
            continue;
        }
        Py_ssize_t last = at + 1; /* behind what belongs to these letters */
        if (shape->kind == FORCES)
            last = at + (Py_ssize_t)m->leg_count;
        else if (shape->kind == LEGS) {
            last = count;
            feet = count - at;
        }
        if (last > count)
            return PyErr_Format(PyExc_TypeError, "%s: %zd arguments given, more needed", entry->entry->name, count);
        for (; at < last; at++) {
            PyObject *argument = arguments[at];
            const void *numbers = NULL;
            if (shape->kind == NAMES) {
                names = argument;
                if (!PyTuple_CheckExact(names))
                    Py_RETURN_NONE;
            } else if (shape->kind == LEG || shape->kind == LEGS) {
                if (!(numbers = indices_of(argument, 1)))
                    Py_RETURN_NONE;
            } else if (!(shape->kind == FORCES && argument == absent)) {
                if (!(numbers = numbers_of(sizes, shape, argument)))
                    Py_RETURN_NONE;
            }
            given[at - 1] = numbers;
        }
    }
    if (at != count)
        return PyErr_Format(PyExc_TypeError, "%s: %zd arguments given, %zd needed", entry->entry->name, count, at);
    given[count - 1] = NULL;

    if (entry->result_count == 1 && entry->results[0].kind == NUMBERS) { /* what most functions return */
        PyObject *array = new_array(sizes, entry->results);
        if (!array)
            return NULL;
        double *numbers = PyArray_DATA((PyArrayObject *)array);
        if (entry->entry->call(m, given, &numbers))
            return array;
        Py_DECREF(array);
        Py_RETURN_NONE;
    }
    PyObject *made[MOST + feet];
    double *out[MOST + feet], number = 0.0;
    Py_ssize_t results = 0;
    for (int i = 0; i < entry->result_count; i++) {
        const struct shape *shape = entry->results + i;
        const Py_ssize_t copies = shape->kind == FOOT_FORCES ? feet : 1;
        for (Py_ssize_t copy = 0; copy < copies; copy++, results++) {
            made[results] = NULL;
            out[results] = &number;
            if (shape->kind == FLOAT || shape->kind == NOTHING)
                continue;
            if (shape->kind == POSES) {
                npy_intp links[2] = {0, 12};
                for (int64_t leg = 0; leg < m->leg_count; leg++)
                    links[0] += (npy_intp)(m->legs[leg].last + 1);
                if (links[0] != PyTuple_GET_SIZE(names))
                    return refuse(made, results);
                made[results] = PyArray_SimpleNew(2, links, NPY_DOUBLE);
            } else
                made[results] = new_array(sizes, shape);
            if (!made[results]) {
                Py_DECREF(refuse(made, results));
                return NULL;
            }
            out[results] = PyArray_DATA((PyArrayObject *)made[results]);
        }
    }
    PyObject *all = NULL;
    if (entry->result_count > 1) {
        all = PyTuple_New(results); /* holds them from here on */
        if (!all) {
            Py_DECREF(refuse(made, results));
            return NULL;
        }
        for (Py_ssize_t i = 0; i < results; i++)
            PyTuple_SET_ITEM(all, i, made[i]);
    }

    if (!entry->entry->call(m, given, out)) {
        if (all) {
            Py_DECREF(all);
            Py_RETURN_NONE;
        }
        return refuse(made, results);
    }
    switch (entry->results[0].kind) {
    case FLOAT: return PyFloat_FromDouble(number);
    case NOTHING: return PyLong_FromLongLong(m->moving_count);
    case POSES: {
        PyObject *poses = dict_of_poses(made[0], names);
        Py_DECREF(made[0]);
        return poses;
    }
    default: return all ? all : made[0];
    }
}

/* ---- making builtins ---- */

static int parse(const char *word, struct shape *shape)
{
    static const struct {
        const char *word;
        struct shape shape;
    } words[] = {
        {"33", {NUMBERS, 2, {THREE, THREE}}},      {"3", {NUMBERS, 1, {THREE}}},
        {"6", {NUMBERS, 1, {SIX}}},                {"q", {NUMBERS, 1, {ALL_JOINTS}}},
        {"v", {NUMBERS, 1, {VELOCITIES}}},         {"n", {NUMBERS, 1, {MOVING}}},
        {"t", {NUMBERS, 2, {FOUR, ALL_JOINTS}}},   {"vv", {NUMBERS, 2, {VELOCITIES, VELOCITIES}}},
        {"6v", {NUMBERS, 2, {SIX, VELOCITIES}}},   {"3v", {NUMBERS, 2, {THREE, VELOCITIES}}},
        {"vn", {NUMBERS, 2, {VELOCITIES, MOVING}}}, {"leg", {LEG, 0, {0}}},
        {"forces", {FORCES, 1, {THREE}}},          {"legs", {LEGS, 0, {0}}},
        {"names", {NAMES, 0, {0}}},                {"1", {FLOAT, 0, {ONE}}},
        {"poses", {POSES, 2, {0}}},                {"nothing", {NOTHING, 0, {0}}},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0) {
            *shape = words[i].shape;
            return 1;
        }
    PyErr_Format(PyExc_ValueError, "shape %s is not known", word);
    return 0;
}

static int parse_all(const char *text, struct shape *shapes, int *count, int results)
{
    char word[16];
    int used;
    for (*count = 0; sscanf(text, "%15s%n", word, &used) == 1; text += used) {
        if (*count == MOST || !parse(word, shapes + *count))
            return 0;
        if (results && shapes[*count].kind == FORCES)
            shapes[*count].kind = FOOT_FORCES;
        ++*count;
    }
    return 1;
}

static PyTypeObject entry_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hexapod_dynamics.native._model.Entry",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A function of a robot's library and the shapes of what it takes and returns.",
};

/* builtins(address, absent): {name: builtin} of the table hd_entries at an address; absent: the object that stands for
 * a force that is not there, in all of them. */
static PyObject *builtins(PyObject *module, PyObject *arguments)
{
    PyObject *address, *given;
    if (!PyArg_ParseTuple(arguments, "OO", &address, &given))
        return NULL;
    Py_INCREF(given);
    Py_XSETREF(absent, given);
    const struct hd_entry *entries = PyLong_AsVoidPtr(address);
    PyObject *made = entries ? PyDict_New() : NULL;
    if (!entries && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "address of a table needed");
    (void)module;
    for (; made && entries->name; entries++) {
        Entry *entry = PyObject_New(Entry, &entry_type);
        PyObject *function = NULL;
        if (entry) {
            entry->entry = entries;
            entry->method = (PyMethodDef){entries->name, (PyCFunction)(void (*)(void))call_entry, METH_FASTCALL, NULL};
            if (parse_all(entries->shapes, entry->arguments, &entry->argument_count, 0) &&
                parse_all(entries->results, entry->results, &entry->result_count, 1))
                function = PyCFunction_New(&entry->method, (PyObject *)entry);
            Py_DECREF(entry); /* the function keeps it */
        }
        if (!function || PyDict_SetItemString(made, entries->name, function) < 0)
            Py_CLEAR(made);
        Py_XDECREF(function);
    }
    return made;
}

/* run_each(address of hd_run_state, memories, states, forward, R, q, nu, given, out): run the states (indices, int64),
 * each on its own memory of the list, on C-contiguous arrays of all states; the first that is not computed, -1 if none.
 */
static PyObject *run_each(PyObject *module, PyObject *arguments)
{
    int (*run)(struct hd_model *, int, const double *, const double *, const double *, const double *, double *);
    PyObject *address, *memories, *states, *R, *q, *nu, *given, *out;
    int forward;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!O!pO!O!O!O!O!", &address, &PyList_Type, &memories, &PyArray_Type, &states,
                          &forward, &PyArray_Type, &R, &PyArray_Type, &q, &PyArray_Type, &nu, &PyArray_Type, &given,
                          &PyArray_Type, &out))
        return NULL;
    const void *function = PyLong_AsVoidPtr(address);
    const int64_t *indices = indices_of(states, 0);
    PyObject *arrays[] = {R, q, nu, given, out};
    double *numbers[5];
    npy_intp widths[5];
    int good = function && indices && PyArray_DIMS((PyArrayObject *)states)[0] == PyList_GET_SIZE(memories);
    for (int i = 0; good && i < 5; i++) {
        PyArrayObject *array = (PyArrayObject *)arrays[i];
        good = PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) > 1;
        numbers[i] = PyArray_DATA(array);
        widths[i] = good ? PyArray_STRIDES(array)[0] / (npy_intp)sizeof(double) : 0;
    }
    memcpy(&run, &function, sizeof run);
    npy_intp worst = -1;
    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(memories); i++) {
        struct hd_model *m = (struct hd_model *)indices_of(PyList_GET_ITEM(memories, i), sizeof *m / 8);
        const npy_intp s = (npy_intp)indices[i];
        good = m && s >= 0 && s < PyArray_DIMS((PyArrayObject *)out)[0];
        if (good && !run(m, forward, numbers[0] + widths[0] * s, numbers[1] + widths[1] * s, numbers[2] + widths[2] * s,
                         numbers[3] + widths[3] * s, numbers[4] + widths[4] * s) && (worst < 0 || s < worst))
            worst = s;
    }
    if (!good)
        return PyErr_Format(PyExc_TypeError, "run_each: memories, states and C-contiguous float64 arrays needed");
    return PyLong_FromSsize_t(worst);
}

static PyMethodDef functions[] = {
    {"run_each", run_each, METH_VARARGS, "Run many states, each on the memory of its morphology."},
    {"builtins", builtins, METH_VARARGS, "Builtins, by name, of the table of a robot's library at an address."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_model", .m_doc = "Builtins of a robot's library.", .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__model(void)
{
    import_array();
    float64 = PyArray_DescrFromType(NPY_DOUBLE);
    PyObject *module = PyType_Ready(&entry_type) < 0 ? NULL : PyModule_Create(&definition);
    if (!module || PyModule_AddStringConstant(module, "SOURCE_DIGEST", HD_SOURCE_DIGEST) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
