"""A Redis server in a folder of its own: a socket in it, a port of the loopback if replicas are to follow it; ends with the
program that started it."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import programs


RECORD = re.compile(r"semel:\{\d+\}[\w-]{43}")


def until(holds, seconds=30.0):
    """Waits for that."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it never happened")
        time.sleep(0.05)


def memory_folder():
    """Where files are in memory, if there is such a place: a disk that others keep busy makes a server stand still for longer than
    a gateway waits for it. A killed process loses nothing there either."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Redis(programs.Program):
    """`settings` are options of redis-server: {"appendfsync": "everysec"}. It syncs every write unless they say otherwise. Its
    folder is a new one `under` that one."""

    def __init__(self, binary, under=None, **settings):
        self.binary = binary
        folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-redis-", dir=under or memory_folder()))
        self.socket = folder / "s"
        self.url = f"redis://{self.socket}"
        self.port = programs.free_port()
        words = {"port": self.port, "bind": "127.0.0.1", "unixsocket": self.socket, "dir": folder, "save": "",
                 "appendonly": "yes", "appendfsync": "always", "repl-diskless-sync-delay": 0,
                 **{name.replace("_", "-"): value for name, value in settings.items()}}
        command = ["setpriv", "--pdeathsig", "KILL", "redis-server"]
        for name, value in words.items():
            command += [f"--{name}", str(value)]
        super().__init__(*command, folder=folder)

    def spawn(self, *arguments):
        self.socket.unlink(missing_ok=True)
        return super().spawn(*arguments)

    def is_ready(self):
        return self.socket.exists() and self.run("PING", check=False) == "PONG"

    def run(self, *words, check=True):
        """What redis-cli prints."""
        done = programs.run("redis-cli", "-s", self.socket, *words)
        if check and (done.returncode != 0 or done.stdout.startswith("ERR")):
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def prepare(self):
        subprocess.run([self.binary, "migrate", "--url", self.url], check=True, capture_output=True)

    def records(self):
        """The names of all records."""
        return [name for name in self.run("--scan", "--pattern", "semel:{*}*").splitlines() if RECORD.fullmatch(name)]

    def fences_above_one(self):
        """How many keys were claimed more than once."""
        names = self.records()
        numbers = [self.run("EVAL", "return struct.unpack('>I8', redis.call('GETRANGE', KEYS[1], 8, 15))", 1, name)
                   for name in names]
        return sum(1 for number in numbers if number.strip() not in ("1", "(integer) 1"))

    @contextlib.contextmanager
    def standing_still(self):
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def close(self):
        if self.is_running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Server(Redis):
    """A new one, started, and prepared."""

    def __init__(self, binary, under=None, **settings):
        super().__init__(binary, under, **settings)
        self.start()
        self.prepare()
