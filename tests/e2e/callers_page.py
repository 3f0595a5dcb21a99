#!/usr/bin/env python3
"""The snippets of docs/callers.md, as they stand there: callers_page.py --binary SEMEL --build FOLDER

Each is run with the runtime that it is for; what is not installed is left out, and the last line says so. axios comes with
`npm ci` from callers_npm/package-lock.json into FOLDER.
"""
import json
import pathlib
import re
import shutil
import tempfile
import threading
import time
import unittest

import harness
import npm
import programs

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "callers.md"
ORDER = {"order": 7, "amount": 100}
DEBIANS_PYTHON = "/usr/bin/python3"
AT_ONCE = threading.Event()
AT_ONCE.set()

JS_END = """
const [url, token, key, order] = process.argv.slice(2);
const { status, said } = await pay(url, token, key, JSON.parse(order));
console.log(status, JSON.stringify(said));
"""
PYTHON_END = """
import json, sys
url, token, key, order = sys.argv[1:]
status, said = pay(url, token, key, json.loads(order))
print(status, json.dumps(said))
"""
GO_BEGINNING = """package main

import ("bytes"; "encoding/json"; "fmt"; "io"; "net/http"; "os"; "strconv"; "time")

func main() {
	status, body, err := pay(os.Args[1], os.Args[2], os.Args[3], []byte(os.Args[4]))
	if err != nil { panic(err) }
	fmt.Println(status, string(body))
}

"""
JAVA_BEGINNING = """import java.io.IOException;
import java.net.URI;
import java.net.http.*;

class Main {
  public static void main(String[] words) throws Exception {
    var answer = Payments.pay(words[0], words[1], words[2], words[3]);
    System.out.println(answer.statusCode() + " " + answer.body());
  }
}

"""
SHELL_BEGINNING = 'url=$1 token=$2 key=$3 order=$4\n'
# The client's own file, what it needs in PATH, how it is run, and what the page leaves to the reader.
LANGUAGES = {
    "curl": ("sh", "pay.sh", "curl", ["sh"], SHELL_BEGINNING, ' -w " %{http_code}"\n'),
    "fetch": ("js", "pay.mjs", "node", ["node"], "", JS_END),
    "axios": ("js", "pay.mjs", "node", ["node"], "", JS_END),
    "requests": ("python", "pay.py", DEBIANS_PYTHON, [DEBIANS_PYTHON], "", PYTHON_END),
    "Go": ("go", "pay.go", "go", ["go", "run"], GO_BEGINNING, ""),
    "Java": ("java", "Main.java", "java", ["java"], JAVA_BEGINNING, ""),
}


def snippets():
    """name → code: the first block behind the line that names it."""
    part = PAGE.read_text(encoding="utf-8").split("## In your language")[1]
    found = {}
    for line, block in re.findall(r"^([^\n`]*?[:(][^\n]*|[^\n]*`fetch`:|\w+:)\n\n```\w+\n(.*?)```$", part, re.M | re.S):
        for name in LANGUAGES:
            if name in line:
                found[name] = block
    return found


class Page(harness.Case):
    folder = None
    left_out = []

    def answer(self, said):
        """The service: `said` are its answers in turn, each (status, what it waits for). Returns what says that one has come."""
        come = threading.Event()

        def serve():
            for number, (status, gate) in enumerate(said, 1):
                arrival = self.stage.next(seconds=60)
                arrival.read_body()
                come.set()
                gate.wait(30)
                arrival.answer(status, [("Content-Type", "application/json")], json.dumps({"id": number}).encode())

        threading.Thread(target=serve, daemon=True).start()
        return come

    def pay(self, name, semel, key, order):
        """(status, what it said)"""
        kind, file, _, command, beginning, end = LANGUAGES[name]
        room = self.folder if name == "axios" else pathlib.Path(tempfile.mkdtemp(prefix="semel-snippet-"))
        if name != "axios":
            self.addCleanup(shutil.rmtree, room, True)
        code = snippets()[name]
        if kind == "sh":
            code = code.rstrip() + end
            end = ""
        (room / file).write_text(beginning + code + end, encoding="utf-8")
        done = programs.run(*command, file, "http://%s:%d/v1/payments" % semel.address, "me", key, json.dumps(order), cwd=room,
                            seconds=120)
        text = done.stdout.strip()
        self.assertTrue(text, f"{name} said nothing:\n{done.stderr}")
        if kind == "sh":
            body, status = text.rsplit(" ", 1)
            return int(status), json.loads(re.findall(r"\{[^{}]*\}", body)[-1])  # curl prints the body of each try
        self.assertEqual(done.returncode, 0, done.stderr)
        status, body = text.split(" ", 1)
        return int(status), json.loads(body)

    def try_each(self, test):
        """Runs `test` with each snippet that can be run here, behind a gateway of its own."""
        for name, (_, _, runtime, *_) in LANGUAGES.items():
            lacks = shutil.which(runtime) is None
            if lacks or (name == "requests" and programs.run(runtime, "-c", "import requests").returncode != 0):
                self.left_out.append(name)
                continue
            with self.subTest(name), self.gateway() as semel:
                test(name, semel)

    @staticmethod
    def open_after_a_refusal(semel, gate):
        refused = 'semel_refused_total{route="/v1/*",problem="in-flight"}'
        for _ in range(600):
            if semel.metrics()[1].get(refused, 0) > 0:
                break
            time.sleep(0.05)
        gate.set()

    def test_the_page_has_them_all(self):
        self.assertEqual(set(snippets()), set(LANGUAGES))

    def test_a_failure_that_passes_is_tried_again_with_the_same_key(self):
        """A service that is not well at first, then an answer; the next call with the key is a replay."""
        def test(name, semel):
            self.answer([(503, AT_ONCE), (201, AT_ONCE)])
            for _ in range(2):
                status, said = self.pay(name, semel, f"again-{name}", ORDER)
                self.assertEqual((status, said["id"]), (201, 2), said)

        self.try_each(test)

    def test_a_request_that_is_running_is_waited_for(self):
        """Somebody else sends the same request first; the snippet hears 409, waits, and gets that answer."""
        def test(name, semel):
            gate = threading.Event()
            come = self.answer([(201, gate)])
            fields = [("Authorization", "Bearer me"), ("Idempotency-Key", f'"wait-{name}"'),
                      ("Content-Type", "application/json")]
            first = threading.Thread(target=semel.ask, args=("POST", "/v1/payments", fields, json.dumps(ORDER).encode(), 90.0))
            first.start()
            self.assertTrue(come.wait(10))
            threading.Thread(target=self.open_after_a_refusal, args=(semel, gate)).start()
            status, said = self.pay(name, semel, f"wait-{name}", ORDER)
            first.join()
            self.assertEqual((status, said["id"]), (201, 1), said)

        self.try_each(test)

    def test_a_mistake_is_not_repeated(self):
        """The same key with another body is 422, at once. curl does not tell it from a failure that passes."""
        def test(name, semel):
            self.answer([(201, AT_ONCE)])
            self.assertEqual(self.pay(name, semel, f"once-{name}", ORDER)[0], 201)
            if name == "curl":
                return
            status, said = self.pay(name, semel, f"once-{name}", {**ORDER, "amount": 5})
            self.assertEqual((status, said["retry"]), (422, "new-key"))

        self.try_each(test)

    @classmethod
    def tearDownClass(cls):
        if cls.left_out:
            print("left out, because it is not installed:", ", ".join(sorted(set(cls.left_out))))


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    npm.run(Page, HERE / "callers_npm")
