"""Known bugs for the proof: small changes of the sources that a fault must find. The form of a file and the way it is built
are those of tests/mutation; `fault:` names the fault, and with it arguments other than those of --quick."""
import importlib.util
import json
import re

import proof


def mutation():
    spec = importlib.util.spec_from_file_location("mutation", proof.ROOT / "tests" / "mutation" / "mutation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bug:
    """fault: NAME {"argument": value, ...}   what is to find it
    finds: PATTERN                          one of the violations must look like this; another would be found by chance
    program: PATH                           of the build folder, where the fault does not run the gateway
    """

    def __init__(self, path):
        head = re.match(r"(.*?)^--- old\n", path.read_text(encoding="utf-8"), re.S | re.M)[1]
        self.name, self.path = path.stem, path
        self.what = re.search(r"^bug: (.*)$", head, re.M)[1]
        self.finds = re.compile(re.search(r"^finds: (.*)$", head, re.M)[1])
        program = re.search(r"^program: (.*)$", head, re.M)
        self.program = program[1] if program else "semel"
        fault = re.search(r"^fault: (\w+) ?(\{.*\})?$", head, re.M)
        self.fault, self.arguments = fault[1], json.loads(fault[2] or "{}")


def load(names):
    """All of them, or those whose name contains one of the words; =NAME is one by its whole name."""
    bugs = [Bug(path) for path in sorted((proof.HERE / "bugs").glob("*.txt"))]
    return [bug for bug in bugs if not names or any(name in bug.name or name == f"={bug.name}" for name in names)]


def build(bug, build_folder, folder):
    """The program with the bug in it; nothing in the tree or in the build folder changes."""
    tools = mutation()
    home = folder / bug.name
    home.mkdir()
    return tools.link_bug(build_folder, bug.program, tools.compile_bug(build_folder, tools.Bug(bug.path), home), home)
