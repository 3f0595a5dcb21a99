"""Manual pages: semel(1) from the commands, semel.toml(5) from conf/semel.toml."""
import re

SIGNALS = (("SIGTERM, SIGINT", "drain: no new connections, running requests finish for at most limits.drain_timeout; a second "
            "one ends at once"), ("SIGHUP", "read the configuration and the certificates again"))
FILES = (("/etc/semel/semel.toml", "the configuration of the service, see semel.toml(5)"),
         ("/var/lib/semel", "the embedded store of the service"),
         ("/usr/share/semel/providers", "the rules of webhook providers, as they are compiled in: to copy from"))


def escaped(text):
    """As roff reads it: nothing in it is a command, and a minus stays one."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"(?m)^(['.])", r"\\&\1", text)


def heading(name, section, version, date, title):
    return f'.TH {name} {section} "{date}" "semel {version}" "{title}"'


def item(words, text):
    return [".TP", f"\\fB{escaped(words)}\\fR", escaped(text) or "\\&"]


def command_page(program, version, date):
    out = [heading("SEMEL", 1, version, date, "User Commands"), ".SH NAME",
           "semel \\- idempotency gateway: an effect happens once, however often its request arrives", ".SH SYNOPSIS",
           "\\fBsemel\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]", ".SH DESCRIPTION", escaped(program.text), ".SH OPTIONS"]
    for option in program.options:
        out += item(option.words, option.text)
    out.append(".SH COMMANDS")
    for command in list(program.walk())[1:]:
        out += [f".SS {escaped(command.usage)}", escaped(command.text) + "."]
        if command.rule:
            out += [".PP", escaped(command.rule) + "."]
        for entry in (*command.positionals, *command.options):
            if "--help" not in entry.words:
                out += item(entry.words, entry.text)
    out += [".SH EXIT STATUS", *item("0", "all is well"), *item("1", "the request failed, or a promise did not hold"),
            *item("2", "wrong usage"), ".SH SIGNALS", "Of \\fBsemel serve\\fR:"]
    for words, text in SIGNALS:
        out += item(words, text)
    out.append(".SH FILES")
    for words, text in FILES:
        out += item(words, text)
    out += [".SH SEE ALSO", "\\fBsemel.toml\\fR(5), /usr/share/doc/semel"]
    return "\n".join(out) + "\n"


def paragraphs(lines):
    """Comment lines as roff. A line that is set in columns ("hold"   nothing runs ...) begins anew, and so does what comes
    after such lines; a line that continues one is far to the right."""
    out, in_columns = [], False
    for line in lines:
        columns = re.fullmatch(r" {0,4}(\S.*?) {2,}(\S.*)", line)
        if columns:
            out += [".br", escaped(columns[1]) + " \\(en " + escaped(columns[2])]
        else:
            if in_columns and not line.startswith("     "):
                out.append(".br")
                in_columns = False
            out.append(escaped(line.strip()))
        in_columns = in_columns or columns is not None
    return out


def options_of(lines):
    """Pairs of (prose lines, option lines), in order, from the lines of a section."""
    prose, options = [], []
    for line in [*lines, ""]:
        is_option = re.match(r"#?[a-z_]+ = ", line)
        if is_option:
            options.append(line.lstrip("#"))
        elif options or (not line.strip() and prose):
            yield prose, options
            prose, options = [], []
        if line.startswith("# "):
            prose.append(line[2:])
    if prose or options:
        yield prose, options


def configuration_page(manual, version, date):
    """`manual` is the text of conf/semel.toml."""
    first, *parts = re.split(r"(?m)^# -{4} (\[.*?\]) -+\n", manual)
    out = [heading("SEMEL.TOML", 5, version, date, "File Formats"), ".SH NAME",
           "semel.toml \\- configuration of the idempotency gateway semel", ".SH DESCRIPTION"]
    for block in first.strip().split("\n#\n"):
        out += [".PP", *paragraphs([line[2:] for line in block.splitlines()])]
    for name, text in zip(parts[::2], parts[1::2]):
        out.append(f".SH {escaped(name)}")
        for prose, options in options_of(text.splitlines()):
            if not options:
                out += [".PP", *paragraphs(prose)]
                continue
            for number, option in enumerate(options):
                value, _, mark = option.partition("    # ")
                out += [".TP" if number == 0 else ".TQ",
                        f"\\fB{escaped(value)}\\fR" + (f" ({escaped(mark)})" if mark else "")]
            out += paragraphs(prose) or ["\\&"]
    out += [".SH SEE ALSO", "\\fBsemel\\fR(1), /usr/share/doc/semel/configuration.md"]
    return "\n".join(out) + "\n"
