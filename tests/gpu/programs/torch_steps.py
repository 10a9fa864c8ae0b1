"""Times PyTorch training steps (20 linear layers, Adam) in alternating blocks of one process: plain, and "recorded"
(between cudaProfilerStart and cudaProfilerStop, to be run under umadvisor with UMADVISOR_CAPTURE_RANGE=1) or "profiled"
(under torch.profiler with CUDA activities). Prints one JSON line with the ratio of each pair of neighbouring blocks;
profiled, also how many kernels a step launches."""

import json
import statistics
import sys
import time

import torch

# Pairs, steps of a block, steps before them. The machine drifts: many short blocks tell more than few long ones, but a
# profiler takes long to start.
PLANS = {"recorded": (150, 8, 2), "profiled": (24, 30, 5)}
MEMORY_CAP = 2 << 30  # bytes of the card this program may take


def main():
    how = sys.argv[1]
    pairs, steps, warm_up = PLANS[how]
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, MEMORY_CAP / total))
    torch.manual_seed(0)
    width = 512
    layers = [layer for _ in range(20) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batch = torch.randn(256, width, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()

    def block():
        """Median microseconds of a step; the first ones are for whatever was just switched on."""
        samples = []
        for index in range(warm_up + steps):
            torch.cuda.synchronize()
            started = time.perf_counter()
            step()
            torch.cuda.synchronize()
            if index >= warm_up:
                samples.append((time.perf_counter() - started) * 1e6)
        return statistics.median(samples)

    def recorded_block():
        torch.cuda.cudart().cudaProfilerStart()
        try:
            return block()
        finally:
            torch.cuda.cudart().cudaProfilerStop()

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]

    def profiled_block():
        with torch.profiler.profile(activities=activities):
            return block()

    def launches():
        """Kernels that one step launches."""
        with torch.profiler.profile(activities=activities) as profile:
            step()
            torch.cuda.synchronize()
        return sum(row.count for row in profile.key_averages() if row.key.startswith("cudaLaunchKernel"))

    observed_block = {"recorded": recorded_block, "profiled": profiled_block}[how]
    for _ in range(3):
        block()
        observed_block()
    plain, ratios = [], []
    for pair in range(pairs):
        # In turn first and second, so that drift takes neither side.
        if pair % 2 == 0:
            without, observed = block(), observed_block()
        else:
            observed, without = observed_block(), block()
        plain.append(without)
        ratios.append(observed / without)
    print(json.dumps({"how": how, "plain_us": statistics.median(plain), "ratios": ratios,
                      "launches": launches() if how == "profiled" else None}))


main()
