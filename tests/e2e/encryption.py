#!/usr/bin/env python3
"""Data at rest: answers are encrypted, keys rotate, and what cannot be opened is neither replayed nor run. --binary SEMEL"""
import harness
import wire
from harness import CONFIG, ROUTE, keyed

CANARY = b"canary-1f0c-the-answer"
KEY_ONE = "11" * 32
KEY_TWO = "22" * 32


def encrypted(*keys, more=""):
    names = ", ".join(f'"{key}"' for key in keys)
    return CONFIG.replace("[upstream.app]", f"encryption_keys = [{names}]\n{more}\n[upstream.app]") + ROUTE


class Encryption(harness.Case):
    def restart(self, semel, config):
        semel.stop()
        semel.write_config(config)
        semel.start()

    def canary_on_disk(self, semel):
        return any(CANARY in file.read_bytes() for file in (semel.folder / "data").rglob("*") if file.is_file())

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

    def test_encrypted_answers_without_keys_are_not_replayed_as_they_lie(self):
        """The configuration has lost its keys: 500, and no ciphertext goes out as an answer."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway(encrypted(KEY_ONE)) as semel:
            semel.ask("POST", "/v1/x", keyed("k1"))
            self.restart(semel, CONFIG + ROUTE)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 500, "record-corrupt")
        self.assertEqual(self.stage.count(), 1)

    def test_encryption_can_be_switched_on_later(self):
        """read_unencrypted replays what was kept before; without it such a record is refused."""
        self.answer_all(status=201, body=lambda arrival: CANARY)
        with self.gateway() as semel:
            semel.ask("POST", "/v1/x", keyed("k1"))
            self.restart(semel, encrypted(KEY_ONE, more="read_unencrypted = true"))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).body, CANARY)
            self.restart(semel, encrypted(KEY_ONE))
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 500, "record-corrupt")
        self.assertEqual(self.stage.count(), 1)


if __name__ == "__main__":
    harness.run()
