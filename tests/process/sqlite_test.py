"""`umadvisor export --sqlite` of traces that a GPU recorded: docs/fleet.md names every table and column, its questions have answers, and the
figures are those of the report."""

import json
import re
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

from traces import ADVISOR, ROOT, of_gpus, record_coherent

DOCUMENT = (ROOT / "docs/fleet.md").read_text()
# What the recorded traces lack: a job of several ranks, and moves that were told both ways.
MADE_UP = """
UPDATE ranks SET job = 'one';
UPDATE allocations SET moved_to_device_bytes = 4096, moved_to_host_bytes = 8192 WHERE memory = 'managed';
"""


class Sqlite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = of_gpus(cls.folder.name)
        cls.path = Path(cls.folder.name, "runs.db")
        subprocess.run([ADVISOR, "export", "--sqlite", "-o", cls.path, *cls.traces], check=True, stderr=subprocess.DEVNULL)
        cls.database = sqlite3.connect(f"file:{cls.path}?mode=ro", uri=True)

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.folder.cleanup()

    def ask(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def test_what_another_database_left_beside_it_is_not_taken_for_a_part(self):
        path = Path(self.folder.name, "again.db")
        for suffix in ("-wal", "-shm", "-journal"):
            beside = Path(f"{path}{suffix}")
            beside.write_bytes(b"left behind")
            failed = subprocess.run([ADVISOR, "export", "--sqlite", "-f", "-o", path, self.traces[0]], capture_output=True, text=True)
            self.assertEqual((failed.returncode, path.exists()), (1, False))
            self.assertIn(beside.name, failed.stderr)
            beside.unlink()

    def test_the_file_is_whole(self):
        self.assertEqual(self.ask("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(self.ask("PRAGMA foreign_key_check"), [])
        self.assertEqual(self.ask("PRAGMA application_id"), [(0x756D6164,)])
        self.assertEqual([f"{each}" for each in sorted(Path(self.folder.name).iterdir()) if "runs" in each.name], [str(self.path)])

    def test_a_saving_that_is_not_known_is_null(self):
        trace, path = record_coherent(Path(self.folder.name, "coherent.umtrace")), Path(self.folder.name, "coherent.db")
        subprocess.run([ADVISOR, "export", "--sqlite", "-o", path, trace], check=True, stderr=subprocess.DEVNULL)
        database = sqlite3.connect(path)
        self.assertEqual(database.execute("SELECT rule, saving_ns FROM findings").fetchall(), [("UMA-217", None)])
        self.assertEqual(database.execute("SELECT findings, saving_ns FROM ranks").fetchall(), [(1, 0)])
        database.close()

    def test_the_document_names_every_column_and_no_other(self):
        version = self.ask("PRAGMA user_version")[0][0]
        self.assertIn(f"is the version of the schema, {version}:", DOCUMENT)
        sections = dict(re.findall(r"### ([^\n]*)\n(.*?)(?=\n###? )", DOCUMENT, re.S))
        documented = {}
        for heading, text in sections.items():
            tables = heading.split(", ")
            for row in re.findall(r"^\| (`[^|]*)\|", text, re.M):
                table, listed = (re.match(r"`(\w+)`: (.*)", row).groups() if ": " in row else (tables[0], row))
                documented.setdefault(table, set()).update(re.findall(r"`(\w+)`", listed))
        actual = {name: {column[1] for column in self.ask(f"PRAGMA table_info({name})")}
                  for name, in self.ask("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
        self.assertEqual(documented, actual)

    def test_every_question_has_an_answer(self):
        questions = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.S)
        self.assertEqual(len(questions), 10)
        copy = sqlite3.connect(":memory:")
        self.database.backup(copy)
        copy.executescript(MADE_UP)
        for question in questions:
            with self.subTest(question=question):
                self.assertTrue(copy.execute(question).fetchall())
        copy.close()

    def test_figures_are_those_of_the_report(self):
        for trace in self.traces:
            with self.subTest(trace=trace.name):
                report = json.loads(subprocess.run([ADVISOR, "report", "--json", trace], check=True, stdout=subprocess.PIPE,
                                                   stderr=subprocess.DEVNULL).stdout)
                (run, saving), = self.ask("SELECT run, saving_ns FROM runs WHERE trace = ?", str(trace))
                self.assertAlmostEqual(saving, report["together_ns"], delta=1)
                self.assertEqual(self.ask("SELECT rule FROM findings WHERE run = ? ORDER BY finding", run),
                                 [(finding["rule"],) for finding in report["findings"]])
                calls = dict(self.ask("SELECT e.symbol, count(*) FROM calls JOIN entries e USING (run, entry) "
                                      "WHERE run = ? AND by_umadvisor = 0 GROUP BY e.symbol", run))
                self.assertEqual(calls, {call["entry"]: call["count"] - call["dropped"] for call in report["calls"]})
                copies = dict(self.ask("SELECT direction, sum(copies.bytes) FROM copies JOIN calls USING (call) "
                                       "WHERE copies.run = ? AND calls.by_umadvisor = 0 AND copies.status = 0 "
                                       "AND device_ns IS NOT NULL GROUP BY direction", run))
                reported = {}
                for copy in report["copies"]:
                    reported[copy["direction"]] = reported.get(copy["direction"], 0) + copy["bytes"]
                if report["graphs"]["launches"] == 0: # those of graphs have no call
                    self.assertEqual(copies, reported)
                (launches,), = self.ask("SELECT count(*) FROM launches WHERE run = ? AND graph = 0", run)
                self.assertEqual(launches, sum(each["count"] - each["failed"] - each["in_graphs"] for each in report["launches"]))
                allocated = dict(self.ask("SELECT memory, count(*) FROM allocations WHERE run = ? GROUP BY memory", run))
                reported = {}
                for each in report["allocations"]:
                    if each["count"] > each["failed"]:
                        reported[each["memory"]] = reported.get(each["memory"], 0) + each["count"] - each["failed"]
                self.assertEqual(allocated, reported)


if __name__ == "__main__":
    unittest.main()
