"""A `semel serve` with the claims API alone, for tests of clients: the real thing, on a free port, with a folder of its own."""
import argparse

import paths  # noqa: F401

import programs
import semel

TOKEN = "a-token-of-the-tests-of-python"
CONFIG = """
[admin]
listen = ""
[store]
url = "embedded:%s"
[api]
listen = "%s:%d"
[[api.token]]
name = "tests"
secret = "%s"
namespaces = ["*"]
"""


class RealApi(programs.Program):
    def __init__(self, binary):
        super().__init__(programs.path(binary), "serve", "--config", "semel.toml")
        self.address = programs.free_address()
        (self.folder / "semel.toml").write_text(CONFIG % (self.folder / "data", *self.address, TOKEN), encoding="utf-8")
        self.url = "http://%s:%d" % self.address
        self.told = {"SEMEL_URL": self.url, "SEMEL_TOKEN": TOKEN, "PYTHONPATH": str(paths.HERE.parent), "PYTHONDONTWRITEBYTECODE": "1"}

    def client(self, **options):
        return semel.Client(self.url, TOKEN, **options)


EXAMPLES = paths.HERE.parent / "examples"


class Example(programs.Program):
    """A program of clients/python/examples, or one of Python's own, that is told where the API is."""

    def __init__(self, api, *words, **environment):
        super().__init__(*words, environment={**api.told, **environment}, cwd=EXAMPLES)

    def is_ready(self):
        return True


def arguments(description, **numbers):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser

