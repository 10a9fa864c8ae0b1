"""A small PyTorch training loop: batches come from pageable memory with .to('cuda'). Prints the losses; with --time
also the median step of a second loop on a batch that stays on the device."""

import argparse
import json
import os
import statistics
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402  (the variable above must be set first)

MEMORY_CAP = 2 << 30  # bytes of the card this program may take, also when its allocations are made managed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--timed-steps", type=int, default=200)
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()

    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, MEMORY_CAP / total))
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    width = 512
    layers = [layer for _ in range(20) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = [torch.randn(32768, width) for _ in range(2)]  # 64 MiB each, pageable

    def step(batch):
        optimizer.zero_grad(set_to_none=True)
        loss = (model(batch[:256]) - batch[:256]).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for index in range(options.steps):
        loss = step(batches[index % len(batches)].to("cuda"))
        print(f"step {index} loss {loss.item():.6f}")

    if options.time:
        resident = batches[0].to("cuda")
        samples = []
        for _ in range(options.timed_steps):
            torch.cuda.synchronize()
            started = time.perf_counter()
            step(resident)
            torch.cuda.synchronize()
            samples.append((time.perf_counter() - started) * 1e6)
        median = statistics.median(samples[len(samples) // 4:])
        print(json.dumps({"metric": "step.median", "value": median, "unit": "us"}))


main()
