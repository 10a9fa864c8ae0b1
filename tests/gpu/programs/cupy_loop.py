"""A loop of CuPy steps on arrays that stay on the device. Prints the results; with --time also the median step of a second,
longer loop."""

import argparse
import json
import statistics
import time

import cupy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--timed-steps", type=int, default=200)
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()

    matrix = (cupy.arange(1 << 22, dtype=cupy.float64) % 13).reshape(2048, 2048)
    vector = cupy.arange(1 << 23, dtype=cupy.int64) * 2654435761 % 1000003

    def step(number):
        product = matrix @ (matrix + number)
        ordered = cupy.sort(vector * (number + 1) % 1000003)
        return product.sum() + ordered[::4096].sum()

    for number in range(options.steps):
        print(f"step {number} result {float(step(number)):.1f}")

    if options.time:
        samples = []
        for number in range(options.timed_steps):
            cupy.cuda.Device().synchronize()
            started = time.perf_counter()
            step(number)
            cupy.cuda.Device().synchronize()
            samples.append((time.perf_counter() - started) * 1e6)
        median = statistics.median(samples[len(samples) // 4:])
        print(json.dumps({"metric": "step.median", "value": median, "unit": "us"}))


main()
