"""`umadvisor export --memory-viz` tells what the trace has: of a program that runs out of memory on simcuda, and of traces that a GPU
recorded."""

import json
import pickle
import subprocess
import tempfile
import unittest
from pathlib import Path

from traces import ADVISOR, ROOT, of_gpus, record

SOURCE = ROOT / "tests/process/programs/unheeded.cpp"
OF_HOST = ("pageable", "pinned", "registered")
MIB = 1 << 20


def line_of(marker):
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
                if line.endswith(f"// line: {marker}"))


def events(trace):
    text = subprocess.run([ADVISOR, "dump", "--json", trace], check=True, stdout=subprocess.PIPE).stdout.decode()
    return [json.loads(line) for line in text.splitlines()]


def export(trace, *options):
    output = f"{trace}.pickle"
    subprocess.run([ADVISOR, "export", "--memory-viz", "-f", "-o", output, *options, trace], check=True,
                   stderr=subprocess.DEVNULL)
    return pickle.loads(Path(output).read_bytes())


class MemoryViz(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = record(f"{cls.folder.name}/unheeded.umtrace", "test-programs/unheeded", SIMCUDA_CONFIG="capacity=128M")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_who_held_what_when_memory_was_out(self):
        data = export(self.trace, "--at-oom")
        sizes = {}
        for segment in data["segments"]:
            line = segment["frames"][0]["line"]
            self.assertTrue(segment["frames"][0]["filename"].endswith("unheeded.cpp"))
            sizes.setdefault(line, []).append(segment["total_size"])
            self.assertEqual(sum(block["size"] for block in segment["blocks"]), segment["total_size"])
        self.assertEqual({line: sorted(each) for line, each in sizes.items()},
                         {line_of("allocate"): [8 * MIB] + 3 * [16 * MIB], line_of("managed"): [12 * MIB]})
        last = data["device_traces"][0][-1]
        self.assertEqual((last["action"], last["size"], last["device_free"]), ("oom", 96 * MIB, 72 * MIB))
        self.assertEqual(last["frames"][0]["line"], line_of("missing"))

    def test_every_allocation_and_free_of_the_trace_is_told(self):
        for trace in [self.trace, *of_gpus(self.folder.name)]:
            with self.subTest(trace=trace):
                data = export(trace)
                steps = [step for device in data["device_traces"] for step in device]
                made, freed = {}, set()
                for event in events(trace):
                    if event.get("status", 0) != 0 or event.get("captured", 0) != 0:
                        continue
                    if event["record"] == "Alloc" and event["memory"] not in OF_HOST:
                        made[event["allocation"]] = event
                    elif event["record"] == "Free" and event["allocation"] in made:
                        freed.add(event["allocation"])
                self.assertTrue(made)
                self.assertEqual(sorted((step["addr"], step["size"]) for step in steps if step["action"] == "alloc"),
                                 sorted((int(each["address"], 16), each["bytes"]) for each in made.values()))
                self.assertEqual(sum(step["action"] == "segment_free" for step in steps), len(freed))
                self.assertEqual(sorted((segment["address"], segment["total_size"]) for segment in data["segments"]),
                                 sorted((int(each["address"], 16), each["bytes"]) for id, each in made.items() if id not in freed))


if __name__ == "__main__":
    unittest.main()
