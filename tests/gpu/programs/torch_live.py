"""Training steps of PyTorch on demand: for each line of stdin, which is a number of seconds, it trains for so long and prints the
microseconds of each step as a JSON list. The first line printed says that it is ready."""

import json
import sys
import time

import torch

import torch_training

torch_training.prepare()
training = torch_training.Training()


def steps(seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        times.append(training.block(1, 0))
    return times


steps(1)
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(steps(float(line))), flush=True)
