/// A C++ program with Python inside: embeds_python LIBPYTHON global|local SCRIPT
///
/// Runs SCRIPT, which may call `allocate`, a function of this program's that enters CUDA; then, where SCRIPT
/// has left a function `on_thread`, calls it on a thread that Python did not make. What of libpython it needs
/// is declared here, so one program serves every version; in the mode `local` nobody else finds its symbols.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>

namespace {

struct PyObject;
struct PyMethodDef {
    const char* name;
    PyObject* (*call)(PyObject* self, PyObject* argument);
    int flags;
    const char* doc;
};
constexpr int METH_O = 8;

/// A function of a library; without it there is no point in going on.
class Function {
public:
    Function(void* library, const char* name) : address_(library == nullptr ? nullptr : dlsym(library, name)) {
        if (address_ == nullptr) {
            std::fprintf(stderr, "%s: %s\n", name, dlerror());
            std::exit(3);
        }
    }
    template <class Type>
    Type* as() const {
        return reinterpret_cast<Type*>(address_);
    }

private:
    void* address_;
};

void* python = nullptr;
void* driver = nullptr;

#define PYTHON(name, type) Function(python, #name).as<type>()
#define DRIVER(name) Function(driver, #name).as<decltype(name)>()

[[gnu::noinline]] PyObject* allocate(PyObject*, PyObject* size) {
    CUdeviceptr address = 0;
    const auto bytes = PYTHON(PyLong_AsUnsignedLongLong, unsigned long long(PyObject*))(size);
    return PYTHON(PyLong_FromLong, PyObject * (long))(DRIVER(cuMemAlloc_v2)(&address, bytes));
}

PyMethodDef allocate_definition{"allocate", &allocate, METH_O, nullptr};

void run(const std::string& source) {
    if (PYTHON(PyRun_SimpleString, int(const char*))(source.c_str()) != 0)
        std::exit(4);
}

void enter_cuda() {
    CUcontext context = nullptr;
    if (DRIVER(cuInit)(0) != CUDA_SUCCESS || DRIVER(cuDevicePrimaryCtxRetain)(&context, 0) != CUDA_SUCCESS ||
        DRIVER(cuCtxSetCurrent)(context) != CUDA_SUCCESS)
        std::exit(5);
}

void run_on_thread() {
    enter_cuda();
    const int state = PYTHON(PyGILState_Ensure, int())();
    run("'on_thread' in globals() and on_thread()");
    PYTHON(PyGILState_Release, void(int))(state);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4)
        return 2;
    python = dlopen(argv[1], RTLD_NOW | (std::strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    PYTHON(Py_InitializeEx, void(int))(0);
    enter_cuda();
    PyObject* const module = PYTHON(PyImport_AddModule, PyObject * (const char*))("__main__");
    PyObject* const function = PYTHON(PyCFunction_NewEx, PyObject * (PyMethodDef*, PyObject*, PyObject*))(
        &allocate_definition, nullptr, nullptr);
    PYTHON(PyObject_SetAttrString, int(PyObject*, const char*, PyObject*))(module, "allocate", function);
    const std::string script = argv[3];
    run("import sys; sys.path.insert(0, '" + script.substr(0, script.rfind('/')) + "')");
    run("exec(compile(open('" + script + "', encoding='utf-8').read(), '" + script + "', 'exec'))");
    void* const state = PYTHON(PyEval_SaveThread, void*())();
    std::thread(run_on_thread).join();
    PYTHON(PyEval_RestoreThread, void(void*))(state);
    const int status = PYTHON(Py_FinalizeEx, int())();
    std::printf("python ended: %d\n", status);
    return 0;
}
