"""A compiled PyTorch function on batches from pageable memory, whose result decides in each round."""

import torch


@torch.compile
def step(values, weight):
    return torch.tanh(values * weight).mean()


weight = torch.full((1,), 0.5).cuda()
rounds = 0
for number in range(60):
    batch = torch.ones(1 << 20).cuda()
    if step(batch, weight) > 0:
        rounds += 1
print("rounds", rounds)
