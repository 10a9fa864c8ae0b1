"""A training step of PyTorch, 20 linear layers and Adam, as the programs that time one have it."""

import statistics
import time

import torch

MEMORY_CAP = 2 << 30  # bytes of the card that a program may take
WIDTH = 512


def prepare():
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, MEMORY_CAP / total))
    torch.manual_seed(0)


class Training:
    def __init__(self):
        layers = [layer for _ in range(20) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
        self.model = torch.nn.Sequential(*layers).to("cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.batch = torch.randn(256, WIDTH, device="cuda")

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = (self.model(self.batch) - self.batch).square().mean()
        loss.backward()
        self.optimizer.step()

    def block(self, steps, warm_up):
        """Median microseconds of a step; the first ones are for whatever was just switched on."""
        samples = []
        for index in range(warm_up + steps):
            torch.cuda.synchronize()
            started = time.perf_counter()
            self.step()
            torch.cuda.synchronize()
            if index >= warm_up:
                samples.append((time.perf_counter() - started) * 1e6)
        return statistics.median(samples)
