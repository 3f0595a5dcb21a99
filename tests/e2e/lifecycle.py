#!/usr/bin/env python3
"""From start to end: connections that are kept, draining, dying, reloading. --binary SEMEL"""
import pathlib
import signal
import stat
import tempfile
import time

import harness
import wire
from harness import CONFIG, ROUTE, keyed

SHORT_LEASE = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nlease = "1s"\n'


class Upstreams(harness.Case):
    def connections_of_three(self, idle):
        config = CONFIG.replace("[upstream.app]", f'[upstream.app]\nidle_timeout = "{idle}"') + ROUTE
        serials = set()
        with self.gateway(config) as semel:
            client = semel.connect()  # one: each thread has connections of its own
            for number in range(3):
                client.request("POST", "/v1/x", keyed(f"{idle}-{number}"))
                arrival = self.stage.next()
                serials.add(arrival.serial)
                arrival.answer(200)
                self.assertEqual(client.reply().status, 200)
        return len(serials)

    def test_connections_are_kept_unless_they_are_not_to_be(self):
        """idle_timeout = "0s": each request has a connection of its own."""
        self.assertEqual(self.connections_of_three("4s"), 1)
        self.assertEqual(self.connections_of_three("0s"), 3)


class Draining(harness.Case):
    def test_a_request_under_way_is_finished_and_nobody_new_is_let_in(self):
        """SIGTERM: the running request gets its answer, new connections are refused, the exit code is 0."""
        with self.gateway() as semel:
            idle = semel.connect()
            idle.request("POST", "/v1/first", keyed("k0"))
            self.stage.next().answer(200)
            self.assertEqual(idle.reply().status, 200)
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"), b"{}")
            arrival = self.stage.next()

            semel.signal(signal.SIGTERM)
            self.assertEqual(idle.wait_closed(), b"")
            self.assertTrue(wire.eventually(lambda: refuses(semel)))
            self.assertIsNone(semel.wait(0.5))
            arrival.answer(201, body=b"in the end")
            reply = busy.reply()
            self.assertEqual((reply.status, reply.body), (201, b"in the end"))
            self.assertEqual(busy.wait_closed(), b"")
            self.assertEqual(semel.wait(), 0)

            semel.start()
            replay = semel.ask("POST", "/v1/slow", keyed("k1"), b"{}")
            self.assertEqual((replay.status, replay.body), (201, b"in the end"))
            self.assertEqual(replay.get("Idempotent-Replayed"), "true")
            self.assertEqual(semel.stop(), 0)
        self.assertEqual(self.stage.count(), 2)

    def test_a_request_whose_client_has_gone_is_finished_too(self):
        """Nobody waits for the answer any more, but it is stored before the process ends."""
        with self.gateway() as semel:
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"))
            arrival = self.stage.next()
            busy.reset()
            semel.signal(signal.SIGTERM)
            self.assertIsNone(semel.wait(0.6))
            arrival.answer(201, body=b"kept")
            self.assertEqual(semel.wait(), 0)
            semel.start()
            self.assertEqual(semel.ask("POST", "/v1/slow", keyed("k1")).body, b"kept")

    def test_a_second_signal_ends_at_once(self):
        """The store opens again, the key that was cut off becomes unknown, the others are replayed."""
        with self.gateway(CONFIG + SHORT_LEASE) as semel:
            self.answer_all("easy")
            first = semel.ask("POST", "/v1/x", keyed("k0") + [("X-Scenario", "easy")])
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"))
            self.stage.next()
            semel.signal(signal.SIGTERM)
            self.assertIsNone(semel.wait(0.3))
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(5), 0)

            semel.start()
            again = semel.ask("POST", "/v1/x", keyed("k0"))
            self.assertEqual((again.status, again.body), (first.status, first.body))
            last = wire.eventually(lambda: unless_in_flight(semel, "/v1/slow", "k1"), 5)
            self.assert_problem(last, 409, "outcome-unknown")
        self.assertEqual(self.stage.count(), 1)

    def test_a_second_signal_ends_waiters_too(self):
        """Requests that wait for another's answer are dropped without harm to anybody."""
        route = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nin_flight = "wait"\n'
        with self.gateway(CONFIG + route) as semel:
            connections = [semel.connect() for _ in range(6)]
            for connection in connections:
                connection.request("POST", "/v1/slow", keyed("k1"))
            self.stage.next()
            time.sleep(0.2)
            semel.signal(signal.SIGTERM)
            time.sleep(0.2)
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(5), 0, semel.stderr())

    def test_draining_ends_when_its_time_is_up(self):
        """A request that never ends cannot hold up the process for longer than drain_timeout."""
        config = CONFIG + '\n[limits]\ndrain_timeout = "1s"\n' + ROUTE
        with self.gateway(config) as semel:
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"))
            self.stage.next()
            started = time.monotonic()
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(10), 0)
            self.assertGreater(time.monotonic() - started, 0.9)

    def test_an_answer_that_streams_is_finished(self):
        """A request that passes through counts as under way until its last byte."""
        with self.gateway() as semel:
            busy = semel.connect()
            busy.request("GET", "/v1/events")
            arrival = self.stage.next()
            arrival.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            head = wire.read_head(busy.reader)
            semel.signal(signal.SIGTERM)
            self.assertIsNone(semel.wait(0.6))
            arrival.send(b"3\r\ntwo\r\n0\r\n\r\n")
            arrival.end(keep=True)
            self.assertEqual(wire.read_body(busy.reader, head, until_close=True).body, b"onetwo")
            self.assertEqual(semel.wait(), 0)


def refuses(semel):
    try:
        semel.connect().close()
        return False
    except OSError:
        return True


def unless_in_flight(semel, target, key, body=None):
    """The reply, unless it says that the request is still running."""
    reply = semel.ask("POST", target, keyed(key), body)
    return None if b"in-flight" in reply.body else reply


class Dying(harness.Case):
    def test_kill_leaves_what_was_answered_and_tells_what_is_unknown(self):
        """After kill -9 every answer is replayed as it was; the request under way is unknown, and runs no more."""
        with self.gateway(CONFIG + SHORT_LEASE) as semel:
            self.answer_all("easy", 201, lambda arrival: arrival.message.body * 7, [("X-Kept", "yes")])
            before = {}
            for number in range(100):
                fields = keyed(f"k{number}") + [("X-Scenario", "easy")]
                before[number] = semel.ask("POST", "/v1/x", fields, b"%d" % number)
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("busy"))
            self.stage.next()
            semel.kill()

            semel.start()
            for number, first in before.items():
                again = semel.ask("POST", "/v1/x", keyed(f"k{number}"), b"%d" % number)
                self.assertEqual((again.status, again.body), (first.status, first.body))
                self.assertEqual(again.get("X-Kept"), "yes")
                self.assertEqual(again.get("Idempotency-Expires"), first.get("Idempotency-Expires"))
                self.assertEqual(again.get("Idempotent-Replayed"), "true")
            last = wire.eventually(lambda: unless_in_flight(semel, "/v1/slow", "busy"), 5)
            self.assert_problem(last, 409, "outcome-unknown")
            self.assert_problem(semel.ask("POST", "/v1/slow", keyed("busy"), b"other"), 422, "key-reused")
        self.assertEqual(self.stage.count("easy"), 100)
        self.assertEqual(self.stage.count(), 1)

    def test_what_it_keeps_is_for_its_owner_only(self):
        """The folder of the store and those in it are 0700 and every file 0600, whatever the shell's umask says."""
        with self.gateway() as semel:
            self.answer_all()
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            data = pathlib.Path(semel.values["data"])
            kept = [data, *data.rglob("*")]
            modes = {str(path): stat.S_IMODE(path.stat().st_mode) for path in kept}
            self.assertTrue(any(name.endswith(".log") for name in modes), modes)
            wrong = {str(path): oct(modes[str(path)]) for path in kept if modes[str(path)] != (0o700 if path.is_dir() else 0o600)}
            self.assertEqual(wrong, {})

    def test_a_store_has_one_owner(self):
        """A second process on the same folder refuses to start and leaves the first alone."""
        with self.gateway() as semel:
            second = self.gateway()
            second.values["store"] = semel.values["store"]
            second.write_config(CONFIG + ROUTE)
            second.spawn()
            self.assertEqual(second.wait(10), 1)
            self.assertIn("store cannot be opened", second.stderr())
            self.answer_all()
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)


class Reloading(harness.Case):
    OTHER = '\n[[route]]\npath = "/v2/*"\nupstream = "app"\n'

    def reload(self, semel, config, expected):
        before = semel.stderr().count(expected)
        semel.write_config(config)
        semel.signal(signal.SIGHUP)
        self.assertTrue(wire.eventually(lambda: semel.stderr().count(expected) > before), semel.stderr())

    def test_new_routes_count_and_connections_stay(self):
        """SIGHUP: a keep-alive connection goes on, under the new routes; a request under way keeps the old ones."""
        with self.gateway() as semel:
            self.answer_all("easy")
            easy = [("X-Scenario", "easy")]
            kept = semel.connect()
            self.assertEqual(kept.ask("POST", "/v1/x", keyed("k1") + easy).status, 200)
            self.assertEqual(kept.ask("POST", "/v2/x", keyed("k2") + easy).status, 404)
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k3"))
            arrival = self.stage.next()

            self.reload(semel, CONFIG + self.OTHER, "semel: reloaded")
            self.assertTrue(wire.eventually(lambda: kept.ask("POST", "/v2/x", keyed("k2") + easy).status == 200))
            self.assertTrue(wire.eventually(lambda: kept.ask("POST", "/v1/x", keyed("k1") + easy).status == 404))
            arrival.answer(201, body=b"as it began")
            self.assertEqual(busy.reply().body, b"as it began")

            self.reload(semel, CONFIG + ROUTE + self.OTHER, "semel: reloaded")
            self.assertTrue(wire.eventually(lambda: kept.ask("POST", "/v1/x", keyed("k1") + easy).status == 200))
            self.assertEqual(kept.ask("POST", "/v1/x", keyed("k1") + easy).get("Idempotent-Replayed"), "true")
            self.assertEqual(semel.ask("POST", "/v1/slow", keyed("k3")).body, b"as it began")

    def test_a_broken_file_is_refused_and_the_old_one_stays(self):
        """Every mistake is printed, nothing changes, and a later good file is taken."""
        with self.gateway() as semel:
            self.answer_all()
            self.reload(semel, CONFIG + '\n[[route]]\npath = "v2"\nupstrem = "app"\n', "not reloaded")
            self.assertRegex(semel.stderr(), r"semel\.toml:\d+:\d+: error: .*upstrem")
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            semel.config_path.unlink()
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: semel.stderr().count("not reloaded") == 2))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            self.reload(semel, CONFIG + self.OTHER, "semel: reloaded")
            self.assertTrue(wire.eventually(lambda: semel.ask("POST", "/v2/x", keyed("k2")).status == 200))

    def test_a_new_secret_counts(self):
        """The admin token comes from a file; SIGHUP reads it again, and the old one is worth nothing."""
        with tempfile.TemporaryDirectory() as folder:
            token = pathlib.Path(folder) / "token"
            token.write_text("old-token", encoding="utf-8")
            config = CONFIG.replace('[admin]\n', '[admin]\ntoken = "file:$token"\n') + ROUTE
            with self.gateway(config, token=str(token)) as semel:
                def status(given):
                    return wire.ask(semel.admin, "GET", "/metrics", [("Authorization", f"Bearer {given}")]).status

                self.assertEqual((status("old-token"), status("new-token")), (200, 401))
                token.write_text("new-token", encoding="utf-8")
                self.reload(semel, config, "semel: reloaded")
                self.assertTrue(wire.eventually(lambda: status("new-token") == 200))
                self.assertEqual(status("old-token"), 401)


if __name__ == "__main__":
    harness.run()
