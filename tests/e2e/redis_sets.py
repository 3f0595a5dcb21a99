"""Sets of Redis servers, as tests start them: a primary and a replica that a Sentinel watches."""
import pathlib
import shutil
import subprocess
import tempfile

import programs
import redis_server
from redis_server import until


class Sentinel(programs.Program):
    """One of its kind, which calls the primary at that port "main" and promotes its replica a second after it has gone."""

    def __init__(self, primary_port):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-sentinel-"))
        self.port = programs.free_port()
        config = folder / "sentinel.conf"
        config.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {folder}\nsentinel monitor main 127.0.0.1 {primary_port} 1\n"
                          "sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 3000\n",
                          encoding="ascii")
        super().__init__("setpriv", "--pdeathsig", "KILL", "redis-sentinel", config, folder=folder)

    def is_ready(self):
        return self.run("PING") == "PONG"

    def run(self, *words):
        return programs.run("redis-cli", "-p", self.port, *words).stdout.strip()

    def primary_port(self):
        said = self.run("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main").split()
        return int(said[1]) if len(said) == 2 else None

    def close(self):
        if self.is_running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Pair:
    """A primary with one replica, and their Sentinel; prepared."""

    def __init__(self, binary, **settings):
        self.servers = [redis_server.Redis(binary, **settings) for _ in range(2)]
        self.sentinel = Sentinel(self.servers[0].port)
        self.url = f"redis+sentinel://127.0.0.1:{self.sentinel.port}/main"
        self.primary, self.replica = self.servers
        try:
            self.primary.start()
            self.follow(self.replica, self.primary)
            self.replica.start()
            until(self.is_whole)
            self.sentinel.start()
            subprocess.run([binary, "migrate", "--url", self.url], check=True, capture_output=True)
            until(self.sentinel_knows)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def follow(server, primary):
        """The next life of the server is that of a replica."""
        words = server.command
        if "--replicaof" in words:
            del words[words.index("--replicaof"):words.index("--replicaof") + 2]
        words += ["--replicaof", f"127.0.0.1 {primary.port}"]

    def is_whole(self):
        return "state=online" in self.primary.run("INFO", "replication", check=False)

    def sentinel_knows(self):
        return f"port\n{self.replica.port}\n" in self.sentinel.run("SENTINEL", "REPLICAS", "main") + "\n" and \
            "master-link-status\nok" in self.sentinel.run("SENTINEL", "REPLICAS", "main")

    def wait_for_promotion(self):
        until(lambda: self.replica.run("ROLE", check=False).startswith("master"))
        until(lambda: self.sentinel.primary_port() == self.replica.port)
        self.primary, self.replica = self.replica, self.primary

    def come_back(self):
        """The one that was killed is started again, as the replica of the other."""
        self.follow(self.replica, self.primary)
        self.replica.start()
        until(self.is_whole)
        until(self.sentinel_knows)

    def close(self):
        for each in (self.sentinel, *self.servers):
            each.close()
