"""PyTorch's compiler: inductor builds kernels with Triton and gcc in processes of its own, then the step runs compiled.
Every run compiles anew."""

import os
import tempfile


def main():
    import torch

    torch.manual_seed(0)

    @torch.compile
    def gated(x, y):
        return (torch.sin(x) * torch.sigmoid(y) + x.square()).sum(dim=1)

    for index in range(4):
        x, y = torch.randn(512, 1024).cuda(), torch.randn(512, 1024).cuda()
        got, expected = gated(x, y), (torch.sin(x) * torch.sigmoid(y) + x.square()).sum(dim=1)
        print(f"step {index} sum {got.double().sum().item():.2f} right {torch.allclose(got, expected, rtol=1e-4)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="torch-compiled-") as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
        main()
