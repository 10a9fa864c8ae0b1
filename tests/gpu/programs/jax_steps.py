"""JAX: a compiled training step with its gradient, and a loop on the device."""

import jax
import numpy
from jax import numpy as jnp

rows = numpy.random.default_rng(0).standard_normal((256, 64)).astype(numpy.float32)
target = rows @ numpy.linspace(-1, 1, 64, dtype=numpy.float32)


@jax.jit
def step(weight):
    loss, slope = jax.value_and_grad(lambda w: jnp.mean((rows @ w - target) ** 2))(weight)
    return weight - 0.1 * slope, loss


weight = jnp.zeros(64)
for index in range(10):
    weight, loss = step(weight)
    print(f"step {index} loss {float(loss):.3f}")
counted = jax.lax.fori_loop(0, 1000, lambda i, total: total + i, jnp.int32(0))
print(f"counted {int(counted)}")
