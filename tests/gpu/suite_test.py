#!/usr/bin/env python3
"""The suite must be able to see what it looks for: programs that notice, traces that are not whole, doors missed."""

import json
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite import act_order, act_programs, act_times, advice, cmake_sample, comparison, contest, differential, frameworks, habits  # noqa: E402
from suite import clock, interval, live_cycles, managed_bytes, out_of_memory, program_list, python_lines, repairs, samples, verdicts  # noqa: E402
from suite.advised import Advised as RealAdvised  # noqa: E402
from suite.bundle import Bundle as RealBundle  # noqa: E402
from suite.cases import NOT_RUN, Cases, Failure  # noqa: E402
from suite.process import Outcome  # noqa: E402
from suite.program import NotRun, Program, witness  # noqa: E402
from suite.programs import Pace  # noqa: E402
from suite.repair import Measured, Repair  # noqa: E402

COMPLETE = {"complete": True, "closed": True, "chunks_missing": 0, "chunks_damaged": 0, "chunks_lost": 0,
            "records_unknown": 0, "summary": "trace complete", "lines": []}
WHOLE = {"completeness": COMPLETE, "dropped": {"size_cap": 0},
         "unknown_lookups": [], "records": 7, "launches": [{"function": "fill(int)", "count": 4}]}

# Stands for the shim: a library that every program can be given and none notices.
SHIM = "libm.so.6"

# A program that behaves as this shell text says; $preloaded is set in the run that has umadvisor. It leaves a trace.
SHELL = f'case "$LD_PRELOAD" in *{SHIM}*) preloaded=yes; : >"$UMADVISOR_OUTPUT" ;; esac; '


class Bundle:
    sim = True

    def environment(self, **extra):
        return {"PATH": "/usr/bin:/bin", **extra}

    def library(self, _name):
        return SHIM


class Advised:
    def __init__(self, folder, report):
        self.folder, self.answer, self.runs = Path(folder), report, 0

    def new_folder(self):
        self.runs += 1
        path = self.folder / str(self.runs)
        path.mkdir()
        return path

    def report(self, _trace):
        return self.answer

    def actions(self, _trace):
        return 2


class Tool:
    name = "env"

    def command(self, _folder):
        return ["env", "WATCHED=yes"]

    def confirm(self, folder):
        return f"watched {(folder / 'stdout').read_text().strip()}"


def shell(text, report=None, **fields):
    with tempfile.TemporaryDirectory() as folder:
        program = Program("shell", ("sh", "-c", f"runs={folder}/runs; echo >>$runs; {SHELL}{text}"), **fields)
        return witness(program, Bundle(), Advised(folder, report or WHOLE))


class RankCorrelation(unittest.TestCase):
    def test_order_alone_counts(self):
        one = {"a": 1, "b": 2, "c": 30}
        self.assertAlmostEqual(act_order.rank_correlation(one, {"a": 5, "b": 7, "c": 8}), 1)
        self.assertAlmostEqual(act_order.rank_correlation(one, {"c": 1, "b": 2, "a": 3}), -1)
        self.assertAlmostEqual(act_order.rank_correlation(one, {"a": 2, "b": 1, "c": 3}), 0.5)

    def test_an_order_that_is_none_fails(self):
        with self.assertRaises(Failure):
            act_order._compare({"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 1, "c": 3}, "bare", [])


class Times(unittest.TestCase):
    def time(self, status, answer):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "umadvisor"
            script.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\nexit {status}\n")
            script.chmod(0o755)
            bundle = Bundle()
            bundle.umadvisor = script
            lines = []
            text = act_times._time(bundle, Advised(folder, WHOLE), "name", Program("name", ("true",)), "stage", lines)
        return text, lines

    ANSWER = {"runs": 5, "bare": {"median_s": 2.0}, "repaired": {"median_s": 1.0}, "equal": True, "differences": [],
              "verdict": "gain", "speed_ratio": {"ratio": 2.0, "low": 1.9, "high": 2.1}}

    def test_a_ratio_and_its_interval(self):
        text, lines = self.time(0, self.ANSWER)
        self.assertIn("gain: 2.000 (1.900 to 2.100)", text)
        self.assertEqual((lines[0]["ratio"], lines[0]["bare_s"], lines[0]["low"]), (2.0, 2.0, 1.9))
        self.assertIn("varies", self.time(4, {**self.ANSWER, "equal": False})[0])

    def test_rows_are_filtered_by_program_and_mode(self):
        self.assertEqual(act_times._modes("cuda-samples/scan", ["rewrite"]), ["rewrite=all"])
        self.assertEqual(act_times._modes("cuda-samples/scan", ["scan"]), ["stage", "rewrite=all"])
        self.assertEqual(act_times._modes("cuda-samples/conjugateGradientUM", ["rewrite"]), [])
        self.assertEqual(act_times._modes("another", [""]), [])

    def test_runs_that_fail_or_end_differently(self):
        with self.assertRaises(Failure):
            self.time(1, {})
        with self.assertRaises(Failure):
            self.time(4, {**self.ANSWER, "speed_ratio": None, "differences": ["exit status 1, bare 0"]})


class ManagedBytes(unittest.TestCase):
    def test_blocks_of_an_allocation(self):
        block = managed_bytes.BLOCK
        blocks = [[0, 1, 1], [7 * block, 2, 20], [8 * block, 3, 30], [9 * block, 4, 40]]
        allocation = {"address": hex(7 * block + 4096), "bytes": block}
        self.assertEqual(managed_bytes.moved_in(blocks, allocation), (5, 50))
        self.assertEqual(managed_bytes.moved_in(blocks, {"address": hex(8 * block), "bytes": block}), (3, 30))

    def test_lines_are_held_against_the_blocks_of_their_allocations(self):
        block = managed_bytes.BLOCK
        allocations = [{"allocation": number, "address": hex(number * block), "bytes": size}
                       for number, size in ((1, block), (2, 4096), (3, 4096), (9, block))]
        allocations[2]["address"] = hex(2 * block + 8192)  # shares a block with the second

        def line(name, moved, *ids, count=1):
            return {"line": {"text": name}, "count": count, "blocks": [{"allocation": each} for each in ids], "life": None,
                    "bytes_to_device": moved, "bytes_to_host": 0, "bytes_between_devices": 0}

        blocks = [[block, 1000, 0, 0], [2 * block, 100, 0, 0], [9 * block, 50, 0, 0]]
        held = managed_bytes.by_line([line("a", 1040, 1), line("b", 60, 2), line("c", 40, 3)], allocations, blocks)
        self.assertEqual({each.text: (each.reported[0], each.moved[0]) for each in held},
                         {"a": (1040, 1000), "b, c": (100, 100), "no line": (0, 50)})
        errors = {each.text: each.errors([1150, 0, 0]) for each in held}
        self.assertEqual(errors, {"a": [0.04, None, None], "b, c": [0, None, None], "no line": [1, None, None]})
        errors = {each.text: each.errors([1150, 0, 0], [True, False, False]) for each in held}
        self.assertEqual(errors["a"], [None, None, None])
        held = managed_bytes.by_line([line("a", 1050, 1, count=2), line("b", 100, 2, 3)], allocations, blocks)
        self.assertEqual({each.text: (each.reported[0], each.moved[0]) for each in held}, {"a": (1050, 1050), "b": (100, 100)})

    def test_cupti_is_held_against_the_totals_of_the_driver(self):
        def lost(*counted):
            return managed_bytes.lost_by_cupti(counted, {"bytes_to_device": 1000, "bytes_to_host": 200})
        self.assertEqual(lost(1000, 200, 50), [False, False, False])
        self.assertEqual(lost(995, 200, 50), [False, False, True])
        self.assertEqual(lost(1000, 100, 50), [False, True, True])
        self.assertEqual(managed_bytes.lost_by_cupti((0, 0, 9), {"bytes_to_device": 0, "bytes_to_host": 0}), [False] * 3)


class PythonLines(unittest.TestCase):
    def test_lines_of_the_program(self):
        def finding(path):
            return {"line": path and {"file": path}}

        self.assertTrue(python_lines.of_program(finding("/suite/python/a.py"), "/suite/python"))
        for path in (None, "", "/usr/lib/python3/torch/nn.py", "/suite/python_other/a.py"):
            self.assertFalse(python_lines.of_program(finding(path), "/suite/python"))

    def test_every_program_is_listed(self):
        self.assertEqual({each.stem for each in python_lines.PROGRAMS.glob("*.py")}, set(python_lines.MODULES))


class ActPrograms(unittest.TestCase):
    def test_what_is_named_is_in_the_lists(self):
        bundle = RealBundle(".", sim=True)
        python = {each.name for each in program_list.python_programs(bundle)}
        compiled = {each.name for each in program_list.compiled_programs(bundle, None, ".")}
        self.assertLessEqual(set(act_programs.PYTHON), python)
        self.assertLessEqual(set(act_programs.COMPILED), compiled)

    def test_each_mode_by_itself_and_all_together(self):
        modes = [each.acts for each in act_programs.in_modes(Program("one", ("true",)))]
        self.assertEqual(modes, ["prefetch", "rewrite=all", "stage", "auto,rewrite=all"])  # auto: all but rewriting


class Contests(unittest.TestCase):
    @staticmethod
    def way(*printed, status=0):
        texts = iter(printed)
        return lambda: Outcome(status, next(texts), "", 0.0)

    @staticmethod
    def timed(value, result="right"):
        return f'{{"metric": "work", "value": {value}}}\n{result}'

    def test_ratios_are_of_the_same_round(self):
        held = contest.Contest("one", {"bare": self.way(self.timed(8), self.timed(30)),
                                       "act": self.way(self.timed(2), self.timed(10))})
        contest.hold([held], 2, 60)
        self.assertIsNone(held.failure)
        self.assertEqual(held.ratios("bare", "act", "work"), [4, 3])
        cases = Cases()
        self.assertTrue(contest.enter(cases, "part", held, "work"))
        self.assertEqual(cases.rows[0][3], "work bare 19 us, act 6 us")

    def test_another_result_ends_it(self):
        others = self.way(*[self.timed(1)] * 4)
        held = contest.Contest("one", {"bare": self.way(*[self.timed(1)] * 2, self.timed(1)),
                                       "act": self.way(self.timed(1), self.timed(1, "wrong"))})
        beside = contest.Contest("two", {"bare": others})
        contest.hold([held, beside], 4, 60)
        self.assertIn("output differs", str(held.failure))
        self.assertEqual((len(held.times["act"]), len(beside.times["bare"])), (1, 4))

    def test_a_status_ends_it(self):
        held = contest.Contest("one", {"bare": self.way(self.timed(1)), "act": self.way(self.timed(1), status=3)})
        contest.hold([held], 1, 60)
        self.assertIn("act: exit status 3", str(held.failure))
        cases = Cases()
        self.assertFalse(contest.enter(cases, "part", held, "work"))
        self.assertTrue(cases.failed)

    def test_time_runs_out_after_the_fewest_rounds(self):
        held = contest.Contest("one", {"bare": self.way(*[self.timed(1)] * 9)})
        contest.hold([held], 9, -1)
        self.assertEqual(len(held.times["bare"]), contest.FEWEST_ROUNDS)

    def test_some_ways_run_in_the_first_rounds_only(self):
        held = contest.Contest("one", {"bare": self.way(*[self.timed(8)] * 9), "act": self.way(*[self.timed(2)] * 9)},
                               seldom=("bare",))
        contest.hold([held], 9, 60)
        self.assertIsNone(held.failure)
        self.assertEqual((len(held.times["bare"]), len(held.times["act"])), (contest.FEWEST_ROUNDS, 9))
        self.assertEqual(held.ratios("bare", "act", "work"), [4] * contest.FEWEST_ROUNDS)

    def test_which_way_comes_first_changes(self):
        order = []
        ways = {way: lambda w=way: order.append(w) or Outcome(0, self.timed(1), "", 0.0) for way in ("bare", "act")}
        contest.hold([contest.Contest("one", ways)], 3, 60)
        self.assertEqual(order, ["bare", "act", "act", "bare", "bare", "act"])


class Repairs(unittest.TestCase):
    """A program of which it is written what it takes in each form, and an umadvisor that runs it."""

    PROGRAM = 'case "$1${ACT}" in fixed) t=4 ;; yes) t=5 ;; *) t=12 ;; esac; printf "result %s\\nelapsed ms: $t\\n" '
    UMADVISOR = """#!/bin/sh
        case "$1" in
        report) echo '{"actions": {"lines": [{"gain_ns": 6000000}, {"gain_ns": null}]}}' ;;
        *) case "$*" in *--act*) export ACT=yes ;; esac; while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
        esac"""

    def measure(self, result, **more):
        with tempfile.TemporaryDirectory() as folder:
            bundle = Bundle()
            for name, text in (("umadvisor", self.UMADVISOR), ("program", f"#!/bin/sh\n{self.PROGRAM}{result}\n")):
                setattr(bundle, name, Path(folder) / name)
                (Path(folder) / name).write_text(text)
                (Path(folder) / name).chmod(0o755)
            return Measured(Repair("one", (bundle.program,), "reuse"), bundle, 2, bundle.environment(), **more)

    def test_the_share_of_the_gain_by_hand(self):
        measured = self.measure("7")
        self.assertEqual((measured.times["bare"], measured.times["recorded"]), ([12, 12], [12, 12]))
        self.assertEqual((measured.times["act"], measured.times["hand"]), ([5, 5], [4, 4]))
        self.assertEqual((measured.of_hand, measured.differs, measured.stated), (0.875, 0, [6, 6]))
        self.assertIn("gained 7.0, stated 6.0 ms; of the hand's gain 0.88; output equal", measured.text())
        figures = {each["metric"]: each["value"] for each in measured.figures()}
        self.assertEqual((figures["one.of_hand"], figures["one.act_over_recorded"], figures["one.stated.ms"]), (0.875, 0.417, 6))

    def test_another_result_is_seen(self):
        self.assertEqual(self.measure("${ACT:-no}").differs, 2)
        self.assertEqual(self.measure("${ACT:-no}", forms=("recorded", "act")).differs, 2)

    def test_a_program_that_fails_or_says_no_time(self):
        for result in ("7; exit 3", "7 | grep -v elapsed"):
            with self.subTest(result), self.assertRaises(Failure):
                self.measure(result)

    def test_steps_that_fail_earlier(self):
        def steps(_bundle, _folder, act):
            return [["step 0: device 1", "refused"], ["step 1: host 2", "refused" if act else "done"], ["step 2: free 0", "done"]]
        with unittest.mock.patch.object(out_of_memory, "steps", steps):
            failed, refused, count = out_of_memory.earlier(None, ".")
            self.assertEqual((failed, refused, count), (["step 1: host 2"], ["step 0: device 1"], 3))
            said = []
            self.assertEqual(out_of_memory.measure(None, said.append)[0]["value"], 1)
            with self.assertRaisesRegex(Failure, "1 of 3 steps"):
                repairs.Repairs(Cases(), Bundle(), 1).out_of_memory()

    def test_the_metrics(self):
        cases = Cases()
        with unittest.mock.patch.object(Cases, "check", lambda self, part, name, body: self.add(part, name, "ok", "")):
            repairs.check_repairs(cases, Bundle(), 1, 1)
        self.assertEqual([row[1] for row in cases.rows], [
            "reuse.of_hand.min", "pinned.of_hand.min", "pools.of_hand", "prefetch.of_hand", "scalar.of_hand", "batch.ratio",
            "auto.torch.ratio", "pool.reuse.us", "auto.worst", "oom.earlier", "differential.mismatches"])


class Witness(unittest.TestCase):
    def test_same_output(self):
        line = shell("echo 1; echo 2 >&2; exit 3")
        self.assertEqual((line["comparison"], line["status"], line["traces"], line["records"]), ("exact", 3, 1, 7))

    def test_other_output(self):
        for text in ("echo ${preloaded:-no}", "echo ${preloaded:-no} >&2", 'echo $$; [ -z "$preloaded" ] || echo more'):
            with self.subTest(text), self.assertRaises(Failure):
                shell(text)

    def test_only_the_run_with_umadvisor_acts(self):
        noticed = '[ "$UMADVISOR_ACT" = stage ] && echo "staged"; exit 0'
        self.assertEqual(shell(noticed, acts="prefetch")["actions"], 2)
        with self.assertRaisesRegex(Failure, "staged"):
            shell(noticed, acts="stage")

    def test_other_status(self):
        with self.assertRaises(Failure):
            shell('[ -z "$preloaded" ] || exit 4')

    def test_our_lines(self):
        shell('[ -z "$preloaded" ] || echo "umadvisor: wrote x" >&2')
        with self.assertRaises(Failure):
            shell('[ -z "$preloaded" ] || echo "umadvisor: not well" >&2')
        # Nor may one hide among lines that are not compared.
        with self.assertRaises(Failure):
            shell('wc -l <$runs | tr 0-9 a-j >&2; [ -z "$preloaded" ] || echo "umadvisor: not well" >&2')

    def test_program_that_varies(self):
        self.assertEqual(shell("echo took $$ ms")["comparison"], "numbers masked")
        with self.assertRaises(NotRun):
            shell("exit $(wc -l <$runs)")

    def test_program_that_varies_seldom(self):
        # The third run is the first that differs, and has the preload; the fourth, bare, shows that it means nothing.
        text = "[ $(wc -l <$runs) -lt 3 ] && echo 1 || echo 2"
        self.assertEqual(shell(text)["comparison"], "numbers masked (3 bare runs)")

    def test_who_told_of_managed_memory(self):
        told = {**WHOLE, "managed": {"source": "queue", "totals": {"bytes_to_device": 4096}}}
        shell("true", told, source="queue")
        for managed in (None, {**told["managed"], "source": "pagemap"}, {**told["managed"], "totals": {"bytes_to_device": 0}}):
            with self.subTest(managed), self.assertRaises(Failure):
                shell("true", {**WHOLE, "managed": managed}, source="queue")

    def test_traces(self):
        cut = {**COMPLETE, "complete": False, "closed": False, "summary": "cut"}
        for part, value in (("completeness", cut), ("dropped", {"size_cap": 1}),
                            ("unknown_lookups", [{"symbol": "cuNew"}])):
            with self.subTest(part), self.assertRaises(Failure):
                shell("true", {**WHOLE, part: value})
        with self.assertRaises(Failure):
            shell('rm -f "$UMADVISOR_OUTPUT"')
        with self.assertRaises(Failure):
            shell("true", processes=2)

    def test_killed(self):
        cut = {**COMPLETE, "complete": False, "closed": False, "summary": "cut"}
        self.assertEqual(shell("kill -9 $$", {**WHOLE, "completeness": cut})["status"], 137)
        with self.assertRaises(Failure):
            shell("kill -9 $$", {**WHOLE, "completeness": {**cut, "chunks_damaged": 1}})

    def test_abrupt_end(self):
        cut = {**COMPLETE, "complete": False, "closed": False, "summary": "cut"}
        shell("true", {**WHOLE, "completeness": cut}, abrupt=True)
        with self.assertRaises(Failure):
            shell("true", {**WHOLE, "completeness": cut})
        with self.assertRaises(Failure):
            shell("true", {**WHOLE, "completeness": {**cut, "chunks_damaged": 1}}, abrupt=True)

    def test_kernels(self):
        shell("true", kernels={"fill": 4})
        with self.assertRaises(Failure):
            shell("true", kernels={"fill": 5})

    def test_tool(self):
        line = shell('echo "$WATCHED"; exit 5', tool=Tool())
        self.assertEqual((line["status"], line["detail"]), (5, "watched yes"))


class Comparison(unittest.TestCase):
    def level(self, *texts):
        return comparison.LEVELS[comparison.strictest(texts)][0]

    def test_levels(self):
        self.assertEqual(self.level("a 1\n", "a 1\n"), "exact")
        self.assertEqual(self.level("a\nb", "b\na"), "lines in any order")
        self.assertEqual(self.level("at 0x7f12 took  9.9 ms", "at 0x55 took 10.1 ms"), "numbers masked")
        self.assertEqual(self.level("a 1\nb 2", "b 3\na 4"), "numbers masked, any order")
        self.assertEqual(self.level("x\nTest PASSED", "y\nz\nTest PASSED"), "verdict lines")
        self.assertEqual(self.level("Test PASSED", "Test failed"), "status alone")

    def test_difference(self):
        self.assertEqual(comparison.first_difference("a\nb", "a\nb", 0), "")
        self.assertIn("line 2: 'c' instead of 'b'", comparison.first_difference("a\nb", "a\nc", 0))
        self.assertIn("nothing instead of 'b'", comparison.first_difference("a\nb", "a", 0))


class Lines(unittest.TestCase):
    REPORT = {"copy_lines": [
        {"line": None, "direction": "HtoD", "source_memory": "pageable", "destination_memory": "device"},
        {"line": {"file": "/a.py", "line": 3, "function": "step"}, "direction": "HtoD", "source_memory": "pageable",
         "destination_memory": "device"},
        {"line": {"file": "/a.py", "line": 4, "function": "item"}, "direction": "DtoH", "source_memory": "device",
         "destination_memory": "pinned"}]}

    def test_places_that_the_report_names(self):
        expected = {("/a.py", 3, "step", "HtoD", "pageable"), ("/a.py", 4, "item", "DtoH", "pinned"),
                    ("/a.py", 4, "item", "DtoH", None)}
        self.assertEqual(frameworks.unnamed(expected, self.REPORT), [])

    def test_places_that_it_does_not(self):
        for place in (("/a.py", 4, "step", "HtoD", "pageable"), ("/b.py", 3, "step", "HtoD", None),
                      ("/a.py", 3, "step", "HtoD", "pinned"), ("/a.py", 3, "step", "DtoH", None)):
            self.assertEqual(frameworks.unnamed({place}, self.REPORT), [place])


class Samples(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "CMakeLists.txt").write_text(text)
            return cmake_sample.read(folder, Path("/toolkit"))

    def test_program(self):
        sample = self.read("""
            find_package(CUDAToolkit REQUIRED)
            # add_executable(commented out.cu)
            include_directories(../../../Common)
            add_executable(add add.cu "host.cpp")
            set_target_properties(add PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
            target_link_libraries(add PUBLIC CUDA::cudart CUDA::cusolver ${OTHER})
            set(CUDA_FATBIN_FILE "${CMAKE_CURRENT_BINARY_DIR}/kernel64.fatbin")
            set(CUDA_KERNEL_SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/kernel.cu")
            add_custom_command(TARGET add POST_BUILD
                COMMAND ${CMAKE_COMMAND} -E copy_if_different
                ${CMAKE_CURRENT_SOURCE_DIR}/in.pgm
                ${CMAKE_CURRENT_BINARY_DIR}/)""")
        self.assertEqual((sample.name, sample.sources), ("add", ["add.cu", "host.cpp"]))
        self.assertEqual(sample.libraries, ["CUDA::cudart", "CUDA::cusolver"])
        self.assertTrue(sample.separable)
        self.assertEqual((Path(sample.device_image[0]).name, sample.device_image[1]), ("kernel.cu", "kernel64.fatbin"))
        self.assertEqual([(Path(path).name, below) for path, below in sample.files], [("in.pgm", "")])
        words = [str(word) for word in samples.arguments(sample, Path("/s"))]
        for word in ("-rdc=true", "-cudart=shared", "/s/add.cu", "-lcusolver", "-lcusparse"):
            self.assertIn(word, words)
        self.assertNotIn("-lcudart", words)

    def test_package_that_is_not_there(self):
        sample = self.read("find_package(OpenGL)\nadd_executable(view view.cu)")
        self.assertEqual(sample.packages, {"OpenGL"})

    def test_no_program(self):
        self.assertIsNone(self.read("add_subdirectory(add)"))


def answer(label, reported, case="clear", also=(), mode="queue"):
    way = habits.Way("any", case, "any", label, also)
    return verdicts.Answer(habits.Run(way, habits.PAGE, 1, 4, 0), mode, frozenset(reported))


class Differential(unittest.TestCase):
    def tally(self, program):
        """One seed of a program that behaves as this shell text says; $acted is set in the runs with --act prefetch."""
        with tempfile.TemporaryDirectory() as folder:
            bundle = RealBundle(folder, sim=False)
            for path, text in ((bundle.program(differential.PROGRAM), program),
                               (bundle.umadvisor, 'while [ "$1" != -- ]; do [ "$1" = prefetch ] && export acted=yes; shift; '
                                                  'done; shift; exec "$@"')):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"#!/bin/sh\n{text}\n")
                path.chmod(0o755)
            return differential.measure(bundle, steps=1, length=100)

    def test_same(self):
        tally = self.tally("echo step 100 digest ab")
        self.assertEqual((tally.steps, tally.mismatches), (len(differential.ACTIONS) * 100, []))

    def first(self, lines):
        tally = self.tally("".join(f"echo '{line}'; ".replace("$acted", "'$acted'") for line in lines))
        return [(each["seed"], each["mode"], each["first"]) for each in tally.mismatches]

    def test_reads(self):
        lines = ["0 0 copy aa ", "0 1 read ab 2 bytes: 0001 of pinned of 2 bytes, used in 0 1",
                 "1 0 set d$acted ", "1 1 read c$acted 1 bytes: 0$acted of managed of 9 bytes, used in 0 1"]
        self.assertEqual(self.first(lines),
                         [(1, "prefetch", "thread 1, step 1, read 1 bytes: 0 of managed of 9 bytes, used in 0 1 (0 set, 1 read); "
                                          "instead 1 bytes: 0yes")])

    def test_answers(self):
        self.assertEqual(self.first(["0 0 copy aa ", "0 1 free b$acted ", "0 2 set c$acted "]),
                         [(1, "prefetch", "thread 0, step 1, free")])

    def test_less_told(self):
        self.assertEqual(self.first(["0 0 copy aa ", "x $acted"]), [(1, "prefetch", "nothing that a step brought")])

    def test_status(self):
        self.assertEqual([each["mode"] for each in self.tally('[ -z "$acted" ]').mismatches], ["prefetch"])

    def test_program_that_fails_by_itself(self):
        tally = self.tally("exit 1")
        self.assertEqual((tally.steps, [each["mode"] for each in tally.mismatches[:1]]), (0, ["bare"]))


class Advice(unittest.TestCase):
    def row(self, machine):
        return advice.Row("UMA-113", "fault", "any", frozenset(), machine)

    def test_what_a_machine_lacks(self):
        has = {"devices": 1, "host_nodes": 2}
        self.assertEqual(self.row("").lacks(has), "")
        self.assertEqual(self.row("devices=1,host_nodes=2").lacks(has), "")
        self.assertEqual(self.row("devices=2,host_nodes=2").lacks(has), "takes 2 devices, this machine has 1")
        self.assertEqual(self.row("devices=2,host_nodes=4").lacks(has),
                         "takes 2 devices, this machine has 1 and 4 host_nodes, this machine has 2")
        self.assertEqual(self.row("devices=1,capacity=24M").lacks(has), "on simcuda alone: devices=1,capacity=24M")

    def test_simcuda_is_made_the_machine(self):
        bundle = RealBundle("/", True)
        usual = bundle.environment()["SIMCUDA_CONFIG"]
        self.assertEqual(self.row("").environment(bundle)["SIMCUDA_CONFIG"], usual)
        self.assertEqual(self.row("devices=2").environment(bundle)["SIMCUDA_CONFIG"], usual + ",devices=2")
        self.assertNotIn("SIMCUDA_CONFIG", self.row("devices=2").environment(RealBundle("/")))

    def check(self, sim):
        """The cases of a suite of two rows on a machine of one device, on which everything is found."""
        class Advised(RealAdvised):
            def run(self, *_):
                return Outcome(0, "", "", 0), [self]

            def report(self, _trace, _options):
                return {"process": {"duration_ns": 1}, "devices": [], "findings": [
                    {"rule": "UMA-113", "parts": [], "saving_ns": 5, "saving_bytes": 0}]}

            def unlink(self):
                pass

            def new_folder(self):
                return Path("/")
        cases, advised = Cases(), Advised(RealBundle("/"))
        self.addCleanup(advised.close)
        with unittest.mock.patch.multiple(
                advice, rows=lambda _bundle: [self.row(""), self.row("devices=2")], calibrate=lambda *_: "machine.json",
                machine_of=lambda _bundle: {"devices": 1, "host_nodes": 1}, measure=lambda *_: [1, 1]):
            advice.check_advice(cases, RealBundle("/", sim), advised)
        return cases

    def test_rows_that_a_machine_cannot_hold_are_told(self):
        on_gpu, on_simcuda = self.check(sim=False), self.check(sim=True)
        self.assertEqual((on_gpu.count(advice.PART, NOT_RUN), on_simcuda.count(advice.PART, NOT_RUN)), (1, 0))
        self.assertIn("1 rows", [row[1] for row in on_gpu.rows])
        self.assertIn("2 rows", [row[1] for row in on_simcuda.rows])


class Clock(unittest.TestCase):
    @staticmethod
    def report(error_ns, hidden_ns):
        return {"process": {"net_ns": 1000}, "replay": {"error_ns": error_ns, "hidden_ns": hidden_ns}, "together_ns": 5000,
                "findings": [{"rule": "UMA-502", "saving_ns": 3000}, {"rule": "UMA-101", "saving_ns": 2000}]}

    def test_a_promise_is_right_when_it_is_close_to_what_is_gained(self):
        program = clock.Program("turns", frozenset({"UMA-502"}), False)
        self.assertEqual(program.promised_us(self.report(0, 0)), 3)
        self.assertTrue(program.is_right(3, 10, 6.8))
        self.assertFalse(program.is_right(3, 10, 6))
        self.assertTrue(program.is_right(0.5, 100, 99.9))  # a hundredth of the run
        self.assertFalse(program.is_right(3, 10, 11))

    def test_where_nothing_is_gained_nothing_may_be_promised(self):
        program = clock.Program("two-waits", frozenset(), False)
        self.assertEqual(program.promised_us(self.report(0, 0)), 5)
        self.assertTrue(program.is_right(0.05, 10, 10))
        self.assertFalse(program.is_right(0.2, 10, 10))

    def test_medians_of_rounds_are_held_against_each_other(self):
        rounds = clock.Rounds()
        for number, values in enumerate(((30, 100, 60), (31, 101, 70), (90, 102, 71))):
            rounds.add(number, *values)
        self.assertEqual(rounds.medians, (31, 101, 70))
        self.assertEqual(rounds.report, 1)
        self.assertTrue(rounds.differ)  # by 30 where 3.1 is allowed
        self.assertFalse(rounds.are_enough({"UMA-502"}))
        self.assertTrue(rounds.are_enough(frozenset()))

    def test_rounds_that_agree_are_enough(self):
        rounds = clock.Rounds()
        for values in ((30, 100, 70), (31, 101, 71), (32, 102, 72)):
            rounds.add(None, *values)
        self.assertFalse(rounds.differ)
        self.assertTrue(rounds.are_enough({"UMA-502"}))
        self.assertFalse(clock.Rounds().are_enough(frozenset()))

    def test_hidden_waits_count_where_there_are_enough(self):
        self.assertEqual(clock.hidden_error(self.report(20, 50)), 0.02)
        self.assertIsNone(clock.hidden_error(self.report(20, 49)))

    def test_together_is_held_against_the_mended_run(self):
        self.assertAlmostEqual(clock.together_error(30, 100, 80), 0.125)


class LiveCycles(unittest.TestCase):
    """Rounds of live_load as a trace has them."""

    BASE = 0x7f0000000000

    def records(self, first, last, thread=7):
        made = []
        for number in range(first, last):
            place = self.BASE + 4 * (number % live_cycles.PLACES)
            kinds = ["Launch"] * 8 + ["Copy"] + ["Alloc", "Free"] * (number % 16 == 0) + ["Sync"] * (number % 8 == 7)
            made += [{"record": kind, "thread": thread} | ({"destination": hex(place)} if kind == "Copy" else {}) for kind in kinds]
        return made

    def missing(self, records, first, last, near=None):
        found = live_cycles.rounds_of(records, self.BASE, first if near is None else near)
        return live_cycles.missing(found, first, last)[:2]

    def test_whole_recordings_miss_nothing(self):
        self.assertEqual(self.missing(self.records(100, 140), 101, 140), (0, 0))
        self.assertEqual(self.missing(self.records(100, 140)[5:-7], 101, 139), (0, 0))  # begins and ends within a round
        last = live_cycles.PLACES
        self.assertEqual(self.missing(self.records(last - 5, last + 5), last - 4, last + 5), (0, 0))
        other = [each | {"destination": hex(self.BASE + (1 << 30))} if "destination" in each else each
                 for each in self.records(0, 9, thread=8)]
        self.assertEqual(self.missing(self.records(100, 140) + other, 101, 140), (0, 0))

    def test_each_missing_call_is_counted(self):
        records = self.records(100, 140)
        for index, kind in enumerate(each["record"] for each in records):
            if 9 * 2 < index < len(records) - 9 * 2:
                fewer, twice = self.missing(records[:index] + records[index + 1:], 101, 140)
                self.assertGreaterEqual(fewer, 1, (index, kind))
                if kind != "Copy":
                    self.assertEqual((fewer, twice), (1, 0), (index, kind))

    def test_missing_ends_rounds_and_recordings(self):
        records = self.records(100, 140)
        self.assertGreater(self.missing(records[:-9], 101, 140)[0], 0)
        self.assertGreater(self.missing(self.records(103, 140), 101, 140, 100)[0], 0)
        self.assertGreater(self.missing(self.records(100, 110) + self.records(111, 140), 101, 140)[0], 0)
        self.assertGreater(self.missing([], 101, 140)[0], 0)
        self.assertEqual(self.missing(records[:200] + records[150:], 101, 140)[0], 0)
        self.assertGreater(self.missing(records[:200] + records[150:], 101, 140)[1], 0)


class Interval(unittest.TestCase):
    def test_the_interval_holds_the_median_and_processes_widen_it(self):
        alike = [[1.0, 1.1, 0.9, 1.05, 0.95] * 6] * 5
        low, high = interval.interval(alike)
        self.assertTrue(0.9 <= low <= 1 <= high <= 1.1)
        apart = [[value + shift for value in alike[0]] for shift in (-0.2, -0.1, 0, 0.1, 0.2)]
        wide = interval.interval(apart)
        self.assertTrue(wide[0] < low and high < wide[1])
        self.assertEqual(interval.figure_of("x", [[2.0, 4.0, 3.0]], "ratio", [3.0, 3.0])["value"], 1)


class Verdicts(unittest.TestCase):
    def metrics(self, answers, sim=False):
        return {line["metric"]: line["value"] for line in verdicts.figures(answers, sim) if "metric" in line}

    def test_score(self):
        score = verdicts.score([
            answer("ping_pong", {"ping_pong"}),
            answer("ping_pong", {"read_back"}),                                 # missed, and another is false
            answer("thrashing", {"thrashing", "ping_pong"}, also=("ping_pong",)),
            answer("thrashing", {"ping_pong"}, also=("ping_pong",)),            # what holds as well is no hit
            answer("none", set()),
            answer("none", {"first_touch", "read_back"}),
        ])
        self.assertEqual(score, verdicts.Score(hits=2, misses=2, false=3))
        self.assertEqual((score.precision, score.recall), (0.4, 0.5))

    def test_nothing_to_divide(self):
        score = verdicts.score([answer("none", set())])
        self.assertEqual((score.precision, score.recall), (None, None))
        self.assertEqual(verdicts.score([answer("read_back", set())]).recall, 0)

    def test_by_verdict(self):
        found = verdicts.score_by_verdict([answer("ping_pong", {"read_back"}), answer("read_back", {"read_back"}),
                                           answer("none", {"read_back"})])
        self.assertEqual(found, {"ping_pong": verdicts.Score(0, 1, 0), "read_back": verdicts.Score(1, 0, 2)})

    def test_modes_and_borderline_apart(self):
        answers = [answer("ping_pong", {"ping_pong"}), answer("ping_pong", set(), mode="pagemap"),
                   answer("ping_pong", {"ping_pong", "read_back"}, case="borderline"),
                   answer("none", {"read_back"}, case="near", mode="pagemap")]
        self.assertEqual(self.metrics(answers), {
            "um.verdict.queue.precision": 1, "um.verdict.queue.recall": 1, "um.verdict.queue.borderline.precision": 0.5,
            "um.verdict.queue.borderline.recall": 1, "um.verdict.pagemap.precision": 0, "um.verdict.pagemap.recall": 0})
        self.assertEqual(self.metrics(answers[:1], sim=True),
                         {"um.verdict.queue.precision.sim": 1, "um.verdict.queue.recall.sim": 1})
        wrong = [(line["reported"], line["mode"]) for line in verdicts.figures(answers, False) if "wrong" in line]
        self.assertEqual(wrong, [([], "pagemap"), (["ping_pong", "read_back"], "queue"), (["read_back"], "pagemap")])

    def suite(self, reported, sim, status=0, source=None):
        """The cases and lines of a suite in which every run gets the verdicts that reported() gives it."""
        class Advised(RealAdvised):
            def run(self, command, options, *_):
                chosen = tuple(command[i] for i in (2, 4, 6))
                way = next(way for way in habits.WAYS if (way.habit, way.case, way.way) == chosen)
                return Outcome(status, "", "", 0), [Trace(way, "pagemap" if options else "queue")]

            def report(self, trace, _options):
                return {"managed": {"source": source or trace.mode,
                                    "verdicts": [{"verdict": each} for each in reported(trace.way)]}}

        class Trace:
            def __init__(self, way, mode):
                self.way, self.mode = way, mode

            def unlink(self):
                pass
        advised = Advised(RealBundle("/"))
        self.addCleanup(advised.close)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "VERDICTS_COMMIT").write_text("0123456789abcdef\n")
            cases = Cases()
            lines = verdicts.check_verdicts(cases, RealBundle(folder, sim), advised, 60, verdicts.USUAL, Pace())
            return cases, lines

    def test_suite(self):
        def right(way):
            return {way.label} - {"none"}
        for sim in (False, True):
            cases, lines = self.suite(right, sim)
            self.assertFalse(cases.failed)
            self.assertEqual(lines[0], {"verdicts_commit": "0123456789abcdef", "seed": 0x01234567, "runs": 60})
            self.assertEqual(len([line for line in lines if "metric" in line]), 8)
            self.assertEqual([line for line in lines if "wrong" in line], [])
        self.assertTrue(self.suite(lambda way: right(way) | {"late_prefetch"}, False)[0].failed)
        self.assertTrue(self.suite(lambda way: (), False)[0].failed)
        self.assertTrue(self.suite(lambda way: (), True)[0].failed)
        for bad in ({"status": 1}, {"source": "cupti"}):
            self.assertEqual(self.suite(right, True, **bad)[0].count("verdicts", "FAIL"), 121)


if __name__ == "__main__":
    unittest.main()
