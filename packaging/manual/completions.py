"""Completions for bash, zsh and fish, from the commands. What a value may be is known by the name of its option."""

FILES = {"--config", "--body-file", "--ca", "--cert", "--key", "file", "config"}
FOLDERS = {"--data", "--providers"}
PROVIDERS = {("sign",), ("providers", "show")}  # whose positional is the name of one

HEAD = "# Completion of {shell} for semel; made by packaging/manual from what --help says.\n"


def kind(entry):
    """What stands for its value: file, folder, or some text."""
    names = set(entry.names)
    return "file" if names & FILES else "folder" if names & FOLDERS else "text"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(program, providers):
    rows = []
    for command in program.walk():
        words = [name for option in command.options for name in option.names] + [c.name for c in command.commands]
        if command.path in PROVIDERS:
            words += providers
        rows.append(f"    {quoted(' '.join(command.path))}) words={quoted(' '.join(words))} ;;")
    paths = "|".join(quoted(" ".join(command.path)) for command in list(program.walk())[1:])
    values = {what: sorted({name for command in program.walk() for option in command.options
                            if option.takes_value and kind(option) == what for name in option.names})
              for what in ("file", "folder", "text")}
    takes_file = "|".join(quoted(" ".join(command.path)) for command in program.walk()
                          if any(kind(entry) == "file" for entry in command.positionals)) or "none"
    return HEAD.format(shell="bash") + f"""
_semel() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' words='' next i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${{command:+$command }}${{COMP_WORDS[i]}}"
    case $next in
      {paths}) command=$next ;;
    esac
  done
  case $before in
    {"|".join(values["file"])}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    {"|".join(values["folder"])}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    {"|".join(values["text"])}) return ;;
  esac
  case $command in
{chr(10).join(rows)}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  case $command in
    {takes_file})
      if [[ $word != -* ]]; then compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); fi ;;
  esac
}}
complete -F _semel semel
"""


def zsh_action(entry, providers, path):
    if path in PROVIDERS and not entry.is_option:
        return f"({' '.join(providers)})"
    return {"file": "_files", "folder": "_files -/", "text": " "}[kind(entry)]


def zsh_text(text):
    for character in "\\[]:":
        text = text.replace(character, "\\" + character)
    return text


def zsh(program, providers):
    out = ["#compdef semel", HEAD.format(shell="zsh").rstrip(), ""]
    for command in program.walk():
        out += [f"{'_'.join(('_semel', *command.path))}() {{", "  local line state", "  _arguments -C \\"]
        for option in command.options:
            group = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
            value = f":value:{zsh_action(option, providers, command.path)}" if option.takes_value else ""
            out += [f"    {quoted(f'{group}{name}[{zsh_text(option.text)}]{value}')} \\" for name in option.names]
        for number, entry in enumerate(command.positionals, 1):
            out.append(f"    {quoted(f'{number}:{entry.names[0]}:{zsh_action(entry, providers, command.path)}')} \\")
        if command.commands:
            out += ["    '1: :->command' '*:: :->rest' && return", "  case $state in", "    command)",
                    "      local -a commands=("]
            out += [f"        {quoted(f'{below.name}:{below.text}')}" for below in command.commands]
            out += ["      )", "      _describe command commands ;;", "    rest)", "      case $line[1] in"]
            out += [f"        {below.name}) {'_'.join(('_semel', *below.path))} ;;" for below in command.commands]
            out += ["      esac ;;", "  esac"]
        else:
            out[-1] = out[-1].removesuffix(" \\")
        out += ["}", ""]
    return "\n".join([*out, '_semel "$@"', ""])


def fish(program, providers):
    out = [HEAD.format(shell="fish").rstrip(), "complete -c semel -f"]
    for command in program.walk():
        seen = [f"__fish_seen_subcommand_from {word}" for word in command.path]
        if not command.path:
            seen = ["__fish_use_subcommand"]
        elif command.commands:
            seen.append("not __fish_seen_subcommand_from " + " ".join(below.name for below in command.commands))
        when = f"complete -c semel -n {quoted('; and '.join(seen))}"
        for option in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = {"file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'",
                     "text": " -x"}[kind(option)] if option.takes_value else ""
            out.append(f"{when} {names}{value} -d {quoted(option.text)}")
        out += [f"{when} -a {below.name} -d {quoted(below.text)}" for below in command.commands]
        if command.path in PROVIDERS:
            out.append(f"{when} -a {quoted(' '.join(providers))}")
        out += [f"{when} -F" for entry in command.positionals if kind(entry) == "file"]
    return "\n".join([*out, ""])
