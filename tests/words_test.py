"""Texts that users read are plain English: no word or pattern of the list stands in a finding, a message, a help text, the HTML report, a rule's page or a golden report."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

FORBIDDEN = [
    r"\bnobody\b",
    r"\b(un)?told\b",
    r"\btells?\b",
    r"\banew\b",
    r"\bin part also\b",
    r"\bwould spare\b",
    r"\bwhatever it costs\b",
    r"\btaken to be\b",
    r"\bby faults against\b",
    r"\bpull(s|ed)? (it|them|the memory|\{\}|[\d.]+ \w+) over\b",
    r"\btakes? it back\b",
    r"(?<!wait )(?<!waits )\bfor nothing\b",
    r"\bin vain\b",
    r"\bunasked\b",
    r"\bfor want of\b",
    r"\bcome into being\b",
    r"\bless (that|those|the same|a|one|what|an|copies|writing|later)\b",
    r"\b(copies|matchs|querys)s\b",
    r"\d\.\d+ B\b",
    r"\bif not said\b",
    r"\bwhere nothing is said\b",
    r"\bbeside --",
]
# A range that wide is said as its lower end.
RANGE = re.compile(r"(?<![\w.])([\d.]+) (ns|us|ms|s) to ([\d.]+) (ns|us|ms|s)\b")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
WIDEST_RANGE = 3
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')
PART = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def literals(source):
    """Texts of at least three words, adjacent literals as one."""
    for run in LITERAL.finditer(re.sub(r"^\s*///?.*$", "", source, flags=re.M)):
        text = "".join(PART.findall(run.group(0)))
        if text.count(" ") >= 2:
            yield text


PAGE_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|(?<!=)>([^<>{}=;]+)<')


def page_texts(source):
    """Texts of the page's script: literals, templates and what stands between tags."""
    for found in PAGE_TEXT.finditer(re.sub(r"^\s*(///?|/\*\*).*$", "", source, flags=re.M)):
        text = next(part for part in found.groups() if part is not None)
        if " " in text.strip():
            yield re.sub(r"\$\{[^}]*\}", "{}", text)


def tracked(*folders):
    names = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.splitlines()]


def texts():
    """(where, text) of all that users read."""
    for path in tracked("analyzer", "interposer", "policy", "trace"):
        if path.suffix in (".cpp", ".hpp", ".def"):
            for text in literals(path.read_text()):
                yield path, text
    for path in tracked("analyzer/reports/html/page/src/*.ts*"):
        for text in page_texts(path.read_text()):
            yield path, text
    for path in tracked("docs/rules/*.md", "tests/golden/reports/*.txt"):
        for line in re.sub(r"\n## Tests\n.*", "", path.read_text(), flags=re.S).splitlines():
            yield path, line


class Words(unittest.TestCase):
    def test_no_text_has_a_forbidden_word(self):
        read = 0
        for path, text in texts():
            read += 1
            for pattern in FORBIDDEN:
                with self.subTest(file=str(path.relative_to(ROOT)), pattern=pattern):
                    self.assertNotRegex(text, pattern)
        self.assertGreater(read, 3000)

    def test_no_report_has_a_wide_range(self):
        for path in tracked("tests/golden/reports/*.txt"):
            for least, unit, most, of_most in RANGE.findall(path.read_text()):
                with self.subTest(file=path.name, least=least):
                    self.assertLessEqual(float(most) * UNITS[of_most], WIDEST_RANGE * float(least) * UNITS[unit])


if __name__ == "__main__":
    unittest.main()
