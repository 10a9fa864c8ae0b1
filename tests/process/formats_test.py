"""Reports that machines read are what their schemas ask for: SARIF 2.1.0, and docs/report-schema.json, which names every key."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

from traces import ADVISOR, ROOT, of_gpus, record, record_coherent

EXAMPLES = ("pageable_copies", "pingpong", "small_copies", "vector_add_managed", "pinned_copies", "graph_replay")


def record_all(folder):
    """Traces of examples, and those that a GPU recorded."""
    return [*(record(Path(folder, f"{name}.umtrace"), f"sim/{name}") for name in EXAMPLES),
            record_coherent(Path(folder, "coherent.umtrace")), *of_gpus(folder, "gpu-")]


def report(form, traces):
    return json.loads(subprocess.run([ADVISOR, "report", form, *traces], check=True,
                                     stdout=subprocess.PIPE).stdout)


def strict(schema):
    """No keys but those that are named."""
    if isinstance(schema, dict):
        closed = {"additionalProperties": False} if "properties" in schema else {}
        return {**{key: strict(value) for key, value in schema.items()}, **closed}
    return [strict(each) for each in schema] if isinstance(schema, list) else schema


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            traces = record_all(folder)
            cls.sarif, cls.reports = report("--sarif", traces), report("--json", traces)
        cls.for_sarif = jsonschema.Draft4Validator(json.loads((ROOT / "tests/golden/sarif-schema-2.1.0.json").read_text()))
        schema = strict(json.loads((ROOT / "docs/report-schema.json").read_text()))
        # One report: what is wrong with it is said of it, not of the choice between one and several.
        cls.for_report = jsonschema.Draft202012Validator({"$ref": "#/$defs/report", "$defs": schema["$defs"]})
        cls.for_all = jsonschema.Draft202012Validator(schema)

    def test_sarif_is_valid(self):
        self.for_sarif.validate(self.sarif)

    def test_sarif_that_is_not_is_refused(self):
        broken = json.loads(json.dumps(self.sarif))
        broken["runs"][0]["results"][0]["level"] = "dreadful"
        self.assertFalse(self.for_sarif.is_valid(broken))

    def test_results_of_programs_that_are_there_stand_on_lines(self):
        results = [each for each in self.sarif["runs"][0]["results"] if "locations" in each and "region" in
                   each["locations"][0].get("physicalLocation", {})]
        self.assertGreaterEqual(len(results), 4)
        for result in results:
            place = result["locations"][0]["physicalLocation"]
            self.assertTrue(place["artifactLocation"]["uri"].startswith("file:///"), place)
            self.assertNotIn("/../", place["artifactLocation"]["uri"])
            self.assertGreater(place["region"]["startLine"], 0)

    def test_paths_of_lines_do_not_go_up_again(self):
        files = [each["line"]["file"] for report in self.reports for each in report["findings"] if each["line"]]
        self.assertGreaterEqual(sum(file.startswith("/") for file in files), 4)
        for file in files:
            self.assertNotIn("/../", file)

    def test_reports_are_valid(self):
        self.assertGreaterEqual(len(self.reports), len(EXAMPLES) + 4)
        for each in self.reports:
            self.for_report.validate(each)
        self.for_all.validate(self.reports)
        self.for_all.validate(self.reports[0])

    def test_what_has_no_price_is_in_both_formats(self):
        report = next(each for each in self.reports if each["devices"][0]["memory_mode"] == "coherent_cdmm")
        self.assertEqual([each["rule"] for each in report["unpriced"]], ["UMA-217"])
        self.assertEqual([each["launches"] for each in report["pageable"]], [6])
        results = [each for each in self.sarif["runs"][0]["results"] if each["properties"]["trace"] == report["file"]]
        self.assertEqual([(each["ruleId"], each["properties"]["unpriced"], "rank" in each) for each in results], [("UMA-217", True, False)])

    def test_a_remedy_stands_on_the_lines_of_the_program(self):
        report = next(each for each in self.reports if each["process"]["program"] == "pingpong" and each["driver"]["simulated"])
        finding = next(each for each in report["findings"] if each["rule"] == "UMA-202")
        self.assertEqual([each["kind"] for each in finding["remedy"]], ["insert_before", "insert_after"])
        for part, place in zip(finding["remedy"], ("cudaMemLocationTypeDevice", "cudaMemLocationTypeHost")):
            self.assertTrue(part["text"].startswith("cudaMemPrefetchAsync(") and place in part["text"], part)
            self.assertEqual(part["line"], finding["line"])
            self.assertIn("LAUNCH(increment", part["line"]["source"])
        self.assertTrue(finding["verify"].startswith("umadvisor ab --act prefetch -- "), finding["verify"])
        self.assertTrue(finding["verify"].endswith("/bin/sim/pingpong"), finding["verify"])

    def test_reports_with_other_keys_or_without_some_are_refused(self):
        finding = next(each for each in self.reports if each["findings"])
        for change in (lambda each: each.update(news=1), lambda each: each["findings"][0].pop("advice"),
                       lambda each: each["process"].update(pid="1"), lambda each: each.update(schema="umadvisor-report-1")):
            broken = json.loads(json.dumps(finding))
            change(broken)
            self.assertFalse(self.for_report.is_valid(broken))


if __name__ == "__main__":
    sys.exit(unittest.main())
