"""Starts and stops the semel binary on free ports of the loopback, with a configuration and a folder of its own."""
import os
import pathlib
import random
import re
import signal
import socket
import string
import subprocess
import tempfile
import time

import wire

HOST = "127.0.0.1"

GIVEN = set()


def free_port():
    """A port that was free a moment ago, below those that the system gives to outgoing connections; never one twice."""
    while True:
        port = random.randrange(12000, 32000)
        if port in GIVEN:
            continue
        GIVEN.add(port)
        with socket.socket() as sock:
            try:
                sock.bind((HOST, port))
                return port
            except OSError:
                continue


class DeadPort:
    """An address that nobody listens on, and that nobody else can take meanwhile."""

    def __init__(self):
        self.sock = socket.socket()
        self.sock.bind((HOST, 0))
        self.address = self.sock.getsockname()

    def close(self):
        self.sock.close()


class Gateway:
    """A semel process. The same object can be started again on the same folder and ports after it has ended."""

    def __init__(self, binary, config, folder=None, environment=None, host=HOST, **values):
        """`config` is TOML in which $listen, $admin, $data and the names in `values` are filled in."""
        self.binary = str(pathlib.Path(binary).resolve())
        self._own_folder = tempfile.TemporaryDirectory(prefix="semel-e2e-") if folder is None else None
        self.folder = pathlib.Path(folder or self._own_folder.name)
        self.address = (host, free_port())
        self.admin = (HOST, free_port())
        self.values = {"listen": "%s:%d" % self.address, "admin": "%s:%d" % self.admin,
                       "data": str(self.folder / "data"), **values}
        self.config_path = self.folder / "semel.toml"
        self.out_path = self.folder / "stdout"
        self.err_path = self.folder / "stderr"
        self.environment = {**os.environ, **(environment or {})}
        self.prefix = []  # words before the binary: a program that runs it and then is it, such as strace -D
        self.process = None
        self.write_config(config)

    def write_config(self, config):
        self.config_path.write_text(string.Template(config).substitute(self.values), encoding="utf-8")

    def spawn(self, *arguments):
        """Without waiting until it listens."""
        with open(self.out_path, "ab") as out, open(self.err_path, "ab") as err:
            words = [*self.prefix, self.binary, *(arguments or ("serve", "--config", str(self.config_path)))]
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder,
                                            env=self.environment)
        return self

    def start(self, *arguments, seconds=30.0):
        before = self.stderr().count("listening on")
        self.spawn(*arguments)
        deadline = time.monotonic() + seconds
        while self.stderr().count("listening on") == before:
            if self.process.poll() is not None:
                raise RuntimeError(f"semel ended with {self.process.returncode}:\n{self.stderr()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"semel does not listen:\n{self.stderr()}")
            time.sleep(0.005)
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=30.0):
        """The exit code; None if it goes on."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self):
        """SIGKILL, and nothing of the process is left when this returns."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=30.0):
        """SIGTERM; the exit code."""
        if self.process is None or self.process.poll() is not None:
            return None if self.process is None else self.process.returncode
        self.signal(signal.SIGTERM)
        code = self.wait(seconds)
        if code is None:
            self.kill()
        return code

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if self._own_folder is not None:
            self._own_folder.cleanup()

    def connect(self, seconds=10.0):
        return wire.Wire(self.address, seconds)

    def ask(self, method, target, fields=(), body=None, seconds=10.0):
        return wire.ask(self.address, method, target, fields, body, seconds)

    def stdout(self):
        return self.out_path.read_text(encoding="utf-8", errors="replace") if self.out_path.exists() else ""

    def stderr(self):
        return self.err_path.read_text(encoding="utf-8", errors="replace") if self.err_path.exists() else ""

    def metrics(self):
        """The text of /metrics, and what it counts as a dictionary."""
        text = wire.ask(self.admin, "GET", "/metrics").body.decode()
        return text, {m[1]: float(m[2]) for m in re.finditer(r"^([^#\s]\S*) (\S+)$", text, re.M)}

    def __enter__(self):
        return self.start() if self.process is None else self

    def __exit__(self, *_):
        self.close()
