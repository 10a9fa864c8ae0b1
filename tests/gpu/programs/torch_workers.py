"""PyTorch with a DataLoader: forked workers make the batches, a thread pins them, copies overlap. The parent has been
in CUDA before it forks."""

import torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.full((1024,), float(index % 97))


def main():
    total = torch.zeros((), dtype=torch.float64, device="cuda")
    loader = torch.utils.data.DataLoader(Squares(), batch_size=32, num_workers=3, pin_memory=True,
                                         multiprocessing_context="fork")
    for epoch in range(2):
        for batch in loader:
            assert batch.is_pinned()
            total += batch.to("cuda", non_blocking=True).double().square().sum()
        print(f"epoch {epoch} total {total.item():.1f}")


if __name__ == "__main__":
    main()
