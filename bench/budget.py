"""Where the time of a first run goes, counted beside nginx as a plain proxy and beside Semel passing requests through.

What is counted, not timed, stays true on a busy machine: system calls by name (perf trace), switches of threads,
allocations and copies (bench/counting.cc, preloaded). CPU time is split into the program's own and the kernel's. Each is
counted in rounds of its own, because tracing and counting make a program slower.

The floor is what two durable writes cost at least: as many bytes as a first run writes, written and synced by hand.
"""
import contextlib
import mmap
import os
import pathlib
import re
import resource
import shutil
import statistics
import struct
import subprocess
import time

import gateway

ORIGIN, NGINX, SEMEL, ADMIN = 9340, 9341, 9342, 9343
CONTENDERS = {"nginx": "first", "Semel, unguarded": "unguarded", "Semel, first run": "first"}
COUNTS = ("allocations", "allocated_bytes", "copies", "copied_bytes")
GROUPS = (1, 2, 4, 8, 16, 32, 64, 128)
TICKS = os.sysconf("SC_CLK_TCK")


def usage(pid):
    """What a process has used so far: CPU of the program and of the kernel, switches of its threads, bytes it wrote."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    found = {"user_us": int(fields[11]) * 1e6 / TICKS, "kernel_us": int(fields[12]) * 1e6 / TICKS, "waits": 0, "preempted": 0}
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text()
            found["waits"] += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M).group(1))
            found["preempted"] += int(re.search(r"^nonvoluntary_ctxt_switches:\s+(\d+)", text, re.M).group(1))
    return found


def total(server, of_one):
    sums = {}
    for pid in server.pids():
        for name, value in of_one(pid).items():
            sums[name] = sums.get(name, 0) + value
    return sums


def system_calls(pids, seconds):
    """Calls of each name, of a running load; None if this machine does not allow tracing."""
    command = ["perf", "trace", "-s", "-p", ",".join(map(str, pids)), "--", "sleep", str(seconds)]
    try:
        output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    calls = {}
    for name, count, errors in re.findall(r"^   (\w+) +(\d+) +(\d+) +[\d.]+", output, re.M):
        calls[name] = calls.get(name, 0) + int(count)
        if int(errors):
            calls[name + ", in vain"] = calls.get(name + ", in vain", 0) + int(errors)
    return calls


class Bench(gateway.Bench):
    def start(self, stack, counting=None):
        def keep(server):
            stack.callback(server.stop)
            return server

        keep(self.nginx("origin", gateway.ORIGIN_BODY.format(port=ORIGIN, answer=gateway.ANSWER), ORIGIN))
        self.counts = {}
        with self.counted(counting, "nginx"):
            rival = keep(self.nginx("nginx", gateway.PROXY_BODY.format(work=self.work, port=NGINX, origin=ORIGIN), NGINX))
        with self.counted(counting, "semel"):
            semel = keep(self.gateway(gateway.SEMEL_CONF, SEMEL, admin=ADMIN, origin=ORIGIN))
        self.servers = {"nginx": rival, "Semel, unguarded": semel, "Semel, first run": semel}

    @contextlib.contextmanager
    def counted(self, library, name):
        """What is started inside counts its allocations and copies."""
        if library is None:
            yield
            return
        path = self.work / f"{name}.counts"
        os.environ.update(LD_PRELOAD=str(library), SEMEL_COUNTS=str(path))
        try:
            yield
        finally:
            del os.environ["LD_PRELOAD"], os.environ["SEMEL_COUNTS"]
        with open(path, "rb") as file:
            self.counts[name] = mmap.mmap(file.fileno(), 8 * len(COUNTS), prot=mmap.PROT_READ)

    def counts_of(self, name):
        return dict(zip(COUNTS, struct.unpack(f"{len(COUNTS)}Q", self.counts["nginx" if name == "nginx" else "semel"][:])))

    def round(self, name, seconds, connections, read):
        """A load, and how much what `read` returns has grown, per request."""
        before = read()
        result = self.one(self.servers[name], CONTENDERS[name], seconds, connections)
        return {"rate": result["rate"], **{what: (after - before[what]) / result["requests"] for what, after in read().items()}}

    def calls_round(self, name, seconds, connections):
        words = self.words(CONTENDERS[name])
        server = self.servers[name]
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds + 2}s"]
        command += ["-s", str(self.script)] if words else []
        command += [f"http://127.0.0.1:{server.port}/v1/charges", *(["--", *words] if words else [])]
        with open(self.work / "calls.out", "w+") as out, subprocess.Popen(command, stdout=out) as running:
            time.sleep(0.5)
            calls = system_calls(server.pids(), seconds)
            running.wait()
            out.seek(0)
            # The trace sees a part of the load only. Each request is one send to the upstream and one to the client.
            text = out.read()
        if calls is None or "requests in" not in text:
            return None
        sends = sum(calls.get(call, 0) for call in ("sendto", "sendmsg", "writev", "sendfile"))
        return {call: 2 * count / sends for call, count in calls.items()}


def floor(folder, bytes_per_write, seconds):
    """CPU and time of a write and an fdatasync of so many writes together, in a file whose blocks are there already."""
    found = []
    path = pathlib.Path(folder) / "floor"
    file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    size = 64 << 20
    try:
        for at in range(0, size, 1 << 20):
            os.pwrite(file, bytes(1 << 20), at)
        os.fsync(file)
        for group in GROUPS:
            data, at, times = os.urandom(group * bytes_per_write), 0, []
            before = resource.getrusage(resource.RUSAGE_SELF)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                start = time.monotonic()
                os.pwrite(file, data, at)
                os.fdatasync(file)
                times.append(time.monotonic() - start)
                at = (at + len(data)) % (size - len(data))
            after = resource.getrusage(resource.RUSAGE_SELF)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            found.append({"group": group, "ms": statistics.median(times) * 1e3, "cpu_us": cpu * 1e6 / len(times),
                          "cpu_us_per_first_run": 2 * cpu * 1e6 / len(times) / group})
    finally:
        os.close(file)
        path.unlink()
    return found


def medians(rounds):
    names = {name for one in rounds for name in one}
    return {name: statistics.median(one.get(name, 0) for one in rounds) for name in names}


def measure(work, programs, binary, rounds, seconds, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    results = {"connections": gateway.CONNECTIONS, "rounds": rounds, "of": {name: {} for name in CONTENDERS}}
    for part, library in (("timed", None), ("counted", programs / "libcounting.so")):
        bench = Bench(work, binary, say)
        with contextlib.ExitStack() as stack:
            bench.start(stack, library)
            time.sleep(1)
            for name in CONTENDERS:
                bench.one(bench.servers[name], CONTENDERS[name], 1, gateway.CONNECTIONS)
            found = {name: [] for name in CONTENDERS}
            for number in range(rounds if library is None else 1):
                say(f"budget, {part}: round {number + 1}")
                for name in CONTENDERS:
                    read = (lambda: total(bench.servers[name], usage)) if library is None else (lambda: bench.counts_of(name))
                    found[name].append(bench.round(name, seconds, gateway.CONNECTIONS, read))
            for name in CONTENDERS:
                of_one = medians(found[name])
                if library is not None:
                    of_one.pop("rate")
                results["of"][name].update(of_one)
            if library is None:
                say("budget, system calls")
                for name in CONTENDERS:
                    calls = [bench.calls_round(name, 1, gateway.CONNECTIONS) for _ in range(rounds)]
                    results["of"][name]["calls"] = None if None in calls else medians(calls)
        shutil.rmtree(work / "semel-data", ignore_errors=True)
    say("budget, floor")
    results["floor_bytes"] = 512
    results["floor"] = floor(work, results["floor_bytes"], seconds / 2)
    return results


def table(results):
    if not results:
        return "Not measured: nginx or wrk is not installed."
    of = results["of"]
    rows = ["| per request | " + " | ".join(of) + " |", "|---|" + "---:|" * len(of)]

    def row(name, text):
        rows.append(f"| {name} | " + " | ".join(text(one) for one in of.values()) + " |")

    row("CPU, the program's own, µs", lambda one: f"{one['user_us']:.1f}")
    row("CPU, the kernel's, µs", lambda one: f"{one['kernel_us']:.1f}")
    row("switches: a thread waits", lambda one: f"{one['waits']:.2f}")
    row("switches: a thread is interrupted", lambda one: f"{one['preempted']:.2f}")
    row("allocations", lambda one: f"{one['allocations']:.1f}")
    row("bytes allocated", lambda one: f"{one['allocated_bytes']:,.0f}")
    row("bytes copied by memcpy and memmove", lambda one: f"{one['copied_bytes']:,.0f}")
    if all(one["calls"] for one in of.values()):
        names = {name for one in of.values() for name, count in one["calls"].items() if count >= 0.005}
        most = lambda name: max(one["calls"].get(name, 0) for one in of.values())
        plain = lambda one: sum(count for name, count in one["calls"].items() if not name.endswith(", in vain"))
        row("system calls", lambda one: f"{plain(one):.2f}")
        for name in sorted(names, key=lambda name: (-most(name.split(",")[0]), name)):
            label = f"– {name}" if "," not in name else "– – of these in vain"
            row(label, lambda one: f"{one['calls'].get(name, 0):.2f}")
    rows += ["", f"The floor: groups of writes of {results['floor_bytes']} bytes, written and synced by hand. A first run makes two.", "",
             "| writes together | " + " | ".join(str(one["group"]) for one in results["floor"]) + " |",
             "|---|" + "---:|" * len(results["floor"])]
    for name, form in (("ms", ".2f"), ("cpu_us", ".0f"), ("cpu_us_per_first_run", ".1f")):
        label = {"ms": "time of a group, ms", "cpu_us": "CPU of a group, µs", "cpu_us_per_first_run": "CPU of a first run, µs"}[name]
        rows.append(f"| {label} | " + " | ".join(f"{one[name]:{form}}" for one in results["floor"]) + " |")
    return "\n".join(rows)
