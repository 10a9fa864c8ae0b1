"""A Lightning module that logs a value from the device in each step."""

import logging
import warnings

import lightning
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
        self.total = 0.0

    def training_step(self, batch, _index):
        loss = self.net(batch[0]).square().mean()
        self.total += loss.item()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def main():
    data = torch.utils.data.TensorDataset(torch.randn(64 * 200, 256))
    net = Net()
    trainer = lightning.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(net, torch.utils.data.DataLoader(data, batch_size=64))
    print("positive", net.total > 0)


main()
