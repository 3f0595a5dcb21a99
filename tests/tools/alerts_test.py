#!/usr/bin/env python3
"""The alert rules and the dashboard of packaging/ hold: alerts_test.py ROOT

Every metric and label value that they name is one that src/ exports; promtool accepts the rules and plays their cases; each
alert has a case in which it fires and one in which it is silent; every query of the dashboard can be parsed, and its panels
do not overlap. Without promtool (Debian: prometheus) or PyYAML (python3-yaml) it is skipped.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

SKIPPED = 77
METRIC = re.compile(r"\bsemel_\w+")


class Alerts(unittest.TestCase):
    root = pathlib.Path()

    @classmethod
    def setUpClass(cls):
        folder = cls.root / "packaging"
        cls.rules_path = folder / "prometheus" / "semel.rules.yml"
        cls.cases_path = folder / "prometheus" / "semel.rules.test.yml"
        cls.dashboard_path = folder / "grafana" / "semel.json"
        cls.rules = yaml.safe_load(cls.rules_path.read_text(encoding="utf-8"))["groups"][0]["rules"]
        cls.cases = yaml.safe_load(cls.cases_path.read_text(encoding="utf-8"))["tests"]
        cls.dashboard = json.loads(cls.dashboard_path.read_text(encoding="utf-8"))
        cls.sources = "".join(path.read_text(encoding="utf-8") for path in sorted((cls.root / "src").rglob("*.cc")))

    def exported(self):
        """The names on /metrics, by the headings that the code writes; histograms have three each."""
        names = set()
        for name, kind in re.findall(r'(?:heading|family)\(\s*out,\s*"(semel_\w+)",\s*"(\w+)"', self.sources):
            names |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
        for name in re.findall(r'histogram\(\s*out,\s*"(semel_\w+)"', self.sources):
            names |= {f"{name}_{part}" for part in ("bucket", "sum", "count")}
        self.assertGreater(len(names), 30, "the headings were not found")
        return names

    def queries(self):
        return [target["expr"] for panel in self.dashboard["panels"] for target in panel.get("targets", ())]

    def promtool(self, *words):
        done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_only_metrics_that_exist_are_named(self):
        """A rule on a metric that nobody exports never fires, which looks like good news."""
        named = set()
        for text in (*(rule["expr"] for rule in self.rules), *self.queries(),
                     *(series["series"] for case in self.cases for series in case["input_series"]),
                     *(variable.get("definition", "") for variable in self.dashboard["templating"]["list"])):
            named.update(METRIC.findall(text))
        self.assertGreater(len(named), 20)
        self.assertEqual(named - self.exported(), set())

    def test_only_values_of_labels_that_exist_are_named(self):
        """The same for outcomes and problems: a selector by a value that is never there is silent."""
        for text in (*(rule["expr"] for rule in self.rules), *self.queries()):
            for label, values in re.findall(r'\b(outcome|problem|would)=~?"([^"]+)"', text):
                for value in values.split("|"):
                    self.assertRegex(self.sources, rf'\\?"{re.escape(value)}\\?"', f"{label} in {text}")

    def test_promtool_takes_the_rules(self):
        """Syntax, templates and duplicates, by Prometheus itself."""
        self.assertIn(f"{len(self.rules)} rules found", self.promtool("check", "rules", self.rules_path))

    def test_every_alert_fires_when_it_should_and_only_then(self):
        """promtool plays the cases; each alert has one of either kind."""
        self.promtool("test", "rules", self.cases_path)
        checks = [check for case in self.cases for check in case["alert_rule_test"]]
        for rule in self.rules:
            mine = [bool(check["exp_alerts"]) for check in checks if check["alertname"] == rule["alert"]]
            self.assertEqual(set(mine), {True, False}, rule["alert"])

    def test_the_queries_of_the_dashboard_are_queries(self):
        """promtool reads rules, so each query becomes one, with Grafana's variables filled in."""
        rules = []
        for number, query in enumerate(self.queries()):
            filled = re.sub(r"\$(?:__rate_interval|__range)", "5m", query)
            rules.append({"record": f"panel:query:{number}", "expr": re.sub(r"\$(?:job|instance|route)\b", "x", filled)})
        self.assertNotIn("$", json.dumps(rules))
        with tempfile.TemporaryDirectory(prefix="semel-alerts-") as name:
            path = pathlib.Path(name) / "queries.yml"
            path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
            self.promtool("check", "rules", path)

    def test_the_panels_have_room(self):
        """None stands on another, each has a title and a number of its own."""
        taken = set()
        for panel in self.dashboard["panels"]:
            self.assertTrue(panel["title"])
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            taken |= cells
        numbers = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(numbers), len(set(numbers)))


if __name__ == "__main__":
    if yaml is None or shutil.which("promtool") is None:
        print("skipped: promtool or PyYAML is not there (Debian: prometheus, python3-yaml)")
        sys.exit(SKIPPED)
    Alerts.root = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
