"""NumPy arrays to the device and sums back in each round."""

import cupy
import numpy

host = numpy.ones(4 << 20, dtype=numpy.float32)
total = 0.0
for step in range(60):
    values = cupy.asarray(host)
    total += float(values.sum())
    if values[0] > 0:
        total += 1
print("sum", total)
