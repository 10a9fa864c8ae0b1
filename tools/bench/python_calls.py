"""Times a recorded call with Python frames and without, by turns, in one process: two differ by more than what is to be
measured. Without: the thread's own state is taken from where the shim asks for it. Prints what each frame count adds, in
nanoseconds, as JSON. Run by tools/bench/python-frames."""
import ctypes
import json
import statistics
import sys
import time

driver = ctypes.CDLL("libcuda.so.1")
libc = ctypes.CDLL(None)
libc.pthread_getspecific.restype = ctypes.c_void_p
libc.pthread_setspecific.argtypes = (ctypes.c_uint, ctypes.c_void_p)
ctypes.pythonapi.PyGILState_GetThisThreadState.restype = ctypes.c_void_p

DEPTH, ROUNDS, CALLS = 15, int(sys.argv[1]), 100
state = ctypes.pythonapi.PyGILState_GetThisThreadState()
key = next(key for key in range(1024) if libc.pthread_getspecific(key) == state)


def batch(call, arguments):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call(*arguments)
    return (time.perf_counter_ns() - start) / CALLS


def measure(call, arguments):
    """Medians of the batches: with frames, without."""
    times = ([], [])
    for _ in range(ROUNDS):
        for without, kept in enumerate(times):
            if without:
                libc.pthread_setspecific(key, None)
            kept.append(batch(call, arguments))
            libc.pthread_setspecific(key, state)
    return [statistics.median(each[ROUNDS // 10:]) for each in times]


def deep(frames, call, arguments):
    return measure(call, arguments) if frames <= 3 else deep(frames - 1, call, arguments)


device, context = ctypes.c_int(), ctypes.c_void_p()
driver.cuInit(0)
driver.cuDeviceGet(ctypes.byref(device), 0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
driver.cuCtxSetCurrent(context)
with_frames, without = deep(DEPTH - 1, driver.cuCtxSynchronize, ())  # and the module's own frame
print(json.dumps({"with": with_frames, "without": without, "python": sys.version.split()[0]}))
