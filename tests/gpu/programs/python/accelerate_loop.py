"""A training loop of accelerate's: batches of 4 MiB from pageable memory, and the loss read in each step."""

import torch
from accelerate import Accelerator

WIDTH = 8192

accelerator = Accelerator()
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(128 * 100, WIDTH)), batch_size=128)
model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1e-3), data)
total = 0.0
for (batch,) in data:
    loss = model(batch).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    total += accelerator.gather(loss).mean().item()
print("positive", total > 0)
