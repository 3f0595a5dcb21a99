"""The table of a run: on the screen, as JSON, and on the page docs/reliability.md."""
import collections
import dataclasses
import datetime
import os
import pathlib
import platform
import re

import proof

PLACES = {"quick": "the last run", "release": "the last release run"}  # on the page, between comments
BROKEN = ("kills", "stops", "sync errors", "full disks", "database restarts", "failovers", "faults")  # for its column
SEEN = ("expiries",)  # what was made to happen, and breaks nothing


@dataclasses.dataclass
class Row:
    name: str
    faults: tuple
    title: str
    report: object = dataclasses.field(default_factory=proof.Report)  # None: it cannot be done on this machine
    why: str = ""
    seconds: float = 0.0
    episodes: int = 0
    repeated: int = 0  # because the run itself was stopped meanwhile

    def add(self, report, why, seconds, repeated):
        """An episode more."""
        self.why, self.seconds = why, self.seconds + seconds
        self.episodes, self.repeated = self.episodes + 1, self.repeated + repeated
        if report is None:
            self.report = None
        elif self.report is not None:
            self.report.add(report)

    def noted(self):
        """All that another run has to know to go on."""
        counts = None if self.report is None else dict(self.report.counts)
        return {"counts": counts, "violations": self.report.violations if self.report else [], "why": self.why,
                "seconds": self.seconds, "episodes": self.episodes, "repeated": self.repeated}

    @property
    def broken(self):
        """What was broken, and how often; and what else was special about it."""
        if self.report is None:
            return f"skipped: {self.why}"
        counts = self.report.counts
        done = [f"{counts[name]:,} {name}" for name in (*BROKEN, *SEEN) if counts[name]]
        if counts["pauses"]:
            done.append(f"the machine stood still {times(counts['pauses'])}")
        if self.repeated:
            done.append(f"repeated {times(self.repeated)}, since the run was stopped meanwhile")
        return ", ".join(done)


def times(count):
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def line(row):
    if row.report is None:
        return f"{row.name:<20} {row.broken}"
    counts = row.report.counts
    return (f"{row.name:<20} {counts['requests']:>9,} requests {counts['retries']:>9,} retries "
            f"{len(row.report.violations):>3} violations {row.seconds:>6.1f} s  {row.broken}")


def total(rows):
    counts = collections.Counter()
    for row in rows:
        if row.report is not None:
            counts.update(row.report.counts)
            counts["violations"] += len(row.report.violations)
    return counts


def missing(counts, enough, retries_share):
    """What did not happen often enough."""
    short = [f"{counts[name]:,} {name}, {number:,} are wanted" for name, number in enough.items() if counts[name] < number]
    if counts["retries"] < retries_share * counts["requests"]:
        short.append(f"{counts['retries']:,} of {counts['requests']:,} requests are retries, {retries_share:.0%} are wanted")
    return short


def print_total(counts, rows, seconds, seed, short):
    share = counts["retries"] / max(1, counts["requests"])
    print(f"\n{len(rows)} kinds of faults, {seconds:.0f} s, seed {seed}")
    print(f"  {counts['kills']:,} kills, {counts['stops']:,} stops, {counts['sync errors']:,} sync errors, "
          f"{counts['full disks']:,} full disks, {counts['database restarts']:,} database restarts, "
          f"{counts['failovers']:,} failovers, {counts['faults']:,} other faults; {counts['expiries']:,} expiries")
    print(f"  {counts['requests']:,} keyed requests, {share:.0%} of them retries; {counts['keys']:,} keys, "
          f"{counts['effects']:,} effects, {counts['replays']:,} replays, {counts['unknown']:,} told to be unknown")
    for row in rows:
        if row.report is None:
            print(f"  not done: {row.name}: {row.why}")
    for what in short:
        print(f"  too little: {what}")
    print(f"{counts['violations']} violations")


def machine():
    cpus = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    model = re.sub(r"\s+", " ", cpus[0]) if cpus else platform.machine()
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}"


def as_json(form, rows, counts, seconds, seed, short):
    return {"form": form, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": machine(), "seed": seed, "seconds": round(seconds), "total": dict(counts), "too_little": short,
            "faults": [{"name": row.name, "programme": list(row.faults), "what": row.title, "broken": row.broken,
                        "skipped": row.why, "seconds": round(row.seconds, 1), "repeated": row.repeated,
                        "counts": dict(row.report.counts) if row.report else {},
                        "violations": row.report.violations if row.report else []} for row in rows]}


def as_markdown(record):
    counts = record["total"]
    share = counts.get("retries", 0) / max(1, counts.get("requests", 0))
    lines = [f"`./dev proof --{record['form']}`, {record['date']}, {record['machine']}, {record['seconds']} s, "
             f"seed {record['seed']}.", "",
             "| fault | programme | broken | requests | checks | violations |", "|---|---|---|---:|---:|---:|"]
    for fault in record["faults"]:
        of = collections.Counter(fault["counts"])
        lines.append(f"| `{fault['name']}`: {fault['what']} | {', '.join(fault['programme'])} | {fault['broken']} | "
                     f"{of['requests']:,} | {of['checks']:,} | {len(fault['violations'])} |")
    lines += ["", f"In all: {counts.get('kills', 0):,} kills, {counts.get('stops', 0):,} stops, "
              f"{counts.get('sync errors', 0):,} sync errors, {counts.get('full disks', 0):,} full disks, "
              f"{counts.get('database restarts', 0):,} database restarts, {counts.get('failovers', 0):,} failovers, "
              f"{counts.get('faults', 0):,} other faults; {counts.get('expiries', 0):,} expiries, "
              f"{counts.get('requests', 0):,} keyed requests, {share:.0%} of them retries, "
              f"{counts.get('effects', 0):,} effects, **{counts.get('violations', 0)} violations**."]
    return "\n".join(lines)


def write_page(path, record):
    text = path.read_text(encoding="utf-8")
    begin, end = (f"<!-- {word}: {PLACES[record['form']]} -->" for word in ("begin", "end"))
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{as_markdown(record)}\n{end}{after}", encoding="utf-8")
