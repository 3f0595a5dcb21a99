#!/usr/bin/env python3
"""The page for Prometheus: its form, and that its figures are those of what happened. --binary SEMEL"""
import subprocess
import time

import exposition
import harness
import wire
from harness import CONFIG, ROUTE, keyed

GOOD = ("# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"1\"} 2\n"
        "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 3\nh_sum 9.5\nh_count 3\n")


class Reader(harness.Case):
    def test_the_reader_is_strict(self):
        """Each small damage to a good page is noticed; otherwise the other tests would say nothing."""
        self.assertEqual(set(exposition.parse(GOOD)), {"a_total", "h"})
        for before, after in (("# HELP a_total A.\n", ""), ("# TYPE a_total counter\n", ""), ("counter", "count"),
                              ("a_total{x=\"1\"} 2\n", "a_total{x=\"1\"} 2\na_total{x=\"1\"} 2\n"), ("\"1\"} 2", "1} 2"),
                              ("} 2\n", "} two\n"), ("h_bucket{le=\"1\"} 1", "h_bucket{le=\"1\"} 4"),
                              ("h_count 3", "h_count 4"), ("h_bucket{le=\"+Inf\"} 3\n", ""), ("h_sum 9.5\n", ""),
                              ("le=\"1\"", "le=\"one\""), ("a_total", "a"), ("h_count 3\n", "h_count 3"),
                              ("# HELP h H.\n", "b 1\n# HELP h H.\n")):
            with self.assertRaises(exposition.Malformed, msg=f"{before!r} -> {after!r}"):
                exposition.parse(GOOD.replace(before, after))


class Page(harness.Case):
    def families(self, semel):
        reply = wire.ask(semel.admin, "GET", "/metrics")
        self.assertEqual(reply.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        return exposition.parse(reply.body.decode())

    @staticmethod
    def value(families, name, **labels):
        family = name.removesuffix("_count").removesuffix("_sum") if name not in families else name
        return next(value for sample, found, value in families[family].samples if (sample, found) == (name, labels))

    def test_it_is_well_formed_from_the_start(self):
        """An idle gateway has every family, all at zero but the build."""
        with self.gateway() as semel:
            families = self.families(semel)
            said = subprocess.run([self.binary, "version"], capture_output=True, text=True, check=True).stdout
            (_, labels, one), = families["semel_build_info"].samples
            self.assertEqual((labels["version"], one), (said.split()[1], 1))
            self.assertEqual(families["semel_build_info"].type, "gauge")
            for name in ("semel_quota_refusals_total", "semel_expired_total", "semel_store_errors_total"):
                self.assertEqual(self.value(families, name), 0)
            for name in ("semel_claim_seconds", "semel_complete_seconds", "semel_upstream_seconds"):
                self.assertEqual(self.value(families, name + "_count"), 0)

    def test_the_store_is_measured(self):
        """Each durable step is in a batch: writes and syncs add up to what the requests needed."""
        with self.gateway() as semel:
            self.answer_all()
            before = self.families(semel)
            for number in range(20):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"k{number}")).status, 200)
            for _ in range(5):
                semel.ask("POST", "/v1/x", keyed("k0"))
            after = self.families(semel)

            def grown(name):
                return self.value(after, name) - self.value(before, name)

            self.assertEqual(grown("semel_store_batch_writes_sum"), 40)  # a claim and a completion each; replays none
            self.assertEqual(grown("semel_store_batch_writes_count"), 40)  # one after another: nobody to share with
            self.assertEqual(grown("semel_store_sync_seconds_count"), 40)
            self.assertGreater(grown("semel_store_sync_seconds_sum"), 0)
            for name in ("semel_claim_seconds", "semel_complete_seconds", "semel_upstream_seconds"):
                self.assertEqual(grown(name + "_count"), 20)
            self.assertLess(grown("semel_store_sync_seconds_sum"),
                            grown("semel_claim_seconds_sum") + grown("semel_complete_seconds_sum"))

    def test_what_expired_is_counted(self):
        """Keys whose time is up are swept, and counted once each."""
        with self.gateway(CONFIG + ROUTE + 'ttl = "1s"\nlease = "1s"\n') as semel:
            self.answer_all()
            for number in range(10):
                semel.ask("POST", "/v1/x", keyed(f"k{number}"))
            swept = lambda: self.value(self.families(semel), "semel_expired_total") == 10  # noqa: E731
            self.assertTrue(wire.eventually(swept, 10))
            time.sleep(0.5)
            self.assertTrue(swept())


if __name__ == "__main__":
    harness.run()
