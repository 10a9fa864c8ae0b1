"""What takes how long, in one process."""

import json
import statistics

WARM_UP_ROUNDS = 3


def print_against_first(blocks, rounds):
    """`blocks` are functions that time a plain block, another like it, and one that is rewritten and recorded. Each comes
    first, second and last alike, so that drift takes none. Prints one JSON line: of each round the times of the second and
    the third over that of the first."""
    for _ in range(WARM_UP_ROUNDS):
        for block in blocks:
            block()
    held = []
    for number in range(rounds):
        times = [0.0] * len(blocks)
        for turn in range(len(blocks)):
            which = (number + turn) % len(blocks)
            times[which] = blocks[which]()
        held.append(times)
    print(json.dumps({"plain_us": statistics.median(first for first, _, _ in held),
                      "control": [second / first for first, second, _ in held],
                      "rewritten": [third / first for first, _, third in held]}))
