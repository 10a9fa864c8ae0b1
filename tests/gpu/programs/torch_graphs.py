"""PyTorch with CUDA graphs: a captured training step replayed on new batches, and make_graphed_callables."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402  (the variable above must be set first)

WIDTH, ROWS = 256, 128


def network():
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)).cuda()


def captured_step():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batch, target = torch.zeros(ROWS, WIDTH, device="cuda"), torch.zeros(ROWS, 1, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = (model(batch) - target).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    warmup = torch.cuda.Stream()
    warmup.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warmup):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(warmup)

    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step()
    for index in range(8):
        batch.copy_(torch.randn(ROWS, WIDTH))
        target.copy_(torch.randn(ROWS, 1))
        graph.replay()
        print(f"replay {index} loss {loss.item():.5f}")


def graphed_callable():
    model = network()
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(ROWS, WIDTH, device="cuda"),))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for index in range(5):
        optimizer.zero_grad()
        loss = graphed(torch.randn(ROWS, WIDTH).cuda()).square().mean()
        loss.backward()
        optimizer.step()
        print(f"graphed {index} loss {loss.item():.5f}")


torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
captured_step()
graphed_callable()
