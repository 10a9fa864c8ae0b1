"""Recordings that begin and end while a program runs, and rings: each trace is valid alone and says which part of the run it has."""

import json
import resource
import select
import subprocess
import time
import unittest

import control_test
from traces import BUILD, environment


LARGEST = 384 << 10  # bytes of a file whose disk is full: room for what is alive, and for no calls


class Recordings(control_test.Control):
    def start(self, mode, *arguments, **settings):
        return super().start(mode, *arguments, **{"UMADVISOR_MODE": "standby", **settings})

    def finish(self, program, printed="done\n"):
        out, err = program.communicate(timeout=30)
        self.assertEqual((out, program.returncode), (printed, 0), err)
        return err

    def traces(self):
        return sorted(self.folder.glob("*.umtrace"))

    def wait_for(self, what):
        for _ in range(200):
            if value := what():
                return value
            time.sleep(0.05)
        self.fail("it never came")

    def report(self, trace):
        done = subprocess.run([BUILD / "bin/umadvisor", "report", "--json", "--all", trace], env=environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def records(self, trace):
        done = subprocess.run([BUILD / "bin/umadvisor", "dump", "--json", trace], env=environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check_part(self, trace, cause, number=1):
        report = self.report(trace)
        self.assertEqual(report["completeness"]["summary"], "trace complete")
        part = report["process"]["recording"]
        self.assertEqual((part["cause"], part["number"]), (cause, number))
        return part

    def test_a_program_that_nothing_wakes_leaves_no_file(self):
        program = self.start("work")
        time.sleep(0.3)
        self.assertEqual(self.finish(program), "")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_each_recording_is_a_trace_of_its_own(self):
        program = self.start("work")
        client = self.connect(program)
        self.assertFalse(client.ask("status")["recording"])
        for number in range(1, 6):
            trace = self.folder / f"{number}.umtrace"
            self.assertEqual(client.ask("start", f"output={trace}")["file"], str(trace))
            self.assertFalse(client.ask("start")["ok"])
            self.assertTrue(client.ask("mark", f"text=round {number}")["ok"])
            time.sleep(0.1)
            self.assertEqual(client.ask("stop")["file"], str(trace))
            self.assertFalse(client.ask("stop")["ok"])
            self.assertIn("copies before it brought", self.check_part(trace, "attach", number)["text"])
            records = self.records(trace)
            made = [record for record in records if record["record"] == "Alloc"]
            self.assertIn(1 << 20, [record["bytes"] for record in made])  # from before the recording
            copies = [record for record in records if record["record"] == "Copy"]
            self.assertGreater(len(copies), 1)
            known = {record["allocation"] for record in made}
            self.assertTrue({copy.get("destination_allocation", 0) for copy in copies} - {0} <= known)
            texts = {record["id"]: record["text"] for record in records if record["record"] == "String"}
            marks = [texts[record["text"]] for record in records if record["record"] == "Range"]
            self.assertEqual(marks, [f"round {number}"])
        self.assertEqual(client.ask("status")["recordings"], 5)
        self.assertEqual(self.finish(program), "")
        self.assertEqual(len(self.traces()), 5)

    def test_a_recording_ends_by_itself_or_with_its_client(self):
        program = self.start("work")
        client = self.connect(program)
        self.assertTrue(client.ask("start", "for=200000000")["ok"])
        self.assertLess(client.ask("status")["ends_in_s"], 0.21)
        self.wait_for(lambda: not client.ask("status")["recording"])
        self.check_part(self.traces()[0], "attach")
        other = self.connect(program)
        self.assertTrue(other.ask("start", "hold=1", f"output={self.folder / 'held.umtrace'}")["ok"])
        other.close()
        self.wait_for(lambda: not client.ask("status")["recording"])
        self.check_part(self.folder / "held.umtrace", "attach", 2)
        self.finish(program)

    def test_a_client_sees_that_another_has_ended_its_recording(self):
        program = self.start("work")
        client, holder = self.connect(program), self.connect(program)
        self.assertTrue(holder.ask("start", "hold=1")["ok"])
        self.assertTrue(client.ask("stop")["ok"])
        self.assertIsNone(holder.answer())  # the connection is over
        self.assertTrue(client.ask("start")["ok"])
        time.sleep(0.1)
        self.assertTrue(client.ask("status")["recording"])
        self.finish(program)

    def test_a_condition_that_cannot_record_says_so(self):
        program = self.start("work", UMADVISOR_WHEN="launches/s > 1", UMADVISOR_OUTPUT=str(self.folder / "none/t.umtrace"))
        self.wait_for(lambda: select.select([program.stderr], [], [], 0)[0])
        self.assertRegex(self.finish(program), "launches/s > 1 holds, but no trace was begun: cannot create")

    def run_umadvisor(self, *arguments, **more):
        return subprocess.run([BUILD / "bin/umadvisor", *map(str, arguments)], cwd=self.folder, text=True, capture_output=True, timeout=60, check=False,
                              env=control_test.bare_environment(UMADVISOR_CONTROL=str(self.folder), **more))

    def test_a_part_of_the_run_that_is_not_understood_stops_run_before_the_program(self):
        for arguments, named in (
                (("--when", "foo > 1"), "--when: foo is no metric; the metrics are um.faults/s, "),
                (("--when", "launches/s > 1", "--when", "waits.share > 50%"), "--when: 50% is no number for it: a number such as 0.5"),
                (("--when", "launches/s > 1 for 5"), "--when: 5 is no time: a number with a unit such as 120ms or 5s"),
                (("--ring", "3MiB"), "--ring takes at least 4MiB, not 3MiB"),
                (("--ring", "3"), "--ring 3 has no unit: 3s or 3MiB"),
                (("--ring", "abc"), "--ring takes a duration such as 60s or a size such as 256MiB, not abc")):
            with self.subTest(arguments=arguments):
                ran = self.run_umadvisor("run", *arguments, "--", "touch", "begun")
                self.assertEqual((ran.returncode, ran.stderr.count("\n")), (2, 1), ran.stderr)
                self.assertIn(named, ran.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_variables_for_a_part_of_the_run_that_are_not_understood_leave_it_in_standby(self):
        for variable, value, named in (("UMADVISOR_WHEN", "foo > 1", "foo is no metric; the metrics are um.faults/s, "),
                                       ("UMADVISOR_RING", "3MiB", "3MiB is no duration such as 60s, and no size of at least 4MiB")):
            with self.subTest(variable=variable):
                program = self.start("idle", UMADVISOR_MODE="record", **{variable: value})
                status = self.connect(program).ask("status")
                self.assertEqual((status["mode"], status["recording"], status["trigger"]), ("standby", False, ""))
                err = self.finish(program)
                self.assertEqual(err.count("\n"), 1, err)
                self.assertIn(f"{variable} is not understood: {named}", err)
                self.assertIn("standby until umadvisor attach", err)
                self.assertEqual(self.traces(), [])

    def test_run_in_standby_names_no_trace_of_another_run(self):
        for arguments in ("--standby",), ("--when", "launches/s > 1000000000"):
            with self.subTest(arguments=arguments):
                other = self.folder / "other.umtrace"
                ran = self.run_umadvisor("run", "--no-calibrate", *arguments, "--", "bash", "-c",
                                         f"UMADVISOR_RUN= UMADVISOR_MODE=record UMADVISOR_WHEN= UMADVISOR_OUTPUT={other} UMADVISOR_FORCE=1 "
                                         f"{BUILD}/bin/sim/fill_card --mib 4", LD_LIBRARY_PATH=str(BUILD / "lib/simcuda"))
                self.assertTrue(other.exists())
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("no trace: no process recorded; umadvisor attach PID begins a recording while the program runs", ran.stderr)
                self.assertNotIn("these were written", ran.stderr)

    def test_a_full_disk_is_said_while_it_records_and_when_it_ends(self):
        program = self.start("work")
        client = self.connect(program)
        trace = self.folder / "full.umtrace"
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (LARGEST, resource.RLIM_INFINITY))
        self.assertTrue(client.ask("start", f"output={trace}")["ok"])
        self.wait_for(lambda: client.ask("status").get("dropped"))
        self.assertRegex(self.run_umadvisor("attach", program.pid, "status").stdout, r"recording to \S+, .*\d+ records dropped: the disk is full")
        ran = self.run_umadvisor("attach", program.pid, "stop")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertRegex(ran.stderr, r"\d+ records are missing from the trace: the disk is full")
        self.assertRegex(self.run_umadvisor("attach", program.pid, "status").stdout, r"not recording, .*\d+ records dropped: the disk is full")
        summary = self.report(trace)["completeness"]["summary"]
        self.assertNotIn("trace complete", summary)
        self.assertRegex(summary, r"\d+ records? dropped")
        self.finish(program)

    def test_errors_say_what_to_do(self):
        program = self.start("idle")
        client = self.connect(program)
        there = self.folder / "there.umtrace"
        there.write_text("")
        for mode in "auto", "foo", "plan=x":
            error = client.ask("act", f"mode={mode}", "on=1")["error"]
            for name in "relieve", "prefetch", "stage", "join":
                self.assertIn(name, error)
        with self.subTest("a file that exists"):
            named = self.run_umadvisor("attach", program.pid, "snapshot", "-o", there)
            self.assertIn("it exists already; choose another name with -o", named.stderr)
        for command in ("stop",), ("mark", "text=x"):
            self.assertIn("umadvisor attach PID start begins a recording", client.ask(*command)["error"])
        self.assertFalse(client.ask("start", "output=/nowhere/x.umtrace")["ok"])
        self.assertEqual(client.ask("status")["file"], "")
        first = client.ask("start")["file"]
        self.assertIn(f"it records already, into {first}; umadvisor attach PID stop ends that", client.ask("start")["error"])
        self.assertTrue(client.ask("stop")["ok"])
        self.assertFalse(client.ask("start", "output=/nowhere/x.umtrace")["ok"])
        self.assertEqual(client.ask("status")["file"], first)
        self.finish(program)

    def test_files_of_a_ring_are_named(self):
        program = self.start("work", UMADVISOR_MODE="record", UMADVISOR_RING="4MiB", UMADVISOR_WHEN="launches/s > 1", UMADVISOR_WHEN_LIMIT="1")
        client = self.connect(program)
        written = self.wait_for(lambda: client.ask("status").get("snapshot"))
        status = client.ask("status")
        self.assertTrue(status["trigger_rests"])
        shown = self.run_umadvisor("attach", program.pid, "status").stdout
        self.assertIn(f"last snapshot: {written}", shown)
        self.assertNotIn(", records when", shown)
        asked = client.ask("snapshot")["file"]
        self.assertEqual(client.ask("status")["snapshot"], asked)
        err = self.finish(program)
        self.assertEqual(err.count(f"launches/s > 1 holds: wrote the last part of the run to {written}\n"), 1, err)

    def test_a_report_has_marks_and_conditions_with_their_times(self):
        program = self.start("work", UMADVISOR_MODE="record", UMADVISOR_RING="4MiB", UMADVISOR_WHEN="launches/s > 1", UMADVISOR_WHEN_LIMIT="1")
        client = self.connect(program)
        self.assertTrue(client.ask("mark", "text=epoch 2")["ok"])
        written = self.wait_for(lambda: client.ask("status").get("snapshot"))
        text = self.run_umadvisor("report", written).stdout
        self.assertRegex(text, r'(?m)^  - mark "epoch 2" at \d[\d.]* \w+$')
        self.assertRegex(text, r"(?m)^  - condition held at \d[\d.]* \w+: launches/s > 1$")
        self.finish(program)

    def test_a_recording_that_the_program_ends_in_is_whole(self):
        program = self.start("work")
        self.connect(program).ask("start")
        time.sleep(0.1)
        self.assertIn("wrote", self.finish(program))
        self.check_part(self.traces()[0], "attach")

    def test_a_condition_begins_a_recording(self):
        program = self.start("work", UMADVISOR_WHEN="launches/s > 1", UMADVISOR_WHEN_DURATION="0.3", UMADVISOR_WHEN_LIMIT="1")
        trace = self.wait_for(self.traces)[0]
        client = self.connect(program)
        self.wait_for(lambda: not client.ask("status")["recording"])
        part = self.check_part(trace, "trigger")
        self.assertEqual(part["why"], "launches/s > 1")
        self.assertIn("launches/s > 1", part["text"])
        self.finish(program)
        self.assertEqual(len(self.traces()), 1)

    def test_a_recording_says_which_modes_are_on_when_it_begins_and_what_is_switched_in_it(self):
        program = self.start("work", UMADVISOR_ACT="prefetch")
        client = self.connect(program)

        def switch(on):
            self.assertTrue(client.ask("act", "mode=prefetch", f"on={on}")["ok"])

        def notices(name, steps=()):
            trace = self.folder / name
            self.assertTrue(client.ask("start", f"output={trace}")["ok"])
            for on in steps:
                switch(on)
            self.assertTrue(client.ask("stop")["ok"])
            return [text for text in self.report(trace)["notices"] if "prefetch: " in text]

        switch(0)
        self.assertEqual(notices("off.umtrace"), ["--act prefetch: off when the recording began"])
        switch(1)
        self.assertEqual(notices("on.umtrace", (0, 1)), ["--act prefetch: on when the recording began", "--act prefetch: switched off on request",
                                                          "--act prefetch: switched on on request"])
        self.assertEqual(notices("again.umtrace"), ["--act prefetch: on when the recording began"])
        self.finish(program)

    def test_a_snapshot_has_what_is_alive(self):
        program = self.start("idle")
        trace = self.folder / "s.umtrace"
        self.assertTrue(self.connect(program).ask("snapshot", f"output={trace}")["ok"])
        self.check_part(trace, "snapshot", 0)
        self.assertFalse(self.connect(program).ask("snapshot", f"output={trace}")["ok"])  # it exists
        kinds = {record["record"] for record in self.records(trace)}
        self.assertIn("Alloc", kinds)
        self.assertFalse(kinds & {"Copy", "Launch", "Sync"})
        self.finish(program)

    def test_a_ring_can_be_read_after_sigkill_and_copied_before(self):
        program = self.start("work", UMADVISOR_RING="4MiB", UMADVISOR_MODE="record")
        client = self.connect(program)
        self.assertEqual(client.ask("status")["mode"], "ring")
        time.sleep(0.2)
        self.assertTrue(client.ask("snapshot", f"output={self.folder / 'copy.umtrace'}")["ok"])
        program.kill()
        program.wait()
        self.check_part(self.folder / "copy.umtrace", "ring")
        report = self.report(self.folder / "t.umtrace")
        self.assertEqual(report["process"]["recording"]["cause"], "ring")
        self.assertGreater(len([record for record in self.records(self.folder / "t.umtrace") if record["record"] == "Copy"]), 1)

    def test_a_ring_that_is_stopped_is_complete_and_a_new_one_has_a_file_of_its_own(self):
        program = self.start("work", UMADVISOR_RING="4MiB", UMADVISOR_MODE="record")
        client = self.connect(program)
        first, named, third = (self.folder / name for name in ("t.umtrace", "named.umtrace", f"t.{program.pid}.umtrace"))
        time.sleep(0.1)
        self.assertEqual(client.ask("stop")["file"], str(first))
        self.check_part(first, "ring", 1)
        stopped = first.read_bytes()
        self.assertFalse(client.ask("stop")["ok"])
        status = client.ask("status")
        self.assertEqual((status["mode"], status["recording"], status["file"]), ("ring", False, str(first)))
        for number, trace, output in ((2, named, (f"output={named}",)), (3, third, ())):
            self.assertEqual(client.ask("start", *output)["file"], str(trace))
            time.sleep(0.1)
            self.assertEqual(client.ask("status")["recordings"], number)
            self.assertEqual(client.ask("stop")["file"], str(trace))
            self.assertIn(f"recording {number} of the process", self.check_part(trace, "ring", number)["text"])
            records = self.records(trace)
            self.assertGreater(len([record for record in records if record["record"] == "Copy"]), 1)
            self.assertIn(1 << 20, [record["bytes"] for record in records if record["record"] == "Alloc"])
        self.assertEqual(first.read_bytes(), stopped)
        self.finish(program)
        self.assertEqual(len(self.traces()), 3)

    def test_a_lack_of_memory_has_the_ring_written(self):
        variables = control_test.bare_environment(LD_PRELOAD=str(BUILD / "lib/libumadvisor.so"), UMADVISOR_RING="60s", SIMCUDA_CONFIG="capacity=256M",
                                     UMADVISOR_OUTPUT=str(self.folder / "t.umtrace"))
        done = subprocess.run([BUILD / "bin/sim/fill_card", "--mib", "384"], env=variables, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("out of memory: wrote the last part of the run", done.stderr)
        written = [trace for trace in self.traces() if trace.name != "t.umtrace"]
        self.assertEqual(len(written), 1)
        self.check_part(written[0], "ring")
        failed = [finding for finding in self.report(written[0])["findings"] if finding["rule"] == "UMA-701"]
        self.assertEqual(len(failed), 1)
        self.assertIn("held 256 MiB", json.dumps(failed[0]))


for name in [name for name in dir(control_test.Control) if name.startswith("test_")]:
    setattr(Recordings, name, None)  # they have a file of their own

if __name__ == "__main__":
    unittest.main()
