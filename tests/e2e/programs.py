"""Processes that a test starts and ends, and what they say."""
import os
import pathlib
import random
import re
import socket
import subprocess
import tempfile
import time
from signal import SIGINT, SIGTERM

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


def free_address():
    return (HOST, free_port())


class DeadPort:
    """An address that nobody listens on, and that nobody else can take meanwhile."""

    def __init__(self):
        self.sock = socket.socket()
        self.sock.bind((HOST, 0))
        self.address = self.sock.getsockname()

    def close(self):
        self.sock.close()


def path(text):
    """Of an argument: from where a program is started matters to none of them."""
    return pathlib.Path(text).resolve()


def run(*command, seconds=120, **options):
    """Runs to its end, whatever that is; what it printed is text."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds, check=False,
                          **options)


def answers(address, target="/"):
    """Whether a server answers there, and not with an error."""
    try:
        return wire.ask(address, "GET", target).status < 400
    except (OSError, wire.Closed, wire.Cut, wire.Silent):
        return False


def text_of(file, begin=0):
    """What a file holds from a byte on; nothing if it is not there."""
    return file.read_bytes()[begin:].decode("utf-8", "replace") if file.exists() else ""


class Program:
    """A process with a folder for what it prints. The same object can be started again after it has ended.

    start() waits until is_ready() says so; that is what kinds of programs differ in.
    """

    def __init__(self, *command, folder=None, cwd=None, environment=None):
        self.command = [str(word) for word in command]
        self._own_folder = tempfile.TemporaryDirectory(prefix="semel-e2e-") if folder is None else None
        self.folder = pathlib.Path(folder or self._own_folder.name)
        self.cwd = cwd or self.folder
        self.out_path = self.folder / "stdout"
        self.err_path = self.folder / "stderr"
        self.environment = {**os.environ, **(environment or {})}
        self.prefix = []  # words before the command: a program that runs it and then is it, such as strace -D
        self.process = None
        self._before = (0, 0)  # bytes of earlier lives in the two files

    def spawn(self, *arguments):
        """Without waiting until it is ready. `arguments` take the place of the usual ones."""
        self._before = tuple(file.stat().st_size if file.exists() else 0 for file in (self.out_path, self.err_path))
        words = [*self.prefix, *(map(str, (self.command[0], *arguments)) if arguments else self.command)]
        with open(self.out_path, "ab") as out, open(self.err_path, "ab") as err:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.cwd,
                                            env=self.environment)
        return self

    def start(self, *arguments, seconds=30.0):
        self.spawn(*arguments)
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.command[0]} ended with {self.process.returncode}:\n{self.stderr()}")
            if time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.command[0]} does not start:\n{self.stdout()}{self.stderr()}")
            time.sleep(0.005)
        return self

    def is_ready(self):
        return "listening on" in self.said_now()

    def said_now(self):
        """On standard error, since it was started last."""
        return text_of(self.err_path, self._before[1])

    def printed_now(self):
        """On standard output, since it was started last."""
        return text_of(self.out_path, self._before[0])

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=30.0):
        """The exit code; None if it goes on."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """SIGKILL, and nothing of the process is left when this returns."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=30.0, number=SIGTERM):
        """Ends it in good order; the exit code, None if it did not end in time."""
        if not self.is_running():
            return None if self.process is None else self.process.returncode
        self.signal(number)
        code = self.wait(seconds)
        if code is None:
            self.kill()
        return code

    def close(self):
        if self.is_running():
            self.kill()
        if self._own_folder is not None:
            self._own_folder.cleanup()

    def stdout(self):
        return text_of(self.out_path)

    def stderr(self):
        return text_of(self.err_path)

    def __enter__(self):
        return self.start() if self.process is None else self

    def __exit__(self, *_):
        self.close()


class Answering(Program):
    """One that is ready when it answers at an address."""

    def __init__(self, address, *command, target="/", **options):
        super().__init__(*command, **options)
        self.address = address
        self.target = target

    def is_ready(self):
        return answers(self.address, self.target)


class Printing(Program):
    """One that prints its port when it is ready; `address` is where it listens then."""

    def is_ready(self):
        return re.search(r"\d+.*\n", self.printed_now()) is not None

    @property
    def address(self):
        return (HOST, int(re.search(r"\d+", self.printed_now())[0]))


class Demo(Program):
    """`semel demo` on ports that the system chose; `text` is what it printed when it had started."""

    PATIENCE_S = 60  # a sanitizer's build is slow

    def __init__(self, binary, *arguments, **options):
        ports = ["--port", "0"] if "--without" in arguments else ["--port", "0", "--admin-port", "0", "--api-port", "0"]
        super().__init__(path(binary), "demo", *ports, *arguments, **options)
        self.text = ""

    def is_ready(self):
        return re.search(r"^Ctrl-C.*\n", self.printed_now(), re.M) is not None

    def start(self, *arguments, seconds=PATIENCE_S):
        super().start(*arguments, seconds=seconds)
        self.text = self.printed_now()
        return self

    @property
    def url(self):
        """Of the payments API, behind the gateway or without it."""
        return re.search(r"http://127\.0\.0\.1:\d+", self.text)[0]

    @property
    def address(self):
        return (HOST, int(self.url.rpartition(":")[2]))

    def close(self):
        self.stop()  # in good order, so that it takes its data with it
        super().close()

    def end(self, number=SIGINT):
        """What it printed on the way out, and its exit status."""
        code = self.stop(self.PATIENCE_S, number)
        return self.printed_now()[len(self.text):], self.said_now(), code
