"""JAX: a compiled sum of an array from the host. Without preallocation: JAX would take most of the card."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402  (the variable above must be set first)
import numpy  # noqa: E402

host = (numpy.arange(4 << 20) % 1000).astype(numpy.int32)
device = jax.device_put(host, jax.devices("gpu")[0])
total = int(jax.jit(lambda x: (x * 2).sum())(device))
print(f"sum {total}")
expected = int((host.astype(numpy.int64) * 2).sum())
assert total == (expected + 2**31) % 2**32 - 2**31
