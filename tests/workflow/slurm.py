"""A throw-away one-node Slurm cluster in a folder: no root, nothing under /etc, ended by pid."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "srun"]
SEARCHED = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"  # where Debian puts daemons

CONF = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={d_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
MinJobAge=3600
ReturnToService=2
SlurmdTimeout=10
KillWait=1
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name, path=SEARCHED) is None]


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder, self.host = folder, socket.gethostname().split(".")[0]
        self.daemons: dict[str, subprocess.Popen] = {}
        for name in ("state", "spool", "bin"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        self._configure()
        self.environment = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}:{SEARCHED}",
        }

    def _configure(self) -> None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
        ctld_port, d_port = _free_ports(2)
        conf = CONF.format(
            host=self.host, folder=self.folder, user=getpass.getuser(), cpus=os.cpu_count(),
            memory=int(0.9 * memory), ctld_port=ctld_port, d_port=d_port,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(conf)
        # Any file will do for a pretended GPU.
        gres = f"AutoDetect=off\nNodeName={self.host} Name=gpu File=/dev/null\n"
        (self.folder / "gres.conf").write_text(gres)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        # Snakemake's plugin drops SLURM_CONF before its inner srun: on a real cluster there is
        # /etc/slurm, here srun gets a wrapper.
        wrapper = self.folder / "bin/srun"
        real = shutil.which("srun", path=SEARCHED)
        wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {real} "$@"\n')
        wrapper.chmod(0o755)

    def start(self) -> None:
        here = self.folder
        self._daemon("munged", "--foreground", "--force", f"--key-file={here}/munge.key",
                     f"--socket={here}/munge.sock", f"--pid-file={here}/munged.pid",
                     f"--log-file={here}/munged.log", f"--seed-file={here}/munge.seed")  # fmt: skip
        wait_until((here / "munge.sock").exists, 10, "munged does not start")
        self._daemon("slurmctld", "-D", "-f", f"{here}/slurm.conf")
        self.start_node()

    def start_node(self) -> None:
        self._daemon("slurmd", "-D", "-f", f"{self.folder}/slurm.conf", "-N", self.host)
        wait_until(self._node_is_up, 120, "the node does not come up")

    def _node_is_up(self) -> bool:
        state = self.run("sinfo", "-h", "-o", "%T").strip()
        return state in ("idle", "mixed", "allocated", "completing")

    def lose_node(self) -> None:
        """As in a power cut: the daemon and all that it started are gone at once."""
        node = self.daemons.pop("slurmd")
        for pid in [*_below(node.pid), *_steps(self.folder), node.pid]:
            _kill(pid, signal.SIGKILL)
        node.wait()

    def stop(self) -> None:
        for pid in _steps(self.folder):
            _kill(pid, signal.SIGKILL)
        for name in reversed(list(self.daemons)):
            process = self.daemons.pop(name)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run(self, *command: str) -> str:
        environment = os.environ | self.environment
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        return done.stdout

    def _daemon(self, name: str, *arguments: str) -> None:
        program = shutil.which(name, path=SEARCHED)
        with (self.folder / f"{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                [program, *arguments], env=os.environ | self.environment, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip


def wait_until(condition, seconds: float, complaint: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _steps(folder: Path) -> list[int]:
    """Job steps of this cluster, by the folder that they have open, and all below them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "comm").read_text().strip()
            environ = (process / "environ").read_bytes()
        except OSError:
            continue
        if name.startswith("slurmstepd") and str(folder).encode() in environ:
            pid = int(process.name)
            found += [*_below(pid), pid]
    return found


def _below(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in map(int, children) for each in (*_below(child), child)]


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
