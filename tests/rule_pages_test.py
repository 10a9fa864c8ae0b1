"""tools/rule-pages: what follows from the pages of the rules. tools/new-rule: what a rule begins with."""

import importlib.util
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def load(tool):
    loader = SourceFileLoader(tool.replace("-", "_"), str(ROOT / "tools" / tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


rule_pages, new_rule = load("rule-pages"), load("new-rule")

PAGE = """# UMA-901 example: a title

**Seen as** one.

## Tests

```cuda
#include <memory>
int shared();

// fault one-way: 1 round of a 32nd of the memory; on devices=2,peers=0
first(trial);

// clean other: 10 rounds of 64 MiB; also UMA-101, UMA-102
// A comment.
second(trial);
```
"""


class RulePages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def page(self, text=PAGE, name="UMA-901-example.md"):
        (self.folder / name).write_text(text)
        return rule_pages.Page(self.folder / name)

    def test_table_lists_the_pages(self):
        self.assertEqual(rule_pages.check_table(rule_pages.read_pages(), update=False), "")

    def test_what_was_released_keeps_its_id_and_name(self):
        pages = [self.page()]
        for row, lost in (("UMA-901 example", []), ("UMA-901 other", ["UMA-901 other"]), ("UMA-902 example", ["UMA-902 example"])):
            document = f"| [{row}]({row.replace(' ', '-')}.md) | a title |\n"
            self.assertEqual(rule_pages.gone(pages, document), lost)

    def test_programs_become_rows_and_functions_at_their_lines(self):
        page, out = self.page(), self.folder / "programs.hpp"
        rule_pages.programs([page], out)
        written = out.read_text()
        for part in ('{"UMA-901", "fault", "one-way", "", 0, 1, uma_901::fault_one_way, "devices=2,peers=0"},',
                     '{"UMA-901", "clean", "other", "UMA-101,UMA-102", 64 * MiB, 10, uma_901::clean_other, ""},',
                     f'#line 9 "{page.path}"\nint shared();\n\nvoid fault_one_way(Trial& trial) {{',
                     "    // A comment.\n    second(trial);"):
            self.assertIn(part, written)
        self.assertLess(written.index("#include <memory>"), written.index("namespace"))

    def test_malformed_pages_are_refused(self):
        for old, new, where in (("# UMA-901 example", "# UMA-901 sample", ":1:"), ("10 rounds", "ten rounds", ":14:"),
                                ("64 MiB", "64 MB", ":14:"), ("```cuda", "```cpp", ":7:"), ("// clean", "// near", "clean twin"),
                                ("// clean other", "// fault one-way", "fault_one_way")):
            with self.subTest(new=new), self.assertRaisesRegex(rule_pages.Malformed, where):
                self.page(PAGE.replace(old, new))

    def test_the_template_is_a_page(self):
        values = {"ID": "UMA-901", "NAME": "example", "TITLE": "a title"}
        text = (ROOT / "tools/templates/rule.md.in").read_text()
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        self.assertEqual([each.kind for each in self.page(text).programs], ["fault", "clean", "near"])

    def test_ids_are_not_used_again(self):
        text = (ROOT / new_rule.RULES).read_text()
        last = max(each.rule for each in rule_pages.read_pages() if each.rule < "UMA-200")
        after = f"UMA-{int(last[4:]) + 1}"
        names = {"pageable-copy"}
        self.assertEqual(new_rule.refusal(after, "example", text, names), "")
        self.assertIn(last, new_rule.refusal(last, "example", text, names))
        self.assertIn("already", new_rule.refusal(after, "pageable-copy", text, names))
        self.assertIn("like", new_rule.refusal(after, "Example", text, names))
        listed = new_rule.listed(text, after)
        self.assertEqual(listed.replace(f"RULE({after[4:]})\n", ""), text)
        self.assertLess(listed.index(last[4:]), listed.index(after[4:]))
        self.assertLess(listed.index(after[4:]), listed.index("201"))


if __name__ == "__main__":
    unittest.main()
