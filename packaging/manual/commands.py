"""The commands of the binary, read from what `--help` prints: the one description that cannot be out of date."""
import dataclasses
import re
import subprocess

COLUMN = 30  # where CLI11 begins a description


@dataclasses.dataclass
class Entry:
    """A positional, an option or a subcommand, as one or two lines of help say it."""
    words: str  # "-c,--config TEXT"
    text: str

    @property
    def names(self):
        return self.words.split()[0].split(",")

    @property
    def takes_value(self):
        return len(self.words.split()) > 1

    @property
    def is_option(self):
        return self.words.startswith("-")


@dataclasses.dataclass
class Command:
    path: tuple  # ("providers", "show")
    text: str
    rule: str  # "At least 1 of the following options are required", or nothing
    usage: str
    positionals: list
    options: list
    commands: list  # of Command

    @property
    def name(self):
        return self.path[-1] if self.path else ""

    def walk(self):
        yield self
        for command in self.commands:
            yield from command.walk()


def entries(lines):
    """A description stands beside its words, or below them if they are too long."""
    found = []
    for number, line in enumerate(lines):
        if not line.startswith("  ") or line.startswith(" " * COLUMN):
            continue
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if below.startswith(" " * COLUMN):
            words, text = line, below
        else:
            words, text = line[:COLUMN], line[COLUMN:]
        words = re.sub(r" (?:Excludes|Needs): .*| REQUIRED", "", words.strip())
        found.append(Entry(re.sub(r"(UINT|INT|FLOAT):\S* in (\[\S+ - \S+\])", r"\1", words), text.strip()))
    return found


def sections(text):
    """The lines below "Options:" and the like, by that word, and those above them."""
    found = {"": []}
    current = found[""]
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z]\w+:", line):
            current = found.setdefault(line[:-1], [])
        elif line.strip():
            current.append(line)
    return found


def read(binary, path=()):
    """The command of that path and all below it; () is the program itself."""
    said = subprocess.run([binary, *path, "--help"], capture_output=True, text=True, check=True).stdout
    parts = sections(said)
    head = parts[""]
    usage = next(line for line in head if line.startswith("Usage: ")).removeprefix("Usage: ")
    rule = next((line.strip("[] ") for line in head if line.startswith("[")), "")
    below = [read(binary, (*path, entry.words)) for entry in entries(parts.get("Subcommands", []))]
    return Command(path, head[0].strip(), rule, usage, entries(parts.get("Positionals", [])),
                   entries(parts.get("Options", [])), below)


def providers(binary):
    """The names that `sign` and `providers show` take."""
    listed = subprocess.run([binary, "providers", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()[1:] if line.strip()]
