"""The CUDA driver by ctypes, as far as the scripts beside this one use it."""
import ctypes

from told import stack  # noqa: F401  (scripts find it here)

released = ctypes.CDLL("libcuda.so.1")  # calls let go of the GIL
held = ctypes.PyDLL("libcuda.so.1")  # and these do not
context = ctypes.c_void_p()
address = ctypes.c_uint64()


def start():
    device = ctypes.c_int()
    assert released.cuInit(0) == 0
    assert released.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert released.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert released.cuCtxSetCurrent(context) == 0


def allocate(size, library=released):
    assert library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
