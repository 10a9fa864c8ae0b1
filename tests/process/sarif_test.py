"""The SARIF of examples is what the schema of SARIF 2.1.0 asks for."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["UMADVISOR_BUILD"])
EXAMPLES = ("pageable_copies", "pingpong", "small_copies", "vector_add_managed", "pinned_copies")


def sarif_of(*names):
    with tempfile.TemporaryDirectory() as folder:
        traces = []
        for name in names:
            traces.append(f"{folder}/{name}.umtrace")
            subprocess.run([BUILD / "bin/umadvisor", "run", "-q", "-o", traces[-1], "--", BUILD / "bin/sim" / name],
                           check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/simcuda")})
        return json.loads(subprocess.run([BUILD / "bin/umadvisor", "report", "--sarif", *traces], check=True,
                                         stdout=subprocess.PIPE).stdout)


class Sarif(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        schema = json.loads((ROOT / "tests/golden/sarif-schema-2.1.0.json").read_text())
        cls.validator = jsonschema.Draft4Validator(schema)
        cls.log = sarif_of(*EXAMPLES)

    def test_it_is_valid(self):
        self.validator.validate(self.log)

    def test_the_schema_would_say_so_if_it_were_not(self):
        broken = json.loads(json.dumps(self.log))
        broken["runs"][0]["results"][0]["level"] = "dreadful"
        self.assertFalse(self.validator.is_valid(broken))

    def test_results_stand_on_lines(self):
        results = self.log["runs"][0]["results"]
        self.assertGreaterEqual(len(results), 4)
        for result in results:
            place = result["locations"][0]["physicalLocation"]
            self.assertTrue(place["artifactLocation"]["uri"].startswith("file:///"), place)
            self.assertGreater(place["region"]["startLine"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
