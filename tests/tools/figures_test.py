#!/usr/bin/env python3
"""The figures in docs/limits.md are those of the code: figures_test.py ROOT

What is an option is named on the page. What is a constant stands there as the code has it, and what a test of memory allows
stands there as the test has it. That the constants have their effect is for the tests that the page names.
"""
import ast
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def number(text):
    """The value of a constant of C++ or Python that is made of numbers and shifts."""
    plain = re.sub(r"(?<=\d)[uUlL]+\b|(?<=\d)'(?=\d)", "", text)
    return sum_of(ast.parse(plain.strip(), mode="eval").body)


def sum_of(node):
    if isinstance(node, ast.Constant):
        return node.value
    left, right = sum_of(node.left), sum_of(node.right)
    return {ast.LShift: lambda: left << right, ast.Mult: lambda: left * right, ast.FloorDiv: lambda: left // right}[type(node.op)]()


def constant(path, name):
    """The value of `name = 1U << 10U;`, `name{10'000};` or, in Python, `NAME = 1 << 10`."""
    found = re.search(rf"\b{name}(?: = |{{)([^;}}\n#]+)", read(path))
    if not found:
        raise AssertionError(f"{path} has no {name}")
    return number(found[1])


def count(value):
    return f"{value:,}"


def size(value):
    for unit in ("MiB", "KiB"):
        step = 1 << (20 if unit == "MiB" else 10)
        if value >= step and value * 2 % step == 0:
            return f"{value / step:g} {unit}"
    return f"{value} bytes"


def mebibytes(value):
    return str(value >> 20)


# (what the page says, with the figure as {}, how the figure is written, the file, the constant)
FIGURES = [
    ("{} of chunk extensions in all", size, "src/http/parser.cc", "extension_bytes_max"),
    ("head of an answer: {};", size, "src/http/parser.h", "head_bytes"),
    ("| {} interim answers (1xx) before the answer |", count, "src/http/call.cc", "interims_max"),
    ("| {} admin connections |", count, "src/gateway/gateway.cc", "beside_connections_max"),
    ("| {} who sign out of the dashboard", count, "src/admin/sign_in.h", "ended_max"),
    ("| {}: the token of a caller", size, "src/policy/jwt.cc", "token_bytes_max"),
    (": {} items and", count, "src/api/item.h", "items_max"),
    ("items and {} of a request;", size, "src/api/item.h", "request_bytes_max"),
    ("{} fetches a minute of each host", count, "src/gateway/key_cache.cc", "fetches_a_minute_of_host"),
    (" and {} in all, for each webhook and thread", count, "src/gateway/key_cache.cc", "fetches_a_minute"),
    ("for each webhook and thread; {} each", size, "src/gateway/key_cache.cc", "document_bytes_max"),
    ("× ({} that have verified a delivery,", count, "src/gateway/key_cache.cc", "known_max"),
    ("and {} for each webhook that have not)", count, "src/gateway/key_cache.cc", "strangers_max"),
    ("`webhook.api_credentials`): {} a minute", count, "src/gateway/inquiries.cc", "asked_a_minute"),
    ("a minute, {} of them about one transmission", count, "src/gateway/inquiries.cc", "asked_a_minute_of_one"),
    ("and {} at once, for each webhook and thread", count, "src/gateway/inquiries.cc", "at_once_max"),
    ("| answers of PayPal's API | {} × 200 bytes", count, "src/gateway/inquiries.cc", "heard_max"),
    ("| {} events of one delivery |", count, "src/webhook/event_batch.h", "batch_items_max"),
    ("| {} fields of a form,", count, "src/policy/form.h", "form_pairs_max"),
    ("| {} parts of a form", count, "src/policy/multipart.h", "form_parts_max"),
    ("`multipart/form-data`), {} of fields of each", size, "src/policy/multipart.h", "part_head_bytes_max"),
    ("up to a {}th of its `ttl`", count, "src/gateway/quotas.cc", "slots_per_ttl"),
    ("{} addresses × 130 bytes", count, "src/gateway/rate_limiter.cc", "addresses_max"),
    ("| the log while nobody reads it | {}, and", size, "src/telemetry/log_sink.cc", "backlog_bytes_max"),
    ("1 MiB and {} × threads", size, "src/telemetry/request_log.cc", "flush_from_bytes"),
    ("| {} keys × 400 bytes |", count, "src/once/once.cc", "later_max"),
    ("three buffers of {} and three of 8,", size, "src/store/embedded/rocks_options.cc", "records_buffer_bytes"),
    ("MiB and three of {}, a cache of 8,", mebibytes, "src/store/embedded/rocks_options.cc", "index_buffer_bytes"),
    ("| {} × 9 KiB = 88 MiB", count, "src/config/config.h", "connections"),
    ("2 GiB down at once | {} |", size, "tests/e2e/memory.py", "EXTRA_BYTES_MAX"),
    ("10,000 idle connections, each | {} |", size, "tests/e2e/memory.py", "IDLE_BYTES_MAX"),
    ("`SEMEL_IDLE_CONNECTIONS=2000`) | {} |", size, "tests/e2e/memory.py", "SECURE_BYTES_MAX"),
    ("and do not read it, each; 1,000 of them | {} |", size, "tests/e2e/memory.py", "SHARED_BYTES_MAX"),
    ("a head a byte at a time, each; 1,000 of them | {} |", size, "tests/e2e/crowd.py", "BYTES_MAX"),
]


class Figures(unittest.TestCase):
    def setUp(self):
        self.page = re.sub(r"\s+", " ", read("docs/limits.md"))

    def test_each_is_that_of_the_code(self):
        """A constant that changes changes the page."""
        for text, written, path, name in FIGURES:
            with self.subTest(f"{path}: {name}"):
                self.assertIn(text.format(written(constant(path, name))), self.page)

    def test_those_that_are_products_are_right(self):
        """Scopes are counted in shards, keys that were seen in two generations; a buffer grows by a second one."""
        shards = re.search(r"std::array<\w+, (\d+)> shards_", read("src/gateway/quotas.h"))
        scopes = count(int(shards[1]) * constant("src/gateway/quotas.cc", "scopes_max"))
        self.assertIn(f"Up to {scopes} scopes are counted at a time.", self.page)
        self.assertIn(f"| counts | {scopes} scopes × 160 bytes", self.page)
        buffer = constant("src/http/connection.cc", "buffer_bytes_first") + constant("src/http/connection.cc", "buffer_bytes_grown")
        self.assertIn(f"each connection: a buffer of {size(buffer)}, twice `header_bytes`", self.page)
        sights = 2 * constant("src/telemetry/sightings.h", "generation_keys_max")
        self.assertIn(f"{count(sights)} keys × 160 bytes with `mode = \"observe\"`", self.page)

    def test_every_option_is_named(self):
        """Of `[limits]` in the manual, whether or not it is switched on there."""
        section = read("conf/semel.toml").partition("\n[limits]\n")[2].partition("\n[")[0]
        options = re.findall(r"^#?([a-z_]+) = ", section, re.M)
        self.assertGreater(len(options), 15)
        table = self.page.partition("## Shown by")[0]
        self.assertEqual([option for option in options if f"`{option}`" not in table], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
