"""CuPy with the memory pool that the argument names: default, managed, asynchronous, or none."""

import sys

import cupy

pools = {"default": cupy.get_default_memory_pool, "managed": lambda: cupy.cuda.MemoryPool(cupy.cuda.malloc_managed),
         "asynchronous": cupy.cuda.MemoryAsyncPool, "none": None}
pool = pools[sys.argv[1]]
cupy.cuda.set_allocator(pool().malloc if pool else None)
for round_number in range(4):
    arrays = [cupy.arange(1 << 20, dtype=cupy.float64) % (7 + index) for index in range(4)]
    product = (arrays[0].reshape(1024, 1024) @ arrays[1].reshape(1024, 1024)).sum()
    ordered = cupy.sort(arrays[2] * arrays[3])
    print(f"round {round_number} product {float(product):.1f} median {float(ordered[1 << 19]):.1f}")
    del arrays, ordered
