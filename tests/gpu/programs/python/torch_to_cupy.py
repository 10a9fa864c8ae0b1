"""A tensor of PyTorch goes to CuPy by way of NumPy in each round, and so does one that NumPy changes."""

import cupy
import torch

weights = torch.ones(16 << 20, device="cuda")
total = 0.0
for step in range(40):
    weights += torch.rand_like(weights)
    received = cupy.asarray(weights.cpu().numpy())  # handed over
    total += float(received[-1])
    shifted = weights.cpu().numpy()
    shifted += step + 1
    total += float(cupy.asarray(shifted)[0])
print("sum", total)
