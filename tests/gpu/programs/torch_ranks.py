"""DistributedDataParallel of two ranks, each on a device of its own. MORE, of the rank SLOW: code, copies or kernels in each step, or none.

    RANK=0 WORLD_SIZE=2 torch_ranks.py FILE MORE SLOW
"""

import os
import sys
import time

import torch

meet, more, slow = sys.argv[1], sys.argv[2], int(sys.argv[3])
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl", init_method=f"file://{meet}", rank=rank, world_size=2)
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.Linear(2048, 2048)).cuda(),
                                                  device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data, big = torch.randn(512, 2048).pin_memory(), torch.randn(64 << 18).pin_memory()
square = torch.randn(4096, 4096, device="cuda")


def work_more():
    if more == "code":
        end = time.monotonic() + 0.03
        while time.monotonic() < end:
            pass
    elif more == "copies":
        for _ in range(16):
            big.to("cuda")
    elif more == "kernels":
        for _ in range(16):
            torch.mm(square, square)


for step in range(60):
    torch.cuda.nvtx.range_push("train_step")
    if rank == slow:
        work_more()
    loss = model(data.to("cuda", non_blocking=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
torch.distributed.destroy_process_group()
