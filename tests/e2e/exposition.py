"""Reads Prometheus' text format, version 0.0.4, and takes nothing that a strict reader would not.

Beyond the grammar it holds metrics to the conventions: every family has HELP and TYPE and stands in one piece, counters
end in _total, histograms are cumulative and end with +Inf, which is their count.
"""
import dataclasses
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Inf)|NaN")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


class Malformed(Exception):
    """What the page says is not in the format."""


@dataclasses.dataclass
class Family:
    name: str
    help: str
    type: str = ""
    samples: list = dataclasses.field(default_factory=list)  # (name, labels, value)


def labels_of(text):
    labels, at = {}, 0
    while at < len(text or ""):
        found = LABEL.match(text, at)
        if not found:
            raise Malformed(f"labels: {text}")
        if found[1] in labels:
            raise Malformed(f"the label {found[1]} is there twice: {text}")
        labels[found[1]] = found[2]
        at = found.end()
    return labels


def number_of(text):
    if not NUMBER.fullmatch(text):
        raise Malformed(f"not a number: {text}")
    return float(text.replace("Inf", "inf"))


def belongs(sample, family):
    if family.type == "histogram":
        return sample in (f"{family.name}_bucket", f"{family.name}_sum", f"{family.name}_count")
    return sample == family.name


def parse(page):
    """{name: Family}"""
    if not page.endswith("\n"):
        raise Malformed("the last line does not end")
    families, current = {}, None
    for line in page[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, text = line.split(" ", 3)
            if name in families:
                raise Malformed(f"{name} is there in two pieces")
            if not text.strip():
                raise Malformed(f"{name} has an empty HELP")
            current = families[name] = Family(name, text)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if current is None or name != current.name or current.type or current.samples or kind not in TYPES:
                raise Malformed(line)
            current.type = kind
        else:
            found = SAMPLE.fullmatch(line)
            if not found or current is None or not current.type or not belongs(found[1], current):
                raise Malformed(f"a line that belongs nowhere: {line!r}")
            current.samples.append((found[1], labels_of(found[2]), number_of(found[3])))
    for family in families.values():
        check(family)
    return families


def check(family):
    seen = set()
    for name, labels, value in family.samples:
        identity = (name, *sorted(labels.items()))
        if identity in seen:
            raise Malformed(f"{identity} is there twice")
        seen.add(identity)
        if family.type in ("counter", "histogram") and not 0 <= value < math.inf:
            raise Malformed(f"{name} is {value}")
    if family.type == "counter" and not family.name.endswith("_total"):
        raise Malformed(f"the counter {family.name} does not end in _total")
    if family.type == "histogram":
        check_histogram(family)


def check_histogram(family):
    series = {}
    for name, labels, value in family.samples:
        bounds = dict(labels)
        le = bounds.pop("le", None)
        if (le is None) == name.endswith("_bucket"):
            raise Malformed(f"{name} {labels}")
        one = series.setdefault(tuple(sorted(bounds.items())), {"buckets": []})
        if le is None:
            one[name.removeprefix(family.name)] = value
        else:
            one["buckets"].append((number_of(le), value))
    if not series:
        raise Malformed(f"{family.name} has no series")
    for labels, one in series.items():
        limits, counts = zip(*one["buckets"])
        if list(limits) != sorted(set(limits)) or limits[-1] != math.inf:
            raise Malformed(f"{family.name}{labels}: bounds {limits}")
        if list(counts) != sorted(counts):
            raise Malformed(f"{family.name}{labels}: buckets are not cumulative: {counts}")
        if one.get("_count") != counts[-1] or "_sum" not in one:
            raise Malformed(f"{family.name}{labels}: count {one.get('_count')}, +Inf {counts[-1]}")
