#!/usr/bin/env python3
"""The demo does what it prints: demo.py --binary SEMEL

The curl lines are taken from its output and run as they stand, by a shell.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import harness
import programs


class Answer:
    def __init__(self, text):
        head, _, self.body = text.replace("\r\n", "\n").partition("\n\n")
        lines = head.split("\n")
        self.status = int(lines[0].split()[1])
        self.fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}


def run(line):
    done = programs.run("bash", "-c", line, seconds=60)
    if done.returncode != 0:
        raise AssertionError(f"{line}: {done.stderr}")
    return done.stdout


def curl(line):
    return Answer(run(line))


def lines_of(text):
    return re.findall(r"^curl -i .*$", text, re.M)


def effects(running):
    return json.loads(run(re.search(r"^curl .*/effects$", running.text, re.M)[0]))


class WithSemel(harness.Case):
    def test_the_four_lines_give_what_is_promised(self):
        with self.demo() as running:
            lines = lines_of(running.text)
            self.assertEqual(len(lines), 4, running.text)
            first, again, other, keyless = map(curl, lines)
            self.assertEqual(first.status, 201)
            self.assertEqual(json.loads(first.body), {"id": "pay_1", "amount": 25, "status": "charged"})
            self.assertNotIn("idempotent-replayed", first.fields)
            self.assertEqual((again.status, again.body), (first.status, first.body))
            self.assertEqual(again.fields["idempotent-replayed"], "true")
            self.assertEqual(other.status, 422)
            self.assertIn("key-reused", other.body)
            self.assertEqual(keyless.status, 400)
            self.assertIn("key-missing", keyless.body)
            self.assertEqual(effects(running), {"effects": 1, "amount": 25, "requests": 1})
            listed = json.loads(run(f"curl -s {running.url}/v1/payments"))
            self.assertEqual(listed, {"count": 1, "total": 25, "latest": [{"id": "pay_1", "amount": 25}]})
            out, err, status = running.end()
            self.assertEqual(out, "\n4 requests came, 1 payment was charged.\n")
            self.assertEqual((err, status), ("", 0))

    def test_a_failure_may_be_tried_again_and_a_slow_payment_is_in_flight(self):
        with self.demo() as running:
            post = f"curl -si {running.url}/v1/%s -H 'Idempotency-Key: %s' -d '{{\"amount\":5}}'"
            self.assertEqual(curl(post % ("flaky", "f")).status, 500)
            self.assertEqual(curl(post % ("flaky", "f")).status, 201)
            self.assertEqual(curl(post % ("flaky", "f")).fields["idempotent-replayed"], "true")
            slow = subprocess.Popen(["bash", "-c", post % ("slow", "s")], stdout=subprocess.PIPE, text=True)
            early = curl(f"sleep 0.5; {post % ('slow', 's')}")
            self.assertEqual(early.status, 409)
            self.assertIn("retry-after", early.fields)
            self.assertEqual(Answer(slow.communicate(timeout=60)[0]).status, 201)
            self.assertEqual(effects(running)["effects"], 2)

    def test_it_leaves_no_folder_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            for how in (signal.SIGINT, signal.SIGTERM):
                with self.demo(environment={"TMPDIR": folder}) as running:
                    self.assertEqual(len(os.listdir(folder)), 1)
                    self.assertEqual(running.end(how)[2], 0)
                self.assertEqual(os.listdir(folder), [])

    def test_data_in_a_folder_outlives_the_demo(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "keys"
            with self.demo("--data", str(data)) as running:
                first = curl(lines_of(running.text)[0])
                running.end()
            with self.demo("--data", str(data)) as running:
                again = curl(lines_of(running.text)[0])
                self.assertEqual((again.status, again.body), (201, first.body))
                self.assertEqual(again.fields["idempotent-replayed"], "true")
                self.assertEqual(effects(running)["effects"], 0)

    def test_the_log_is_there_when_asked_for(self):
        with self.demo("--log") as running:
            curl(lines_of(running.text)[0])
            out = running.end()[0]
            line = json.loads(out.split("\n")[0])
            self.assertEqual((line["path"], line["status"], line["outcome"]), ("/v1/payments", 201, "ran"))
            self.assertNotIn("a1", out)

    def test_a_port_that_is_taken_is_named(self):
        with self.demo() as running:
            for option in ("--port", "--admin-port", "--api-port"):
                ports = {"--port": 0, "--admin-port": 0, "--api-port": 0, option: running.address[1]}
                done = self.run_semel("demo", *(str(word) for pair in ports.items() for word in pair))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"cannot listen on 127.0.0.1 port {running.address[1]}", done.stderr)
                self.assertIn(option, done.stderr)
            self.assertEqual(curl(lines_of(running.text)[0]).status, 201)


class WithoutSemel(harness.Case):
    def test_the_same_request_charges_twice(self):
        with self.demo("--without") as running:
            first, again = map(curl, lines_of(running.text))
            self.assertEqual((first.status, again.status), (201, 201))
            self.assertEqual([json.loads(answer.body)["id"] for answer in (first, again)], ["pay_1", "pay_2"])
            self.assertEqual(effects(running)["effects"], 2)
            out, err, status = running.end()
            self.assertEqual((out, err, status), ("\n2 requests came, 2 payments were charged.\n", "", 0))

    def test_what_is_not_a_payment_is_refused(self):
        with self.demo("--without") as running:
            for body in ("", "amount=25", "{}", '{"amount":0}', '{"amount":"25"}', '{"amount":2.5}', "[25]"):
                done = curl(f"curl -si {running.url}/v1/payments -d '{body}'")
                self.assertEqual(done.status, 400, body)
            self.assertEqual(curl(f"curl -si {running.url}/v1/else -d '{{\"amount\":25}}'").status, 404)
            self.assertEqual(effects(running), {"effects": 0, "amount": 0, "requests": 8})


if __name__ == "__main__":
    harness.run()
