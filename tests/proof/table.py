"""The table of a run: on the screen, as JSON, and on the page docs/reliability.md."""
import collections
import dataclasses
import datetime
import json
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
    wanted: int = 1  # episodes
    where: dict = dataclasses.field(default_factory=dict)  # what the next episode runs on
    pieces: list = dataclasses.field(default_factory=list)  # what ran where

    def add(self, report, why, seconds, repeated):
        """An episode more."""
        piece = {**self.where, "date": today(), "episodes": 1, "seconds": round(seconds, 1), "repeated": repeated, "why": why,
                 "counts": None if report is None else dict(report.counts), "violations": report.violations if report else []}
        self._sum(piece)
        last = self.pieces[-1] if self.pieces else None
        same = ("commit", "binary", "machine", "why")
        if last is not None and None not in (last["counts"], piece["counts"]) and all(last.get(n) == piece.get(n) for n in same):
            for name in ("episodes", "seconds", "repeated", "violations"):
                last[name] += piece[name]
            last["seconds"], last["date"] = round(last["seconds"], 1), piece["date"]
            last["counts"] = dict(collections.Counter(last["counts"]) + collections.Counter(piece["counts"]))
        else:
            self.pieces.append(piece)

    def _sum(self, piece):
        self.why, self.seconds = piece["why"], self.seconds + piece["seconds"]
        self.episodes, self.repeated = self.episodes + piece["episodes"], self.repeated + piece["repeated"]
        if piece["counts"] is None:
            self.report = None
        elif self.report is not None:
            self.report.add(proof.Report(collections.Counter(piece["counts"]), list(piece["violations"])))

    def noted(self):
        """All that another run has to know to go on, and the page to be written."""
        return {"name": self.name, "programme": list(self.faults), "what": self.title, "episodes": self.episodes,
                "wanted": self.wanted, "pieces": self.pieces}

    @classmethod
    def of_notes(cls, noted):
        row = cls(noted["name"], tuple(noted["programme"]), noted["what"], wanted=noted["wanted"], pieces=noted["pieces"])
        for piece in row.pieces:
            row._sum(piece)
        return row

    @property
    def commits(self):
        """On which it ran, in their order."""
        return list(dict.fromkeys(piece["commit"] for piece in self.pieces if "commit" in piece))

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


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def as_json(form, rows, counts, seconds, seed, short):
    return {"form": form, "date": today(), "machine": machine(), "seed": seed, "seconds": round(seconds), "total": dict(counts),
            "too_little": short,
            "faults": [{"name": row.name, "programme": list(row.faults), "what": row.title, "broken": row.broken,
                        "skipped": row.why, "seconds": round(row.seconds, 1), "repeated": row.repeated,
                        "counts": dict(row.report.counts) if row.report else {},
                        "violations": row.report.violations if row.report else []} for row in rows]}


def sentence(counts):
    """What happened in all."""
    counts = collections.Counter(counts)
    share = counts["retries"] / max(1, counts["requests"])
    return (f"In all: {counts['kills']:,} kills, {counts['stops']:,} stops, {counts['sync errors']:,} sync errors, "
            f"{counts['full disks']:,} full disks, {counts['database restarts']:,} database restarts, "
            f"{counts['failovers']:,} failovers, {counts['faults']:,} other faults; {counts['expiries']:,} expiries, "
            f"{counts['requests']:,} keyed requests, {share:.0%} of them retries, {counts['effects']:,} effects, "
            f"**{counts['violations']} violations**.")


def quick_page(record):
    lines = [f"`./dev proof --{record['form']}`, {record['date']}, {record['machine']}, {record['seconds']} s, "
             f"seed {record['seed']}.", "",
             "| fault | programme | broken | requests | checks | violations |", "|---|---|---|---:|---:|---:|"]
    for fault in record["faults"]:
        of = collections.Counter(fault["counts"])
        lines.append(f"| `{fault['name']}`: {fault['what']} | {', '.join(fault['programme'])} | {fault['broken']} | "
                     f"{of['requests']:,} | {of['checks']:,} | {len(fault['violations'])} |")
    return "\n".join([*lines, "", sentence(record["total"])])


def release_page(notes, enough, retries_share):
    """Of a run in pieces, whether it has come to its end or not."""
    rows = [Row.of_notes(noted) for noted in notes["rows"]]
    done, wanted = sum(row.episodes for row in rows), sum(row.wanted for row in rows)
    machines = list(dict.fromkeys(piece["machine"] for row in rows for piece in row.pieces))
    dates = [piece["date"] for row in rows for piece in row.pieces]
    lines = [f"`./dev proof --release`, {done:,} of {wanted:,} episodes, until {max(dates, default='never')}, "
             f"{'; '.join(machines)}, {sum(row.seconds for row in rows) / 3600:.1f} h, seed {notes['seed']}.", "",
             "| fault | episodes | commit | broken | requests | checks | violations |", "|---|---|---|---|---:|---:|---:|"]
    for row in rows:
        of = row.report.counts if row.report else collections.Counter()
        lines.append(f"| `{row.name}` | {row.episodes} of {row.wanted} | {', '.join(row.commits)} | {row.broken} | "
                     f"{of['requests']:,} | {of['checks']:,} | {len(row.report.violations) if row.report else 0} |")
    counts = total(rows)
    short = missing(counts, enough, retries_share)
    if short:
        lines += ["", "Not finished: " + "; ".join(short) + "."]
    return "\n".join([*lines, "", sentence(counts)])


def put(page, form, text):
    """The page with this text between the comments of the form."""
    begin, end = (f"<!-- {word}: {PLACES[form]} -->" for word in ("begin", "end"))
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def page_of(page, folder, enough, retries_share):
    """The page as the files of docs/proof say it."""
    quick, release = folder / "quick.json", folder / "release.json"
    if quick.exists():
        page = put(page, "quick", quick_page(json.loads(quick.read_text(encoding="utf-8"))))
    if release.exists():
        page = put(page, "release", release_page(json.loads(release.read_text(encoding="utf-8")), enough, retries_share))
    return page
