"""A graph convolution whose graph is uploaded in each round."""

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

net = GCNConv(64, 64).cuda()
total = 0.0
for step in range(60):
    graph = Data(x=torch.randn(20000, 64), edge_index=torch.randint(0, 20000, (2, 100000))).to("cuda")
    total += float(net(graph.x, graph.edge_index).abs().mean())
print("positive", total > 0)
