"""`umadvisor attach` and `top` against processes that answer as the shim does, and against such as do not."""

import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from fcntl import ioctl
from pathlib import Path

from traces import ADVISOR, record

SERVER = Path(__file__).with_name("live_server.py")
UNSHARE = ["unshare", "--pid", "--mount", "--fork", "--kill-child", *([] if os.geteuid() == 0 else ["--map-root-user"])]
# Other tests may run meanwhile, and what asks all processes would ask theirs.
ALONE = [*UNSHARE, "--net", "--mount-proc"]
IS_ALONE = "UMADVISOR_TEST_ALONE" in os.environ
alone = unittest.skipUnless(IS_ALONE, "no namespaces of its own can be made here")


def can_run(command):
    return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0


class LiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.trace = record(Path(holder.name) / "state.umtrace", "sim/rule_cases", "--rule", "UMA-404", "--case",
                           "fault")

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.runtime = self.folder / "runtime"
        self.sockets = self.runtime / "umadvisor"
        self.sockets.mkdir(parents=True, mode=0o700)

    def environment(self, **more):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("UMADVISOR_CONTROL")}
        return {**clean, "XDG_RUNTIME_DIR": str(self.runtime), "XDG_CACHE_HOME": str(self.folder), "NO_COLOR": "1", **more}

    def serve(self, behaviour="good", folder=None, name="live_server.py", before=()):
        script = self.folder / name
        shutil.copyfile(SERVER, script)
        server = subprocess.Popen([*before, sys.executable, script, behaviour, self.sockets if folder is None else folder, self.trace],
                                  stdout=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment())
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        self.assertEqual(server.stdout.readline(), "ready\n")
        return server

    def run_client(self, *arguments, **more):
        return subprocess.run([ADVISOR, *map(str, arguments)], cwd=self.folder, text=True, capture_output=True, timeout=60, check=False,
                              env=self.environment(**more))

    def check_refused(self, ran, text, status=1):
        self.assertEqual(ran.returncode, status, ran.stderr)
        self.assertRegex(ran.stderr, text)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertNotIn("\x1b", ran.stderr + ran.stdout)


class Attach(LiveTest):
    def test_status_in_words_and_as_json(self):
        server = self.serve()
        words = self.run_client("attach", server.pid, "status")
        self.assertEqual(words.returncode, 0, words.stderr)
        self.assertEqual(words.stdout, f"{server.pid} (live_server.py): standby, not recording, records when copy.h2d.bytes/s > 1GiB, --act prefetch\n")
        document = json.loads(self.run_client("attach", "live_server.py", "status", "--json").stdout)["processes"]
        self.assertEqual([each["pid"] for each in document], [server.pid])
        self.assertEqual(document[0]["mode"], "standby")

    def test_the_abstract_namespace_is_found(self):
        server = self.serve(folder="")
        self.assertIn("standby", self.run_client("attach", server.pid, "status").stdout)

    def test_the_folder_of_the_process_is_found_without_the_variable_here(self):
        server = self.serve()
        found = self.run_client("attach", server.pid, "status", XDG_RUNTIME_DIR=str(self.folder))
        self.assertIn("standby", found.stdout, found.stderr)

    def test_a_shared_folder_with_a_long_path(self):
        shared = self.folder / ("x" * 120)
        shared.mkdir()
        short = self.folder / "short"
        short.symlink_to(shared)
        server = self.serve(folder=short)
        self.assertIn("standby", self.run_client("attach", server.pid, "status", UMADVISOR_CONTROL=str(shared)).stdout)

    def test_start_stop_mark_snapshot_and_act(self):
        server = self.serve()
        for arguments, printed, asked in (
                (("start", "--for", "1.5s", "-o", "a.umtrace"), f"records to {self.folder}/a.umtrace",
                 f"start\toutput={self.folder}/a.umtrace\tfor=1500000000"),
                (("mark", "epoch", "2"), "marked", "mark\ttext=epoch 2"),
                (("stop",), f"recorded {self.folder}/a.umtrace", "stop"),
                (("snapshot", "-o", "b.umtrace"), f"wrote {self.folder}/b.umtrace", f"snapshot\toutput={self.folder}/b.umtrace"),
                (("act", "off", "prefetch"), "prefetch is off", "act\tmode=prefetch\ton=0")):
            with self.subTest(arguments=arguments):
                ran = self.run_client("attach", server.pid, *arguments)
                self.assertEqual((ran.returncode, ran.stdout), (0, f"{server.pid} (live_server.py): {printed}\n"), ran.stderr)
                self.assertEqual(server.stdout.readline(), asked + "\n")
        self.check_refused(self.run_client("attach", server.pid, "stop"), "nothing is recorded")
        self.check_refused(self.run_client("attach", server.pid, "mark", "a\tb"), "tabs")
        self.check_refused(self.run_client("attach", server.pid, "mark", "x" * 9000), "longer")

    def test_without_a_word_it_records_until_ctrl_c_and_reports(self):
        server = self.serve()
        client = subprocess.Popen([ADVISOR, "attach", str(server.pid), "-o", "run.umtrace"], cwd=self.folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment())
        self.assertIn("records to", client.stderr.readline())
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=60)
        self.assertEqual(client.returncode, 0, err)
        self.assertEqual(out, self.run_client("report", "run.umtrace").stdout)
        self.assertIn("hold=1", server.stdout.readline())
        self.assertEqual(server.stdout.readline(), "stop\n")

    def test_without_a_word_it_records_for_a_time(self):
        server = self.serve()
        start = time.monotonic()
        ran = self.run_client("attach", server.pid, "--for", "300ms")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreater(time.monotonic() - start, 0.3)
        self.assertIn("UMA-", ran.stdout)

    def test_a_process_that_ends_ends_its_recording(self):
        server = self.serve()
        client = subprocess.Popen([ADVISOR, "attach", str(server.pid), "-o", "gone.umtrace"], cwd=self.folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment())
        self.assertIn("records to", client.stderr.readline())
        shutil.copyfile(self.trace, self.folder / "gone.umtrace")
        server.kill()
        out, err = client.communicate(timeout=60)
        self.assertEqual(client.returncode, 0, err)
        self.assertIn("UMA-", out)

    @alone
    def test_all_are_started_before_one_answers(self):
        hanging, *servers = [self.serve("hang")] + [self.serve() for _ in range(3)]
        ran = self.run_client("attach", "--all", "start", "-o", "job.umtrace")
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"process {hanging.pid} (live_server.py): does not answer within 2 s", ran.stderr)
        for server in servers:
            self.assertIn(f"{server.pid} (live_server.py): records to {self.folder}/job.{server.pid}.umtrace\n", ran.stdout)
        self.assertIn("start", hanging.stdout.readline())

    @alone
    def test_eight_processes_start_together(self):
        for _ in range(8):
            self.serve()
        self.assertEqual(self.run_client("attach", "--all", "start").returncode, 0)
        begun = [each["begun_ns"] for each in json.loads(self.run_client("attach", "--all", "status", "--json").stdout)["processes"]]
        self.assertEqual(len(begun), 8)
        self.assertLess(max(begun) - min(begun), 200e6)

    def test_a_name_of_several_asks_for_a_pid(self):
        servers = [self.serve() for _ in range(2)]
        ran = self.run_client("attach", "live_server.py", "status")
        self.check_refused(ran, "stands for 2 processes: .*: give a PID")
        for server in servers:
            self.assertIn(f"{server.pid} (live_server.py)", ran.stderr)

    def test_what_cannot_be_attached_to(self):
        if IS_ALONE:
            self.check_refused(self.run_client("attach", "--all", "status"), "no process of yours has a control socket: .*--standby")
        self.check_refused(self.run_client("attach", "no-such-name", "status"), "no process of yours is called no-such-name: start the program with umadvisor run")
        for number in "0", "-5", "99999999999":
            self.check_refused(self.run_client("attach", number, "status"), f"{number} is no PID")
        self.check_refused(self.run_client("attach", 4194304, "status"), "there is no process 4194304")
        with subprocess.Popen(["sleep", "100"]) as sleeper:
            self.check_refused(self.run_client("attach", sleeper.pid, "status"), "runs without umadvisor: start the program with")
            sleeper.kill()

    def test_usage(self):
        for arguments in ((), ("1", "frobnicate"), ("1", "act", "on"), ("1", "mark"), ("1", "stop", "now"), ("1", "--for", "soon"),
                          ("1", "stop", "--for", "1s"), ("1", "start", "--json"), ("1", "status", "-o", "x")):
            with self.subTest(arguments=arguments):
                self.check_refused(self.run_client("attach", *arguments), "umadvisor: ", 2)

    def test_hostile_servers_give_one_line(self):
        for behaviour, text in (("hang", "does not answer within 2 s"), ("garbage", "cannot be read"), ("list", "cannot be read"),
                                ("huge", "more than 256 KiB"), ("refuse", r"it is .*not possible"),
                                ("close", "has ended, or closed the connection")):
            with self.subTest(behaviour=behaviour):
                server = self.serve(behaviour)
                start = time.monotonic()
                self.check_refused(self.run_client("attach", server.pid, "status"), text)
                self.check_refused(self.run_client("attach", server.pid, "start"), text)
                self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(self.run_client("attach", self.serve("lie").pid, "status").returncode, 0)

    def test_a_process_that_stands_still_is_given_up(self):
        server = self.serve()
        server.send_signal(signal.SIGSTOP)
        self.check_refused(self.run_client("attach", server.pid, "status"), "does not answer")

    def test_folders_and_sockets_that_are_not_used(self):
        server = self.serve(folder=self.folder)  # which is not looked into
        elsewhere = self.folder / "elsewhere"
        self.sockets.rename(elsewhere)
        os.rename(self.folder / str(server.pid), elsewhere / str(server.pid))
        self.sockets.symlink_to(elsewhere)
        self.check_refused(self.run_client("attach", server.pid, "status"), "is not a folder .links are not followed")
        self.sockets.unlink()
        elsewhere.rename(self.sockets)
        self.assertEqual(self.run_client("attach", server.pid, "status").returncode, 0)
        self.sockets.chmod(0o750)
        self.check_refused(self.run_client("attach", server.pid, "status"), "not a folder of yours alone")
        self.sockets.chmod(0o700)
        (self.sockets / str(server.pid)).unlink()
        (self.sockets / str(server.pid)).write_text("")
        self.check_refused(self.run_client("attach", server.pid, "status"), "is not a socket: remove it")
        (self.sockets / str(server.pid)).unlink()
        other = self.serve()
        os.rename(self.sockets / str(other.pid), self.sockets / str(server.pid))
        self.check_refused(self.run_client("attach", server.pid, "status"), f"belongs to process {other.pid}: not used")


@alone
class Containers(LiveTest):
    """Namespaces of their own for process numbers and mounts, as containers have them."""

    def setUp(self):
        super().setUp()
        self.inner = self.folder / "inner"
        self.inner.mkdir()

    def serve_inside(self, sockets):
        """Process 1 of its namespace, with a file system of its own in `inner`."""
        script = f'mount -t tmpfs none {self.inner} && mkdir -p -m 700 {sockets} && exec env XDG_RUNTIME_DIR={sockets.parent} "$@"'
        return self.serve(folder=sockets, before=[*UNSHARE, "sh", "-c", script, "sh"])

    def test_the_socket_has_the_number_inside(self):
        self.serve_inside(self.sockets)
        self.assertEqual([each.name for each in self.sockets.iterdir()], ["1"])
        self.assertIn("standby", self.run_client("attach", "live_server.py", "status").stdout)

    def test_a_socket_and_a_trace_of_another_file_system(self):
        self.serve_inside(self.inner / "umadvisor")
        ran = self.run_client("attach", "live_server.py", "--for", "100ms", "-o", "inner/run.umtrace")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("UMA-", ran.stdout)
        self.assertFalse((self.inner / "run.umtrace").exists())
        self.assertIn("/root" + str(self.inner / "run.umtrace"), self.run_client("attach", "live_server.py", "snapshot", "-o",
                                                                              "inner/run.umtrace").stdout)
        top = self.run_client("top", "--once", "--json", "--interval", "100ms")
        self.assertTrue(json.loads(top.stdout)["processes"][0]["lines"], top.stderr)

    def test_a_process_that_is_not_seen_from_another_namespace(self):
        self.serve_inside(self.sockets)
        for who in ("--all", "1"):  # which is umadvisor itself there
            ran = subprocess.run([*UNSHARE, "--mount-proc", ADVISOR, "attach", who, "status"], text=True, capture_output=True,
                                 timeout=60, check=False, env=self.environment(UMADVISOR_CONTROL=str(self.sockets)))
            self.assertIn("1 (in another container): standby", ran.stdout, ran.stderr)


class Top(LiveTest):
    def test_one_document(self):
        server = self.serve()
        ran = self.run_client("top", server.pid, "--once", "--json", "--interval", "500ms")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        (process,) = json.loads(ran.stdout)["processes"]
        self.assertEqual(process["pid"], server.pid)
        self.assertAlmostEqual(process["interval_s"], 0.5, delta=0.2)
        self.assertAlmostEqual(process["per_second"]["h2d_bytes"], 1e9, delta=1e7)
        self.assertAlmostEqual(process["per_second"]["faults"], 500, delta=10)
        self.assertAlmostEqual(process["wait_share"], 0.25, delta=0.01)
        self.assertAlmostEqual(process["pageable_share"], 0.5, delta=0.01)
        self.assertEqual(process["memory"]["device_bytes"], 64 << 20)
        self.assertTrue(process["lines"])
        self.assertGreater(process["lines"][0]["bytes"], 0)
        self.assertRegex(process["lines"][0]["line"], r"\.\w+:\d+ in ")
        self.assertEqual([left for left in Path(tempfile.gettempdir()).glob("umadvisor-top-*") if left.stat().st_uid == os.getuid()], [])

    def test_a_table(self):
        self.serve()
        self.serve(name="other.py")
        ran = self.run_client("top", "--once", "--interval", "200ms", "live_server.py")
        lines = ran.stdout.splitlines()
        self.assertEqual(len(lines), 2, ran)
        self.assertRegex(lines[0], r"^ *pid  program +state +h2d +d2h +waits")
        self.assertRegex(lines[1], r"live_server.py  standby  [\d.]+ [GM]B/s +0 +25%")

    def test_what_is_kept(self):
        server = self.serve("keep")
        ran = self.run_client("top", server.pid, "--once", "--json", "--interval", "100ms")
        memory = json.loads(ran.stdout)["processes"][0]["memory"]
        self.assertEqual((memory["kept_device_bytes"], memory["kept_pinned_bytes"]), (5 << 28, 64 << 20))
        ran = self.run_client("top", server.pid, "--once", "--interval", "100ms")
        self.assertTrue(ran.stdout.endswith(f"{server.pid} (live_server.py) kept: 1.25 GiB device, 64 MiB pinned\n"), ran.stdout)
        self.assertIn(", kept: 1.25 GiB device, 64 MiB pinned", self.run_client("attach", server.pid, "status").stdout)
        self.assertNotIn("kept", self.run_client("top", self.serve().pid, "--once", "--interval", "100ms").stdout)

    @alone
    def test_processes_that_end_or_answer_with_nonsense(self):
        server, ending = self.serve(), self.serve()
        client = subprocess.Popen([ADVISOR, "top", "--once", "--interval", "1s"], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=self.environment())
        self.assertEqual(ending.stdout.readline(), "counters\n")
        ending.kill()
        out, err = client.communicate(timeout=60)
        self.assertEqual((client.returncode, err), (0, ""))
        self.assertIn(str(server.pid), out)
        self.assertNotIn(str(ending.pid), out)
        for behaviour in ("hang", "garbage", "huge", "lie"):
            with self.subTest(behaviour=behaviour):
                self.check_refused(self.run_client("top", self.serve(behaviour).pid, "--once", "--interval", "50ms"), "process")

    @alone
    def test_a_screen(self):
        server = self.serve()
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(self.environment(TERM="xterm", LC_ALL="C.UTF-8"))
            os.execv(ADVISOR, [ADVISOR, "top", "--interval", "100ms"])
        self.addCleanup(os.close, terminal)
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 150, 0, 0))
        os.kill(pid, signal.SIGWINCH)
        before = termios.tcgetattr(terminal)[3]
        shown = self.read_until(terminal, b"memory in use by line")
        self.assertIn(str(server.pid).encode(), shown)
        self.read_until(terminal, rb"\.\w+:\d+ in ")
        self.assertNotIn(b"reading", self.read_for(terminal, 1.5))  # how far it is
        keeping = self.serve("keep")
        server.kill()
        self.read_until(terminal, b"kept: 1.25 GiB device, 64 MiB pinned")
        keeping.kill()
        self.read_until(terminal, b"no process with a control socket")
        os.write(terminal, b"q")
        self.read_until(terminal, b"\x1b\\[\\?1049l")  # the screen before
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(termios.tcgetattr(terminal)[3] | termios.ECHO | termios.ICANON, before | termios.ECHO | termios.ICANON)

    @alone
    def test_a_signal_restores_the_terminal(self):
        self.serve()
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(self.environment(TERM="xterm"))
            os.execv(ADVISOR, [ADVISOR, "top"])
        self.addCleanup(os.close, terminal)
        self.read_until(terminal, b"memory in use")
        os.kill(pid, signal.SIGTERM)
        self.read_until(terminal, b"\x1b\\[\\?1049l")
        self.assertEqual(os.WTERMSIG(os.waitpid(pid, 0)[1]), signal.SIGTERM)
        self.assertTrue(termios.tcgetattr(terminal)[3] & termios.ECHO)

    def test_without_a_terminal(self):
        self.check_refused(self.run_client("top", self.serve().pid), "needs a terminal: umadvisor top --once")
        self.check_refused(self.run_client("top", "--json"), "goes with --once", 2)
        self.check_refused(self.run_client("top", "--interval", "1ms"), "at least 50ms", 2)

    def read_for(self, terminal, seconds):
        shown = b""
        last = time.monotonic() + seconds
        while select.select([terminal], [], [], max(0, last - time.monotonic()))[0]:
            shown += os.read(terminal, 65536)
        return shown

    def read_until(self, terminal, pattern, seconds=30):
        shown = b""
        last = time.monotonic() + seconds
        while not re.search(pattern, shown):
            ready = select.select([terminal], [], [], max(0, last - time.monotonic()))[0]
            self.assertTrue(ready, f"{pattern} was not shown: {shown[-3000:]}")
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                self.fail(f"{pattern} was not shown before the end: {shown[-3000:]}")
        return shown


if __name__ == "__main__":
    if not IS_ALONE and can_run(ALONE):
        os.environ["UMADVISOR_TEST_ALONE"] = "1"
        os.execvp(ALONE[0], [*ALONE, sys.executable, *sys.argv])
    unittest.main()
