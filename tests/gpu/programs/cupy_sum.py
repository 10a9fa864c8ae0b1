"""CuPy: an array from the host, one elementwise kernel, one reduction."""

import cupy
import numpy

host = numpy.arange(4 << 20, dtype=numpy.float64) % 1000
device = cupy.asarray(host)
total = float((device * 2).sum())
print(f"sum {total:.1f}")
assert total == 2 * host.sum()
