"""The documents: README fits one sitting, every link leads somewhere, and the index names every page."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("trace/*.md")])


def prose(text):
    """Without code, and with the words of links only."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    text = re.sub(r"`[^`\n]*`", "code", text)
    return re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)


def sentences(text):
    """Of paragraphs, items of lists and cells of tables."""
    for block in re.split(r"\n\s*\n|\n(?=[-#|])|\|", prose(text)):
        yield from re.split(r"(?<=[.!?])\s", " ".join(block.split()))


def links(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(text):
    """As GitHub makes them of headings."""
    for title in re.findall(r"^#+ (.*)$", text, flags=re.M):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


class Documents(unittest.TestCase):
    def test_readme_is_short(self):
        readme = (ROOT / "README.md").read_text()
        self.assertLessEqual(len(readme.split()), 1500)
        for sentence in sentences(readme):
            self.assertLessEqual(len(sentence.split()), 35, sentence)

    def test_links_lead_somewhere(self):
        found = 0
        for document in DOCUMENTS:
            for link in links(document.read_text()):
                if "://" in link:
                    continue
                found += 1
                path, _, anchor = link.partition("#")
                target = document.parent / path if path else document
                with self.subTest(document=str(document.relative_to(ROOT)), link=link):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(target.read_text()))
        self.assertGreater(found, 100)

    def test_index_names_every_page(self):
        lists = [ROOT / "docs/README.md", ROOT / "docs/act.md"]
        index = {(ROOT / "docs" / link).resolve() for each in lists for link in links(each.read_text())}
        for page in ROOT.glob("docs/*.md"):
            if page.name != "README.md":
                self.assertIn(page.resolve(), index)

    def test_driver_branches_are_those_of_the_list(self):
        listed = re.findall(
            r"\{(\d+), ToolsQueue::(\w+), (true|false)\}", (ROOT / "residency/driver_branches.hpp").read_text()
        )
        rows = re.findall(r"^\| ([\d, ]+) \| (\w+) \| (NUMA|CDMM) \|$", (ROOT / "docs/driver.md").read_text(), re.M)
        shown = [(each, *row[1:]) for row in rows for each in row[0].split(", ")]
        memory = {"true": "CDMM", "false": "NUMA"}
        self.assertEqual([(number, queue, memory[cdmm]) for number, queue, cdmm in listed], shown)
        tested = ", ".join(number for number, queue, _ in listed if queue == "tested")
        self.assertIn(f"tested with driver {tested}.", (ROOT / "README.md").read_text())
        first_cdmm = next(number for number, _, cdmm in listed if cdmm == "true")
        self.assertIn(f"from R{first_cdmm} on", (ROOT / "docs/machines.md").read_text())

    def test_cupti_releases_are_those_of_the_list(self):
        listed = re.search(r'known_releases = "(.*)"', (ROOT / "residency/cupti_interface.hpp").read_text()).group(1)
        self.assertIn(f"(of {listed};", (ROOT / "docs/recording.md").read_text())


if __name__ == "__main__":
    unittest.main()
