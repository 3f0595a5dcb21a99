#!/usr/bin/env python3
"""Data at rest: answers are encrypted, keys have keyed names, both survive rotation, and what cannot be opened is neither
replayed nor run. --binary SEMEL"""
import functools
import json
import re
import shutil
import struct
import time
import unittest

import harness
import signers
import wire
from harness import CONFIG, KEY_ONE, KEY_TWO, ROUTE, keyed

CANARY = b"canary-1f0c-the-answer"
ORDERED = """
[[webhook]]
path = "/hooks/stripe"
provider = "stripe"
secrets = ["s"]
upstream = "app"
ordered = true
"""
DURABLE = "fsync,fdatasync,rename,mkdir,pwrite64"

encrypted = functools.partial(harness.encrypted, CONFIG + ROUTE)


class Encryption(harness.Case):
    def restart(self, semel, config):
        semel.stop()
        semel.write_config(config)
        semel.start()

    def on_disk(self, semel, text):
        return any(text in file.read_bytes() for file in (semel.folder / "data").rglob("*") if file.is_file())

    def canary_on_disk(self, semel):
        return self.on_disk(semel, CANARY)

    def refused(self, semel, config):
        """Why it does not start."""
        semel.stop()
        semel.write_config(config)
        before = len(semel.stderr())
        semel.spawn()
        self.assertEqual(semel.wait(), 1)
        return semel.stderr()[before:]

    def checked(self, semel):
        """What `semel check` says on standard error."""
        checked = self.run_semel("check", semel.config_path)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        return checked.stderr

    def test_no_file_of_the_store_holds_the_answer(self):
        """The body is replayed after a restart, and no file has it; without keys one has, so the search finds."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway(encrypted(KEY_ONE)) as semel:
            first = semel.ask("POST", "/v1/x", keyed("k1"))
            self.assertEqual((first.status, first.body), (201, CANARY))
            self.restart(semel, encrypted(KEY_ONE))
            again = semel.ask("POST", "/v1/x", keyed("k1"))
            self.assertEqual((again.status, again.body), (201, CANARY))
            self.assertEqual(again.get("Idempotent-Replayed"), "true")
            semel.stop()
            self.assertFalse(self.canary_on_disk(semel))
        with self.gateway() as plain:
            self.assertEqual(plain.ask("POST", "/v1/x", keyed("k1")).body, CANARY)
            plain.stop()
            self.assertTrue(self.canary_on_disk(plain))
        self.assertEqual(self.stage.count(), 2)

    def test_keys_rotate_and_a_lost_key_blocks(self):
        """A new key in front reads what the old one wrote; without the old one it is 500, counted, and nothing runs."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway(encrypted(KEY_ONE)) as semel:
            semel.ask("POST", "/v1/x", keyed("old"))
            self.restart(semel, encrypted(KEY_TWO, KEY_ONE))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("old")).body, CANARY)
            semel.ask("POST", "/v1/x", keyed("new"))
            self.restart(semel, encrypted(KEY_TWO))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("new")).body, CANARY)
            for _ in range(2):
                refused = semel.ask("POST", "/v1/x", keyed("old"))
                self.assert_problem(refused, 500, "record-corrupt")
                self.assertNotIn(CANARY, refused.body)
            # A request is counted when it has ended, which is after its answer has gone out.
            self.assertTrue(wire.eventually(lambda: semel.metrics()[1]["semel_records_refused_total"] == 2))
        self.assertEqual(self.stage.count(), 2)

    def test_a_store_that_lost_its_keys_does_not_start(self):
        """No keys, or none that fits: without them every key would be forgotten. Put back, they find everything."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway(encrypted(KEY_ONE)) as semel:
            semel.ask("POST", "/v1/x", keyed("k1"))
            self.assertIn("store.encryption_keys is empty; put the keys back", self.refused(semel, CONFIG + ROUTE))
            self.assertIn("none of store.encryption_keys opens", self.refused(semel, encrypted(KEY_TWO)))
            self.restart(semel, encrypted(KEY_TWO, KEY_ONE))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).get("Idempotent-Replayed"), "true")
        self.assertEqual(self.stage.count(), 1)

    def test_encrypted_answers_without_keys_are_not_replayed_as_they_lie(self):
        """A store that was made without keys opens without them: 500, and no ciphertext goes out as an answer."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway() as semel:
            self.restart(semel, encrypted(KEY_ONE))
            semel.ask("POST", "/v1/x", keyed("k1"))
            self.restart(semel, CONFIG + ROUTE)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 500, "record-corrupt")
        self.assertEqual(self.stage.count(), 1)

    def test_no_file_of_the_store_holds_the_hash_of_a_key(self):
        """The log names a key by the beginning of its plain hash; no file of an encrypted store has that, a plain one has."""
        self.answer_all(status=201)
        found = {}
        for name, config in (("encrypted", encrypted(KEY_ONE)), ("plain", CONFIG + ROUTE)):
            with self.gateway(config) as semel:
                self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 201)
                semel.stop()
                lines = [json.loads(line) for line in semel.stdout().splitlines()]
                [plain] = [line["key"] for line in lines if "key" in line]
                found[name] = self.on_disk(semel, bytes.fromhex(plain))
        self.assertEqual(found, {"encrypted": False, "plain": True})

    def records(self, semel):
        """(state, times, id, fingerprint, namespace) of the records in the log, as docs/record-format.md has them."""
        found = []
        for file in (semel.folder / "data").glob("*.log"):
            data = file.read_bytes()
            for match in re.finditer(rb"SML\x01", data):
                at = match.start()
                times = struct.unpack("<3q", data[at + 24:at + 48])
                name = data[at + 129:at + 129 + data[at + 128]]
                found.append((data[at + 4], times, data[at + 48:at + 80], data[at + 80:at + 112], name))
        return found

    def test_what_stays_in_clear_is_what_the_page_says(self):
        """Namespaces, times, states and stamps can be read without the keys, and a fingerprint is the same plain hash of the
        request as in a store without encryption. The names of keys are not."""
        more = 'namespace = "till-4711"\n' + ORDERED
        self.answer_all(status=201)
        fingerprints, names = [], []
        for config in (encrypted(KEY_ONE) + more, CONFIG + ROUTE + more):
            with self.gateway(config) as semel:
                begun = time.time() * 1000
                self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1"), b"the same").status, 201)
                event = b'{"id":"evt_1","created":1700004711,"data":{"object":{"id":"po_1"}}}'
                self.assertEqual(semel.ask("POST", "/hooks/stripe", signers.sign("stripe s", event), event).status, 201)
                semel.kill()
                ours = [record for record in self.records(semel) if record[4] == b"till-4711"]
                self.assertEqual({state for state, *_ in ours}, {1, 2})  # running, then done
                for _, (claimed, lease, expires), *_ in ours:
                    self.assertLess(abs(claimed - begun), 60_000)
                    self.assertEqual((lease - claimed, expires - claimed), (30_000, 86_400_000))
                self.assertTrue(self.on_disk(semel, b"1700004711"))
                names.append({name for _, _, name, *_ in ours})
                fingerprints.append({fingerprint for _, _, _, fingerprint, _ in ours})
        self.assertEqual(fingerprints[0], fingerprints[1])
        self.assertFalse(names[0] & names[1])

    def test_every_key_is_found_again_while_encryption_keys_come_and_go(self):
        """First run, kill -9, rotation, kill -9, the old key taken away: whatever was claimed is replayed or held."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        names = [f"k{i}" for i in range(20)]
        with self.gateway(encrypted(KEY_ONE)) as semel:
            for name in names:
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(name)).status, 201)
            for keys in ((KEY_TWO, KEY_ONE), (KEY_TWO, KEY_ONE), (KEY_ONE, KEY_TWO)):
                semel.kill()
                semel.write_config(encrypted(*keys))
                semel.start()
                for name in names:
                    again = semel.ask("POST", "/v1/x", keyed(name))
                    self.assertEqual((again.status, again.get("Idempotent-Replayed")), (201, "true"))
            self.restart(semel, encrypted(KEY_TWO, KEY_ONE))
            self.restart(semel, encrypted(KEY_TWO))
            for name in names:
                self.assert_problem(semel.ask("POST", "/v1/x", keyed(name)), 500, "record-corrupt")
        self.assertEqual(self.stage.count(), len(names))

    def killed_at(self, semel, step, config):
        """Starts it and kills it as it enters its step-th call that makes names or data durable; False if it gets by."""
        semel.write_config(config)
        semel.prefix = ["strace", "-f", "-D", "-qq", "-o", str(semel.folder / "trace"), "-e", f"trace={DURABLE}",
                        "-e", f"inject={DURABLE}:signal=SIGKILL:when={step}"]
        before = semel.stderr().count("listening on")
        semel.spawn()
        semel.prefix = []
        wire.eventually(lambda: semel.process.poll() is not None or semel.stderr().count("listening on") > before, 20)
        killed = semel.process.poll() is not None
        semel.kill()
        return killed

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_birth_that_is_cut_short_anywhere_forgets_nothing_later(self):
        """kill -9 at each call by which the first start makes anything durable; then another start finds a store that is
        new or made, and from its first answer on nothing is forgotten. The store is always one with an identity."""
        self.answer_all(status=201)
        step = 1
        while True:
            semel = self.gateway(encrypted(KEY_ONE))
            killed = self.killed_at(semel, step, encrypted(KEY_ONE))
            for replayed in (None, "true", "true"):
                semel.start()
                again = semel.ask("POST", "/v1/x", keyed(f"k{step}"))
                self.assertEqual((again.status, again.get("Idempotent-Replayed")), (201, replayed), f"step {step}")
                semel.kill()
            self.assertTrue((semel.folder / "data" / "semel.identity").exists(), f"step {step}")
            semel.close()
            if not killed:
                break
            step += 1
        self.assertGreater(step, 8, "fewer calls than it takes to make a store")
        self.assertEqual(self.stage.count(), step)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_rotation_that_is_cut_short_anywhere_forgets_nothing(self):
        """The same for the start that encrypts the secret anew: the next one, with both keys, finds every answer."""
        self.answer_all(status=201)
        step = 1
        with self.gateway(encrypted(KEY_ONE)) as semel:
            semel.ask("POST", "/v1/x", keyed("k"))
            semel.kill()
            keys = (KEY_ONE, KEY_TWO)
            while self.killed_at(semel, step, encrypted(*reversed(keys))):
                semel.write_config(encrypted(*keys))
                semel.start()
                self.assertEqual(semel.ask("POST", "/v1/x", keyed("k")).get("Idempotent-Replayed"), "true", f"step {step}")
                semel.kill()
                step += 1
        self.assertGreater(step, 4)
        self.assertEqual(self.stage.count(), 1)

    def test_encryption_can_be_switched_on_later(self):
        """read_unencrypted replays what was kept before; without it such a record is refused."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway() as semel:
            semel.ask("POST", "/v1/x", keyed("k1"))
            self.assertNotIn("plain hashes", semel.stderr() + self.checked(semel))
            self.restart(semel, encrypted(KEY_ONE, more="read_unencrypted = true"))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).body, CANARY)
            self.assertIn("semel: store: keys and scopes are stored under plain hashes", semel.stderr())
            self.assertIn("warning: store: keys and scopes are stored under plain hashes", self.checked(semel))
            self.restart(semel, encrypted(KEY_ONE))
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 500, "record-corrupt")
        self.assertEqual(self.stage.count(), 1)


if __name__ == "__main__":
    harness.run()
