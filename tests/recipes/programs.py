"""The examples as programs: started on a port of their own, ended with the test, with the server that they need."""
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import gateway  # noqa: E402  (found by the line above)
import wire  # noqa: E402


class Program:
    """A server that says `listening on` when it is ready. It can be started again on the same port."""

    def __init__(self, *command, cwd=None):
        self.command = [str(part) for part in command]
        self.cwd = cwd
        self.process = None

    def start(self, seconds=30.0):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, cwd=self.cwd)
        deadline = time.monotonic() + seconds
        said = ""
        while "listening on" not in said:
            line = self.process.stderr.readline()
            if not line or time.monotonic() > deadline:
                raise RuntimeError(f"{self.command[0]} does not listen:\n{said}")
            said += line
        return self

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()
            self.process.stderr.close()
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


def path(text):
    """Of an argument: where the programs are started matters to none of them."""
    return pathlib.Path(text).resolve()


def run(*command):
    """What it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def pay(address, key, body, seconds=10.0):
    return wire.ask(address, "POST", "/payments", [("Idempotency-Key", key), ("Authorization", "Bearer me"),
                                                   ("Content-Type", "application/json")], body, seconds)


def free_address():
    return (gateway.HOST, gateway.free_port())
