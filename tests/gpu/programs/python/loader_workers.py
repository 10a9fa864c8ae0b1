"""A DataLoader with workers and without page-locked batches, each of which is uploaded and summed."""

import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64 * 60

    def __getitem__(self, index):
        return torch.full((64, 64), float(index % 7))


def main():
    total = 0.0
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=64, num_workers=2):
        total += batch.to("cuda").sum().item()
    print("sum", total)


if __name__ == "__main__":
    main()
