"""DistributedDataParallel in one process, whose loss is read in each step."""

import os
import tempfile

import torch

with tempfile.TemporaryDirectory() as folder:
    torch.distributed.init_process_group("nccl", init_method=f"file://{os.path.join(folder, 'meet')}", rank=0, world_size=1)
    torch.cuda.set_device(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda(), device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    total = 0.0
    for step in range(60):
        batch = torch.randn(2048, 512).cuda()
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    torch.distributed.destroy_process_group()
print("positive", total > 0)
