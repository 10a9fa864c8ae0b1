"""Times PyTorch training steps in alternating blocks of one process: plain, and "recorded" (between cudaProfilerStart and
cudaProfilerStop, to be run under umadvisor with UMADVISOR_CAPTURE_RANGE=1) or "profiled" (under torch.profiler with CUDA
activities). Prints one JSON line with the ratio of each pair of neighbouring blocks; profiled, also how many kernels a step
launches."""

import json
import statistics
import sys

import torch

import torch_training

# Pairs, steps of a block, steps before them. The machine drifts: many short blocks tell more than few long ones, but a
# profiler takes long to start.
PLANS = {"recorded": (150, 8, 2), "profiled": (24, 30, 5)}


def main():
    how = sys.argv[1]
    pairs, steps, warm_up = PLANS[how]
    torch_training.prepare()
    training = torch_training.Training()

    def block():
        return training.block(steps, warm_up)

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
            training.step()
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
