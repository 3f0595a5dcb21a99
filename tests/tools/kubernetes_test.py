#!/usr/bin/env python3
"""The manifests of packaging/kubernetes hold, without a cluster: kubernetes_test.py SEMEL ROOT

Every field is one of the Kubernetes API (the part of it that they use is written down below), of its type, and none that is
needed is missing; names that point at something find it (labels, ports, volumes, services); `semel check` takes the
configuration. Skipped without PyYAML (python3-yaml).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

SKIPPED = 77


class Map(dict):
    """An object of these fields; a name that ends in ! is needed."""


TEXT, NUMBER, TRUTH = str, int, bool
TEXTS = {TEXT: TEXT}  # any names
PORT = (TEXT, NUMBER)
PROBE = Map({"httpGet!": Map({"path!": TEXT, "port!": PORT}), "periodSeconds": NUMBER, "failureThreshold": NUMBER})
CONTAINER = Map({
    "name!": TEXT, "image!": TEXT, "args": [TEXT], "command": [TEXT],
    "envFrom": [Map({"secretRef!": Map({"name!": TEXT})})],
    "ports": [Map({"name": TEXT, "containerPort!": NUMBER})],
    "lifecycle": Map({"preStop": Map({"exec": Map({"command!": [TEXT]})})}),
    "readinessProbe": PROBE, "livenessProbe": PROBE,
    "resources": Map({"requests": TEXTS, "limits": TEXTS}),
    "securityContext": Map({"runAsNonRoot": TRUTH, "runAsUser": NUMBER, "readOnlyRootFilesystem": TRUTH,
                            "allowPrivilegeEscalation": TRUTH, "capabilities": Map({"drop": [TEXT], "add": [TEXT]}),
                            "seccompProfile": Map({"type!": TEXT})}),
    "volumeMounts": [Map({"name!": TEXT, "mountPath!": TEXT, "readOnly": TRUTH})]})
POD = Map({"terminationGracePeriodSeconds": NUMBER, "initContainers": [CONTAINER], "containers!": [CONTAINER],
           "securityContext": Map({"fsGroup": NUMBER}),
           "volumes": [Map({"name!": TEXT, "configMap": Map({"name!": TEXT})})]})
PODS = {"replicas": NUMBER, "selector!": Map({"matchLabels!": TEXTS}),
        "template!": Map({"metadata!": Map({"labels!": TEXTS}), "spec!": POD})}
CLAIM = Map({"metadata!": Map({"name!": TEXT}),
             "spec!": Map({"accessModes!": [TEXT], "resources!": Map({"requests!": TEXTS})})})
PATH = Map({"path!": TEXT, "pathType!": TEXT,
            "backend!": Map({"service!": Map({"name!": TEXT, "port!": Map({"name": TEXT, "number": NUMBER})})})})
KINDS = {
    ("v1", "ConfigMap"): {"data!": TEXTS},
    ("v1", "Service"): {"spec!": Map({"selector!": TEXTS,
                                      "ports!": [Map({"name": TEXT, "port!": NUMBER, "targetPort": PORT})]})},
    ("apps/v1", "Deployment"): {"spec!": Map(PODS)},
    ("apps/v1", "StatefulSet"): {"spec!": Map({**PODS, "serviceName!": TEXT, "volumeClaimTemplates": [CLAIM]})},
    ("networking.k8s.io/v1", "Ingress"): {"spec!": Map({
        "tls": [Map({"hosts!": [TEXT], "secretName": TEXT})],
        "rules!": [Map({"host": TEXT, "http!": Map({"paths!": [PATH]})})]})},
}
HEAD = {"apiVersion!": TEXT, "kind!": TEXT, "metadata!": Map({"name!": TEXT, "labels": TEXTS})}


def faults(value, form, where):
    """What is wrong with a value; nothing if it has the form."""
    if isinstance(form, Map):
        known = {name.rstrip("!"): (below, name.endswith("!")) for name, below in form.items()}
        if not isinstance(value, dict):
            return [f"{where} is no object"]
        found = [f"{where}.{name} is no field of the API" for name in value if name not in known]
        found += [f"{where}.{name} is missing" for name, (_, needed) in known.items() if needed and name not in value]
        return found + [fault for name, below in value.items() if name in known
                        for fault in faults(below, known[name][0], f"{where}.{name}")]
    if isinstance(form, list):
        if not isinstance(value, list) or not value:
            return [f"{where} is no list"]
        return [fault for number, below in enumerate(value) for fault in faults(below, form[0], f"{where}[{number}]")]
    if isinstance(form, dict):
        return [f"{where}.{name} is no text" for name, below in value.items() if not isinstance(below, str)]
    forms = form if isinstance(form, tuple) else (form,)
    return [] if type(value) in forms else [f"{where} is {value!r}"]


def objects(path):
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def all_faults(made):
    found = []
    for thing in made:
        form = KINDS.get((thing.get("apiVersion"), thing.get("kind")))
        found += faults(thing, Map({**HEAD, **form}), thing["kind"]) if form else [f"{thing.get('kind')} is not known"]
    return found


class Manifests(unittest.TestCase):
    binary = root = None

    def files(self):
        found = sorted((self.root / "packaging/kubernetes").glob("*.yaml"))
        self.assertEqual([path.name for path in found], ["ingress.yaml", "sidecar.yaml"])
        return {path.name: objects(path) for path in found}

    def test_every_field_is_of_the_api(self):
        for name, made in self.files().items():
            self.assertEqual(all_faults(made), [], name)

    def test_the_check_sees_faults(self):
        """Each small damage is noticed, or the test above says nothing."""
        text = (self.root / "packaging/kubernetes/sidecar.yaml").read_text(encoding="utf-8")
        for before, after in (("readinessProbe", "readynessProbe"), ("replicas: 3", 'replicas: "3"'), ("kind: Service", "kind: Servis"),
                              ("containerPort: 8080", "port: 8080"), ("runAsNonRoot: true", "runAsNonRoot: yes please"),
                              ("  selector:\n    matchLabels", "  labels:\n    matchLabels")):
            self.assertIn(before, text)
            self.assertNotEqual(all_faults(list(yaml.safe_load_all(text.replace(before, after, 1)))), [], after)

    def test_names_find_what_they_name(self):
        """Selectors their pods, ports their containers, mounts their volumes, the ingress its service."""
        for name, made in self.files().items():
            kinds = {}
            for thing in made:
                kinds.setdefault(thing["kind"], []).append(thing)
            services = {thing["metadata"]["name"]: thing["spec"] for thing in kinds["Service"]}
            maps = {thing["metadata"]["name"] for thing in kinds["ConfigMap"]}
            for owner in kinds.get("Deployment", []) + kinds.get("StatefulSet", []):
                spec = owner["spec"]
                labels, pod = spec["template"]["metadata"]["labels"], spec["template"]["spec"]
                self.assertEqual(spec["selector"]["matchLabels"], labels, name)
                volumes = {volume["name"] for volume in pod["volumes"]}
                volumes |= {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", ())}
                self.assertLessEqual({volume["configMap"]["name"] for volume in pod["volumes"]}, maps)
                ports = set()
                for container in pod.get("initContainers", []) + pod["containers"]:
                    self.assertLessEqual({mount["name"] for mount in container.get("volumeMounts", ())}, volumes)
                    own = {port["name"] for port in container.get("ports", ())}
                    for probe in ("readinessProbe", "livenessProbe"):
                        if probe in container:
                            self.assertIn(container[probe]["httpGet"]["port"], own)
                    ports |= own
                for service in services.values():
                    self.assertEqual(service["selector"], labels, name)
                    self.assertLessEqual({port["targetPort"] for port in service["ports"]}, ports)
            for ingress in kinds.get("Ingress", ()):
                for rule in ingress["spec"]["rules"]:
                    for path in rule["http"]["paths"]:
                        target = path["backend"]["service"]
                        self.assertIn(target["port"]["name"], {port["name"] for port in services[target["name"]]["ports"]})

    def test_semel_takes_the_configuration(self):
        """As it stands in each ConfigMap, with the variables of the Secret."""
        environment = {**os.environ, "DATABASE_URL": "postgres://semel@db/semel", "SEMEL_ADMIN_TOKEN": "t" * 32}
        for name, made in self.files().items():
            text = next(thing["data"]["semel.toml"] for thing in made if thing["kind"] == "ConfigMap")
            with tempfile.TemporaryDirectory(prefix="semel-kubernetes-") as folder:
                path = pathlib.Path(folder) / "semel.toml"
                path.write_text(text.replace("/var/lib/semel", folder), encoding="utf-8")
                done = subprocess.run([self.binary, "check", path], capture_output=True, text=True, check=False,
                                      env=environment)
                self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    if yaml is None:
        print("skipped: PyYAML is not there (Debian: python3-yaml)")
        sys.exit(SKIPPED)
    Manifests.binary = sys.argv[1]
    Manifests.root = pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
