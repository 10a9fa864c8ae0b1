"""Managed memory that host and device use in turn under torch.profiler, which takes CUPTI's only seat."""

import ctypes

import cupy
import numpy
import torch
from torch.profiler import ProfilerActivity, profile

COUNT, ROUNDS = 1 << 21, 5
memory = cupy.cuda.malloc_managed(COUNT * 4)
on_device = cupy.ndarray(COUNT, cupy.float32, memory)
on_host = numpy.frombuffer((ctypes.c_float * COUNT).from_address(memory.ptr), numpy.float32)
add_one = cupy.ElementwiseKernel("", "float32 x", "x += 1", "add_one")
on_host[:] = 0
torch.ones(1).cuda()
with profile(activities=[ProfilerActivity.CUDA]) as profiler:
    for _ in range(ROUNDS):
        add_one(on_device)
        cupy.cuda.runtime.deviceSynchronize()
        on_host += 1
kernels = sum(1 for event in profiler.events() if "add_one" in event.name)
print(f"sum {on_host.sum(dtype=numpy.float64):.0f}, profiled kernels {kernels}")
assert kernels == ROUNDS
