"""PyTorch under its own profiler, which takes CUPTI's only seat: it must see every kernel, whoever else records."""

import torch
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)
weight = torch.randn(512, 512).cuda()
batch = torch.randn(64, 512).cuda()
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    for _ in range(20):
        batch = torch.tanh(batch @ weight)
    torch.cuda.synchronize()
events = profiler.events()
on_device = [event for event in events if str(event.device_type).endswith("CUDA")]
tanh = sum(1 for event in on_device if "tanh" in event.name)
launches = sum(1 for event in events if event.name.startswith("cudaLaunchKernel") or event.name == "cuLaunchKernel")
print(f"sum {batch.double().sum().item():.3f}")
print(f"kernels of tanh {tanh}, launches seen {launches >= 20}")
assert tanh == 20
