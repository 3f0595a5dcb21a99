"""Starts and stops the semel binary on free ports of the loopback, with a configuration and a folder of its own."""
import contextlib
import re
import signal
import string
import time

import checker
import programs
import wire
from programs import HOST


class Noted(programs.Program):
    """A program with an address whose `faults` are noted, as checker.py wants them: when it was killed, when it left in good
    order, when it was not there. An end that nobody asked for is none."""

    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.faults = []
        self._spawned_at = self._gone_at = None
        self._noted = False  # how its present life ended

    def note(self, part, what, begun):
        now = time.monotonic()
        self.faults.append(checker.fault(part, what, begun, now, "%s:%d" % self.address))
        return now

    def spawn(self, *arguments):
        self._spawned_at, self._noted = time.monotonic(), False
        return super().spawn(*arguments)

    def start(self, *arguments, seconds=30.0):
        super().start(*arguments, seconds=seconds)
        if self._gone_at is not None:
            self.note(checker.AWAY, "not there", self._gone_at)
            self._gone_at = None
        return self

    def kill(self):
        """Also if it has died at a failpoint: some time after its start, then."""
        begun = time.monotonic()
        was_meant = self.is_running()
        if not was_meant and self.process.returncode == -signal.SIGKILL and "SEMEL_FAILPOINT" in self.environment:
            begun, was_meant = self._spawned_at, True
        super().kill()
        if was_meant and not self._noted:
            self.note(checker.DEATH, "killed", begun)
            self._noted, self._gone_at = True, min(begun, self._gone_at or begun)

    def stop(self, seconds=30.0, number=signal.SIGTERM):
        running, begun = self.is_running(), time.monotonic()
        code = super().stop(seconds, number)
        if running and not self._noted:
            self._noted, self._gone_at = True, self.note(checker.LEAVING, "leaves in good order", begun)
        return code

    @contextlib.contextmanager
    def stopped(self):
        """It stands still meanwhile, and does not know it."""
        begun = time.monotonic()
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)
            self.note(checker.MACHINE, "stopped", begun)


class Gateway(Noted):
    """A semel process. The same object can be started again on the same folder and ports after it has ended."""

    def __init__(self, binary, config, folder=None, environment=None, host=HOST, **values):
        """`config` is TOML in which $listen, $admin, $data, $store and the names in `values` are filled in. Unless it is
        given, the store is an embedded one in $data."""
        super().__init__(programs.path(binary), folder=folder, environment=environment)
        self.binary = self.command[0]
        self.address = (host, programs.free_port())
        self.admin = programs.free_address()
        data = str(self.folder / "data")
        self.values = {"listen": "%s:%d" % self.address, "admin": "%s:%d" % self.admin, "data": data,
                       "store": f"embedded:{data}", **{name: value for name, value in values.items() if value is not None}}
        self.config_path = self.folder / "semel.toml"
        self.command += ["serve", "--config", str(self.config_path)]
        self.write_config(config)

    def write_config(self, config):
        self.config_path.write_text(string.Template(config).substitute(self.values), encoding="utf-8")

    def connect(self, seconds=10.0):
        return wire.Wire(self.address, seconds)

    def ask(self, method, target, fields=(), body=None, seconds=10.0):
        return wire.ask(self.address, method, target, fields, body, seconds)

    def metrics(self):
        """The text of /metrics, and what it counts as a dictionary."""
        text = wire.ask(self.admin, "GET", "/metrics").body.decode()
        return text, {m[1]: float(m[2]) for m in re.finditer(r"^([^#\s]\S*) (\S+)$", text, re.M)}
