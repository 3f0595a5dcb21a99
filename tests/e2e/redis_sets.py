"""Sets of Redis servers, as tests start them: a primary and a replica that a Sentinel watches, and a
cluster."""
import pathlib
import shutil
import subprocess
import tempfile

import programs
import redis_server
from redis_server import until


class Sentinel(programs.Program):
    """One of its kind, which calls the primary at that port "main" and promotes its replica a second after it has gone."""

    def __init__(self, primary_port, primary_host=programs.HOST, **settings):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-sentinel-"))
        self.port = programs.free_port()
        config = folder / "sentinel.conf"
        words = {"port": self.port, "bind": programs.HOST, "dir": folder, **settings}
        config.write_text("".join(f"{name} {value}\n" for name, value in words.items()) +
                          f"sentinel monitor main {primary_host} {primary_port} 1\n"
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
    """A primary with one replica, and their Sentinel; prepared. `clocks` are by how many seconds the clock of each is off, and
    `library` is what sets them (tests/proof/wall_clock.cc)."""

    def __init__(self, binary, clocks=(0, 0), library=None, **settings):
        self.servers = [redis_server.Redis(binary, **settings) for _ in range(2)]
        for server, seconds in zip(self.servers, clocks if library else ()):
            (server.folder / "offset").write_text(str(seconds), encoding="ascii")
            server.environment.update({"LD_PRELOAD": str(library), "SEMEL_WALL_CLOCK": str(server.folder / "offset")})
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
            until(self.is_level)
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

    def is_level(self):
        """A replica that is online may get its first commands up to a second later; promoted before, it would be empty."""
        held = self.primary.run("DBSIZE", check=False)
        return held != "0" and self.replica.run("DBSIZE", check=False) == held

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
        self.wait_until_whole()

    def has_settled(self):
        self.follow_the_sentinel()
        return self.is_whole() and self.sentinel_knows()

    def follow_the_sentinel(self):
        """If the machine is so busy that a server seems to be down, a Sentinel promotes the other one without being asked to. It
        tells the former primary only ten seconds later."""
        promoted = self.sentinel.primary_port() == self.replica.port and self.replica.run("ROLE", check=False).startswith("master")
        if promoted:
            self.primary, self.replica = self.replica, self.primary
            self.replica.run("REPLICAOF", "127.0.0.1", self.primary.port)

    def wait_until_whole(self):
        until(self.has_settled)

    def cut_off(self):
        """The replica gets nothing any more."""
        self.replica.run("REPLICAOF", "127.0.0.1", 1)  # nobody is there

    def promote_the_one_cut_off(self):
        self.primary.kill()
        self.wait_for_promotion()

    def count(self, what):
        return what(self.primary)

    def close(self):
        for each in (self.sentinel, *self.servers):
            each.close()


class Cluster:
    """Three primaries with a replica each, made by redis-cli; prepared. `servers` have ports, and sockets of their own."""

    def __init__(self, binary, **settings):
        self.servers = [redis_server.Redis(binary, cluster_enabled="yes", cluster_port=programs.free_port(),
                                           cluster_node_timeout=1000, cluster_config_file="nodes.conf", **settings)
                        for _ in range(6)]
        self.cut = None  # the replica that was cut off
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers[:3])
        try:
            for server in self.servers:
                server.start()
            places = [f"127.0.0.1:{server.port}" for server in self.servers]
            said = programs.run("redis-cli", "--cluster", "create", *places, "--cluster-replicas", 1, "--cluster-yes")
            if said.returncode != 0:
                raise RuntimeError(said.stdout + said.stderr)
            until(self.is_whole)
            subprocess.run([binary, "migrate", "--url", self.url], check=True, capture_output=True)
        except BaseException:
            self.close()
            raise

    def running(self):
        return [server for server in self.servers if server.is_running()]

    def primaries(self):
        return [server for server in self.running() if server.run("ROLE", check=False).startswith("master")]

    def replica_of(self, primary):
        """The server that follows it, and is up to date with it; None if there is none."""
        for server in self.running():
            said = server.run("ROLE", check=False).split()
            if said[:1] == ["slave"] and int(said[2]) == primary.port and said[3] == "connected":
                return server
        return None

    def is_whole(self):
        """Three primaries that all members agree on, each with a replica."""
        primaries = self.primaries()
        return len(primaries) == 3 and all(self.replica_of(each) for each in primaries) and \
            all("state=online" in each.run("INFO", "replication", check=False) for each in primaries) and \
            all("cluster_state:ok" in each.run("CLUSTER", "INFO", check=False) for each in self.running())

    def has_settled(self):
        return self.is_whole()

    def id(self, server):
        return server.run("CLUSTER", "MYID")

    def kill(self, primary):
        """Its replica is promoted, and it comes back as a replica."""
        replica = self.replica_of(primary)
        primary.kill()
        until(lambda: replica.run("ROLE", check=False).startswith("master"))
        primary.start()
        until(self.is_whole)

    def stop(self, primary):
        """It stands still until its replica is promoted, and finds itself replaced."""
        replica = self.replica_of(primary)
        with primary.standing_still():
            until(lambda: replica.run("ROLE", check=False).startswith("master"))
        until(self.is_whole)

    def cut_off(self):
        """The replica of one primary gets nothing any more: it may not log in."""
        primary = self.primaries()[0]
        self.cut = self.replica_of(primary)
        self.cut.run("CONFIG", "SET", "masteruser", "nobody", "masterauth", "nothing")
        primary.run("CLIENT", "KILL", "TYPE", "replica")
        until(lambda: "state=online" not in primary.run("INFO", "replication"))

    def promote_the_one_cut_off(self):
        self.cut.run("CONFIG", "SET", "masteruser", "", "masterauth", "")
        self.cut.run("CLUSTER", "FAILOVER", "TAKEOVER")
        until(lambda: self.cut.run("ROLE", check=False).startswith("master"))
        until(self.is_whole)

    def count(self, what):
        return sum(what(primary) for primary in self.primaries())

    def fail_over(self, primary, *how):
        """By its replica: asked nicely, FORCE or TAKEOVER."""
        replica = self.replica_of(primary)
        replica.run("CLUSTER", "FAILOVER", *how)
        until(lambda: replica.run("ROLE", check=False).startswith("master"))
        until(self.is_whole)

    def reshard(self, source, target, slots):
        said = programs.run("redis-cli", "--cluster", "reshard", f"127.0.0.1:{source.port}", "--cluster-from",
                            self.id(source), "--cluster-to", self.id(target), "--cluster-slots", slots, "--cluster-yes",
                            seconds=200)
        if said.returncode != 0:
            raise RuntimeError((said.stdout + said.stderr)[-2000:])

    def fences_above_one(self):
        return sum(server.fences_above_one() for server in self.primaries())

    def close(self):
        for server in self.servers:
            server.close()
