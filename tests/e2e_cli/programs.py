"""Starts the semel binary for a test, and ends what it started."""
import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import threading

SEMEL = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
PATIENCE_S = 60  # a sanitizer's build is slow


def semel(*arguments):
    """Runs to its end."""
    return subprocess.run([SEMEL, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


class Demo:
    """A demo on ports that the system chose; `text` is what it printed when it had started."""

    def __init__(self, *arguments, folder=None):
        ports = ["--port", "0"] if "--without" in arguments else ["--port", "0", "--admin-port", "0", "--api-port", "0"]
        self.process = subprocess.Popen([SEMEL, "demo", *ports, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=folder)
        watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        watchdog.start()
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        watchdog.cancel()
        self.text = "".join(lines)
        urls = re.findall(r"http://127\.0\.0\.1:\d+", self.text)
        if not urls:
            self.process.kill()
            raise AssertionError(f"the demo did not start: {self.text}{self.process.communicate()[1]}")
        self.url = urls[0]
        self.port = self.url.rsplit(":", 1)[1]

    def end(self, with_signal=signal.SIGINT):
        """What it printed on the way out, and its exit status."""
        self.process.send_signal(with_signal)
        try:
            out, err = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return out, err, self.process.returncode


@contextlib.contextmanager
def demo(*arguments, folder=None):
    running = Demo(*arguments, folder=folder)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()
