"""Sentences through an encoder with random weights, one at a time."""

import tempfile
from pathlib import Path

from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "memory", "moves", "slowly", "or", "fast"]
with tempfile.TemporaryDirectory() as folder:
    vocabulary = Path(folder) / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizerFast(vocab_file=str(vocabulary)).save_pretrained(folder)
    BertModel(BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256,
                         vocab_size=len(WORDS))).save_pretrained(folder)
    encoder = models.Transformer(folder)
    model = SentenceTransformer(modules=[encoder, models.Pooling(encoder.get_word_embedding_dimension())], device="cuda")
shapes = {model.encode(f"memory moves {WORDS[5 + number % 5]}", show_progress_bar=False).shape for number in range(100)}
print("shapes", len(shapes))
