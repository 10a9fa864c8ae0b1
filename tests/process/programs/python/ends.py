"""Programs that end with CUDA calls under way, and others whose Python is of an unusual kind."""
import atexit
import ctypes
import multiprocessing
import os
import sys
import threading
import time

import driver


def call():
    address = ctypes.c_uint64()  # of this thread alone
    driver.released.cuCtxSetCurrent(driver.context)
    assert driver.released.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
    assert driver.released.cuMemFree_v2(address) == 0


def daemons():
    """Threads that are in the driver while the interpreter ends: it frees their state under them."""
    began = threading.Barrier(5)

    def work():
        address = ctypes.c_uint64()
        driver.released.cuCtxSetCurrent(driver.context)
        began.wait()
        while True:
            driver.released.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096))
            driver.released.cuMemFree_v2(address)

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    began.wait()


def threads():
    """Threads that come and go, the last of them at the end."""
    for _ in range(5):
        several = [threading.Thread(target=call) for _ in range(4)]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
    threading.Thread(target=lambda: (time.sleep(0.01), call())).start()


def exit_handlers():
    atexit.register(call)
    call()


class Buffer:
    def __del__(self):
        call()


def destructors():
    global kept, cycle
    kept = Buffer()
    cycle = [Buffer()]
    cycle.append(cycle)
    sys.kept_to_the_end = Buffer()


def subinterpreters():
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    each = interpreters.create()
    try:
        interpreters.run_string(each, "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuCtxSynchronize(), flush=True)")
    except Exception as error:  # 3.12 has no ctypes there
        print(type(error), flush=True)
    interpreters.destroy(each)
    call()


def child():
    print("child", os.getpid() != parent, flush=True)


def forks():
    global parent
    parent = os.getpid()
    call()
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    call()
    print("status", process.exitcode)


def without_state():
    """A thread that Python knows nothing of."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    synchronize = ctypes.cast(driver.released.cuCtxSynchronize, ctypes.c_void_p)
    driver.released.cuCtxSynchronize()
    assert libc.pthread_create(ctypes.byref(thread), None, synchronize, None) == 0
    libc.pthread_join(thread, None)


def abrupt():
    daemons()
    print("leaving", flush=True)
    os._exit(3)


driver.start()
globals()[sys.argv[1]]()
print("end of", sys.argv[1], flush=True)
