"""The recipes of docs/containers.md: the pod's commands in a read-only root without privileges, the job scripts with stand-ins for their
launchers, on simcuda."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["UMADVISOR_BUILD"]).resolve()
ADVISOR = BUILD / "bin/umadvisor"
DOCUMENT = (ROOT / "docs/containers.md").read_text()
UNSHARE = ["unshare", "--mount", "--pid", "--ipc", "--fork", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def block(language, after=""):
    """The first block of code in `language` behind `after`."""
    return re.search(rf"^```{language}\n(.*?)^```$", DOCUMENT[DOCUMENT.index(after):], flags=re.M | re.S)[1]


def ran(*command, **options):
    return subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class Pod:
    """Of the manifest: its volumes are folders, its images what they hold."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.pod = yaml.safe_load(block("yaml"))
        self.images = {"umadvisor": self.carrier(), "my-program": {"/app/train": BUILD / "bin/sim-static/pingpong"}}
        for volume in self.pod["spec"]["volumes"]:
            self.volume(volume["name"]).mkdir()
            self.volume(volume["name"]).chmod(0o777)
        self.folder.chmod(0o755)

    def volume(self, name):
        return self.folder / f"volume-{name}"

    def carrier(self):
        """As the Dockerfile makes it, of what was built."""
        target = re.search(r"^COPY umadvisor (\S+)$", block("dockerfile"), flags=re.M)[1]
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.folder / "package"], check=True, stdout=subprocess.DEVNULL)
        return {target: self.folder / "package"}

    def run(self, kind, index=0):
        container = self.pod["spec"][kind][index]
        user = self.pod["spec"]["securityContext"]["runAsUser"]
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] and security["capabilities"]["drop"] == ["ALL"]
        environment = {each["name"]: each.get("value", self.pod["metadata"]["name"]) for each in container.get("env", [])}
        command = [re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], each) for each in container["command"]]
        mounts = [(path, source, "ro") for path, source in self.images[container["image"]].items()]
        mounts += [(each["mountPath"], self.volume(each["name"]), "ro" if each.get("readOnly") else "rw")
                   for each in container["volumeMounts"]]
        root = self.folder / "root"
        root.mkdir(exist_ok=True)
        # The system's folders, and the simulated driver in the place of the one that the container toolkit brings.
        system = [(each, each) for each in ("/usr", "/bin", "/lib", "/lib64", "/etc", "/dev/null") if Path(each).exists()]
        system.append((BUILD / "lib/simcuda", "/simcuda"))
        lines = ["set -e", f"mount -t tmpfs none {root}", f"mkdir {root}/proc {root}/tmp", f"mount -t proc proc {root}/proc"]
        for path, source, access in [*((target, source, "ro") for source, target in system), *mounts]:
            make = "mkdir -p" if Path(source).is_dir() else f"mkdir -p {root}{Path(path).parent}; touch"
            lines += [f"{make} {root}{path}", f"mount --bind {source} {root}{path}"]
            if access == "ro":
                lines.append(f"mount -o remount,ro,bind {root}{path}")
        lines.append(f"mount -o remount,ro,bind {root}")
        # Where this is root of its own user namespace alone, there is no other user to become.
        drop = f"--reuid {user} --regid {user} --clear-groups " if os.geteuid() == 0 else ""
        lines.append(f"exec chroot {root} setpriv {drop}--inh-caps=-all --bounding-set=-all --no-new-privs \"$@\"")
        settings = [f"{name}={value}" for name, value in environment.items()]
        return ran(*UNSHARE, "bash", "-c", "\n".join(lines), "-", "env", "-i", "PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/simcuda",
                   *settings, *command)


def stand_in(folder, name, text):
    path = Path(folder, name)
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)


class Containers(unittest.TestCase):
    def test_pod_records_without_privileges_into_its_volume(self):
        if ran(*UNSHARE, "true").returncode != 0:
            self.skipTest("no namespaces for this user")
        with tempfile.TemporaryDirectory() as folder:
            pod = Pod(folder)
            copied = pod.run("initContainers")
            self.assertEqual((copied.returncode, copied.stderr), (0, ""))
            done = pod.run("containers")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("result right", done.stdout)
            for line in done.stderr.splitlines():
                self.assertNotRegex(line, "Read-only|cannot|TMPDIR|nothing is recorded")
            traces = os.listdir(pod.volume("traces"))
            self.assertEqual(traces, ["train.umtrace"])
            report = ran(ADVISOR, "report", pod.volume("traces") / traces[0]).stdout
            self.assertIn("trace complete", report)
            self.assertIn("UMA-202", report)

    def run_script(self, folder, script, launchers):
        for name, text in launchers.items():
            stand_in(folder, name, text)
        Path(folder, "umadvisor").symlink_to(ADVISOR)
        shutil.copy(BUILD / "bin/test-programs/rank_load", folder)
        stand_in(folder, "train", f"exec {folder}/rank_load 3 100 1024 100 1 20\n")
        done = ran("bash", "-c", script, cwd=folder, env={
            **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(BUILD / "lib/simcuda"), "SLURM_JOB_ID": "7"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\b3 ranks\b", done.stdout + done.stderr)

    def test_slurm_script_reports_on_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_script(folder, block("bash", "## Slurm"), {"srun": (
                'cd "${1#--chdir=}"; shift\nfor rank in 0 1 2; do SLURM_PROCID=$rank "$@" & done; wait\n')})
            self.assertEqual(len(list(Path(folder, "traces-7").glob("rank_load.?.*.umtrace"))), 3)

    def test_torchrun_script_reports_on_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_script(folder, block("bash", "## torchrun"), {"torchrun": (
                'for rank in 0 1 2; do RANK=$rank ./train & done; wait\n')})


if __name__ == "__main__":
    unittest.main()
