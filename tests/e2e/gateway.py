"""Starts and stops the semel binary on free ports of the loopback, with a configuration and a folder of its own."""
import re
import string

import programs
import wire
from programs import HOST


class Gateway(programs.Program):
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
