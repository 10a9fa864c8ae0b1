"""Is this machine fit: nothing is run before there is room for what the suite allocates."""

import ctypes

# The most managed memory the suite holds at once: 256 MiB in an example, 320 MiB in each program of the tables; under
# --act rewrite=all the PyTorch loop, which caps itself at 2 GiB.
MOST_OF_ONE = 2 << 30
MOST_OF_EACH = 320 << 20
HARD_LIMIT_BYTES = 8 << 30


def free_device_memory():
    """(free, total) bytes of device 0 by cuMemGetInfo; None where there is no driver or no device."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, context = ctypes.c_int(), ctypes.c_void_p()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0):
        return None
    if cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
        return None
    try:
        if cuda.cuCtxSetCurrent(context) or cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)):
            return None
        return free.value, total.value
    finally:
        cuda.cuDevicePrimaryCtxRelease_v2(device)


def devices():
    """How many there are; 0 without a driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    return 0 if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) else count.value


def refusal(at_once, held=0):
    """Why the suite must not run here with so many programs at once, or with `held` bytes that a part of it may hold; empty
    when it may."""
    memory = free_device_memory()
    if memory is None:
        return "no CUDA device: use --sim for simcuda"
    limit = min(HARD_LIMIT_BYTES, memory[0] // 8)
    planned = max(MOST_OF_ONE, at_once * MOST_OF_EACH, held)
    if planned > limit:
        return (f"too little free device memory: the suite may hold {planned >> 20} MiB managed, "
                f"the limit here is {limit >> 20} MiB")
    return ""
