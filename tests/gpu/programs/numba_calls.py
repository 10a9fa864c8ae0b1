"""Numba: compiled Python functions call the driver through pointers. No unwinder knows their code, and it stands on the
stack between the driver and Python."""

import ctypes

import numpy
from numba import njit

BYTES, ROUNDS = 4 << 20, 20

driver = ctypes.CDLL("libcuda.so.1")


def entry(name, arguments):
    """A function of the driver as compiled code may call it: addresses and sizes are numbers there."""
    function = getattr(driver, name)
    function.argtypes = (ctypes.c_int64,) * arguments
    function.restype = ctypes.c_int
    return function


copy_up, copy_down = entry("cuMemcpyHtoD_v2", 3), entry("cuMemcpyDtoH_v2", 3)
synchronize = entry("cuCtxSynchronize", 0)


@njit
def upload(device, host, size, rounds):
    failed = 0
    for _ in range(rounds):
        if copy_up(device, host, size) != 0 or synchronize() != 0:
            failed += 1
    return failed


@njit
def download(host, device, size):
    return copy_down(host, device, size)


context, device, address = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
assert driver.cuInit(0) == 0
assert driver.cuDeviceGet(ctypes.byref(device), 0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
assert driver.cuCtxSetCurrent(context) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(BYTES)) == 0

source = numpy.arange(BYTES // 4, dtype=numpy.int32)
back = numpy.zeros_like(source)
print("failed", upload(address.value, source.ctypes.data, BYTES, ROUNDS), flush=True)
print("status", download(back.ctypes.data, address.value, BYTES), flush=True)
print("sum", int(back.sum(dtype=numpy.int64)))
assert (back == source).all()
assert driver.cuMemFree_v2(address) == 0
