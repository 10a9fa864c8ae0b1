"""A small BERT with random weights: batches of embeddings from pageable memory, and the loss read in each step."""

import math

import torch
from transformers import BertConfig, BertForSequenceClassification

model = BertForSequenceClassification(BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
                                                 intermediate_size=256, vocab_size=1000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
total = 0.0
for step in range(60):
    embedded = torch.randn(256, 128, 128).cuda()
    labels = torch.randint(0, 2, (256,)).cuda()
    loss = model(inputs_embeds=embedded, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    total += loss.item()
print("finite", math.isfinite(total))
