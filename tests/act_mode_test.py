"""tools/act-mode: the table of modes in docs/act.md, and what a mode begins with."""

import importlib.util
import re
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
loader = SourceFileLoader("act_mode", str(ROOT / "tools/act-mode"))
act_mode = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(act_mode)
LISTED = (ROOT / "trace/act.def").read_text()


class ActMode(unittest.TestCase):
    def test_the_table_lists_the_modes(self):
        document = (ROOT / "docs/act.md").read_text()
        self.assertEqual(act_mode.with_rows(ROOT), document)
        self.assertRegex(document, act_mode.ROWS)

    def test_a_row_has_the_words_and_how_the_page_begins(self):
        rows = act_mode.table('MODE(batch, "batch=on, batch=SIZE+", .automatic = true)\n', lambda name: f"# {name}\n\nOne\nparagraph.\n\nMore.\n")
        self.assertEqual(rows, "| `batch=on`, `batch=64M+`, in `auto` | One paragraph. | [batch.md](batch.md) |\n")

    def test_a_new_mode_gets_a_line_of_each_kind_and_the_next_number(self):
        listed = act_mode.with_mode(LISTED, "bundle")
        numbers = [int(each) for each in re.findall(r"^REASON\((\d+)", listed, re.M)]
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertEqual(len(listed.splitlines()), len(LISTED.splitlines()) + 3)
        self.assertRegex(listed, r'(?m)^MODE\(bundle, "bundle"\)$')
        self.assertLess(listed.index("MODE(stage,"), listed.index("MODE(bundle,"))


if __name__ == "__main__":
    unittest.main()
