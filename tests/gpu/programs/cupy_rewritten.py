"""Times CuPy steps as torch_rewritten.py does those of PyTorch: in memory that is left to the driver, in such memory again,
both in a pause, and in memory that is made managed, recorded. The argument is the library that allocates for the first two."""

import ctypes
import statistics
import sys
import time

import cupy

import turns

ROUNDS, STEPS, WARM_UP = 100, 12, 3


class Work:
    def __init__(self, pool):
        self.pool = pool
        with cupy.cuda.using_allocator(pool.malloc):
            self.matrix = (cupy.arange(1 << 22, dtype=cupy.float64) % 13).reshape(2048, 2048)
            self.vector = cupy.arange(1 << 23, dtype=cupy.int64) * 2654435761 % 1000003

    def step(self, number):
        product = self.matrix @ (self.matrix + number)
        ordered = cupy.sort(self.vector * (number + 1) % 1000003)
        return product.sum() + ordered[::4096].sum()

    def block(self):
        """Median microseconds of a step; the first ones are for whatever was just switched on."""
        samples = []
        with cupy.cuda.using_allocator(self.pool.malloc):
            for number in range(WARM_UP + STEPS):
                cupy.cuda.Device().synchronize()
                started = time.perf_counter()
                self.step(number)
                cupy.cuda.Device().synchronize()
                samples.append((time.perf_counter() - started) * 1e6)
        return statistics.median(samples[WARM_UP:])


def main():
    cupy.cuda.Device().synchronize()  # makes the context that the library's pool needs
    allocate = ctypes.CDLL(sys.argv[1]).limited_allocate
    allocate.restype, allocate.argtypes = ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)

    def plain_pool():
        def take(size):  # never given back: the pool keeps it
            return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(allocate(size, 0, None), size, None, 0), 0)
        return cupy.cuda.MemoryPool(take)

    first, second, third = Work(plain_pool()), Work(plain_pool()), Work(cupy.cuda.MemoryPool())

    def recorded_block():
        cupy.cuda.runtime.profilerStart()
        try:
            return third.block()
        finally:
            cupy.cuda.runtime.profilerStop()

    turns.print_against_first([first.block, second.block, recorded_block], ROUNDS)


main()
