#!/usr/bin/env python3
"""Hugging Face's Trainer with a budget of joules. The model is made from a configuration, so nothing is downloaded.

usage: python hugging_face_budget.py [STEPS [BUDGET_J]]      needs transformers and accelerate, which its Trainer asks for
"""

import sys
import tempfile

import ampere
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
budget_j = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0

config = BertConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
model = BertForSequenceClassification(config)
data = [{"input_ids": torch.randint(0, 1000, (32,)), "labels": torch.tensor(i % 2)} for i in range(512)]
batch = {name: torch.stack([sample[name] for sample in data[:8]]) for name in data[0]}

# clip: the Trainer clips gradients to a norm of 1 unless told otherwise, and that is part of a step.
prediction = ampere.estimate(model, batch, optimizer="adamw", clip=1.0, device="cpu")
print(prediction)

with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=8,
        logging_steps=50,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    Trainer(model, arguments, train_dataset=data, callbacks=[ampere.Callback(prediction, budget_j=budget_j)]).train()
