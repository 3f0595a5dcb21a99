#!/usr/bin/env python3
"""A stranger with one captured delivery of each provider, at a gateway with a route for everything: captures.py --binary SEMEL

The deliveries are those of tests/webhook/deliveries.txt, signed anew by `semel sign`. Whatever is done to one that was
handled (each header dropped, repeated, renamed, moved, forged; another method, path, query, content type, body), nothing
reaches the service, unless the table that `semel providers list --markdown` prints says so. Providers whose keys are
fetched are in tests/webhook/tampering_test.cc only.
"""
import base64
import collections
import dataclasses
import json
import pathlib
import re
import subprocess
import threading
import time

import harness
import server
import wire

FILES = pathlib.Path(__file__).resolve().parents[2]
FETCHED = {"paypal", "aws-sns", "plaid", "google-pubsub"}
PUBLIC_URL = "https://gw.example.com"

SPELLINGS = ("/hooks/{}/", "/hooks//{}", "/Hooks/{}", "/hooks/{}.json", "/hooks/{}/x", "/hooks/{};x=1", "/hooks/{}%20",
             "/hooks/{}%00", "/hooks/{}.", "/index.php/hooks/{}", "/./hooks/{}", "/x/../hooks/{}", "/hooks/%2e/{}",
             "/hooks%2f{}", "/hooks\\{}", "/%68ooks/{}", "/hooks/{}%2500", "//hooks/{}", "/hooks/{}%3fx=1", "/hooks/{}#x")
METHODS = ("PUT", "GET", "HEAD", "OPTIONS", "PATCH", "DELETE", "post", "QUERY")
CONTENT_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "application/json; charset=utf-16", "application/cloudevents+json", "")


@dataclasses.dataclass
class Delivery:
    target: str
    fields: list
    body: bytes
    method: str = "POST"

    def but(self, **changes):
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass
class Provider:
    name: str
    secret: str
    content_type: str
    body: str
    fields: list  # that name the event, or are the sender's own

    @property
    def path(self):
        return f"/hooks/{self.name}"


def providers():
    """One of each, from deliveries.txt."""
    found = {}
    entry = None
    for line in (FILES / "tests/webhook/deliveries.txt").read_text(encoding="utf-8").splitlines():
        word, _, rest = line.partition(" ")
        if word == "==":
            name = rest.split(" ")[0]
            wanted = name not in found or rest == name or rest.endswith(("(with an id)", "(signing token)"))
            entry = Provider(name, "", "application/json", "", []) if wanted else None
            if entry and name not in FETCHED:
                found[name] = entry
        elif entry is None:
            continue
        elif word == "secret":
            entry.secret = rest
        elif word == "signature":
            entry.body = entry.body or rest  # until the body is there
        elif word == "field":
            field, _, value = rest.partition(": ")
            if field == "Content-Type":
                entry.content_type = value
            elif re.search(r"(?i)-id$|-uuid$|topic|event$|^ce-", field):
                entry.fields.append((field, value))
        elif word == "body":
            entry.body = rest.replace("\\r", "\r").replace("\\n", "\n").replace(entry.body, "{signature}")
    return found


def with_number(text, number):
    """Another event of the same kind: every id, and whatever else may name it, has the number."""
    text = re.sub(r'("(?:id|event_id|eventId|sg_event_id|uuid|log_id|pspReference|created_at|createdAt|updated_at|MessageID|'
                  r'event_ts|uri|envelopeId|eventType)"\s*:\s*")([^"]*)"', rf'\g<1>\g<2>-{number}"', text)
    return re.sub(r"MessageSid=\w+", f"MessageSid=SM{number}", text)


class Captures(harness.Case):
    def setUp(self):
        super().setUp()
        self.arrived = collections.Counter()
        self.bodies = collections.defaultdict(list)
        self.lock = threading.Lock()
        self.shelf = server.Server(server.replies(self.handle))
        self.addCleanup(self.shelf.close)
        self.table = self.run_semel("providers", "list", "--markdown").stdout

    def handle(self, request):
        with self.lock:
            self.arrived["all"] += 1
            self.bodies[request.target.split("?")[0]].append(request.body)
        return server.Reply(200, [], b"done")

    def believed(self, name):
        """Headers, in small letters, that name the event although nobody signs them; None if anything can be made up."""
        row = [line for line in self.table.splitlines() if line.startswith(f"| `{name}` |")][-1]
        can = row.rsplit("|", 2)[1]
        if "make up any event" in can.split("; or ")[0] or can.strip() == "have it handled again":
            return None
        return {header.lower() for header in re.findall(r"\{header:([^}]+)\}", can)}

    def known_headers(self, name):
        text = (FILES / "providers" / f"{name}.toml").read_text(encoding="utf-8")
        return sorted({header.rstrip("?") for header in re.findall(r"\{header:([^}]+)\}", text)})

    def known_queries(self, name):
        text = (FILES / "providers" / f"{name}.toml").read_text(encoding="utf-8")
        return sorted({query.rstrip("?") for query in re.findall(r"\{query:([^}]+)\}", text)})

    def keys(self, folder):
        """Private keys in PEM and the public ones as their providers show them, for those that sign with them."""
        made = {}
        for kind, options in (("ed25519", ("-algorithm", "ed25519")),
                              ("p256", ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))):
            path = folder / f"{kind}.pem"
            self.assertEqual(harness.programs.run("openssl", "genpkey", *options, "-out", str(path)).returncode, 0)
            public = harness.programs.run("openssl", "pkey", "-in", str(path), "-pubout").stdout
            made[kind] = (path, "".join(public.splitlines()[1:-1]))
        return made

    def signed(self, provider, number, private):
        """A delivery of this provider, as of now."""
        body = with_number(provider.body, number)
        now = int(time.time())
        stamps = {"mailgun": (r'"timestamp"\s*:\s*"\d+"', f'"timestamp":"{now}"'),
                  "linear": (r'"webhookTimestamp"\s*:\s*\d+', f'"webhookTimestamp":{now * 1000}'),
                  "dropbox-sign": (r'"event_time"\s*:\s*"\d+"', f'"event_time":"{now}"')}
        if provider.name in stamps:
            body = re.sub(*stamps[provider.name], body)
        if provider.name == "dropbox-sign":
            body = body[body.index("{"):body.rindex("}") + 1]
        if provider.name == "braintree":
            body = "PG5vdGlmaWNhdGlvbj4K"[:16] + f"{number:04d}"
        words = ["sign", provider.name, "--secret", f"file:{private}" if private else provider.secret, "--body", body,
                 "--content-type", provider.content_type, "--url", f"http://127.0.0.1{provider.path}", "--public-url", PUBLIC_URL,
                 "--id", f"msg-{number}"]
        for name, value in provider.fields:
            words += ["--header", f"{name}: {value}-{number}" if re.search("(?i)id$", name) else f"{name}: {value}"]
        done = subprocess.run([self.binary, *words], capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, (provider.name, done.stderr))
        head, _, signed = done.stdout.partition(b"\n\n")
        first, *lines = head.decode().split("\n")
        return Delivery(first.split(" ")[1], [tuple(line.split(": ", 1)) for line in lines], signed)

    def acts(self, name, one):
        """What is done, to which parts, and the delivery that comes of it."""
        known = self.known_headers(name)
        for i, (field, value) in enumerate(one.fields):
            rest = one.fields[:i] + one.fields[i + 1:]
            yield f"without {field}", {field}, one.but(fields=rest)
            yield f"{field} twice", {field}, one.but(fields=one.fields + [(field, value)])
            yield f"{field} first", set(), one.but(fields=[(field, value)] + rest)
            for other in ("forged", "", value + "1", value + ",forged", "4070908800"):
                yield f"{field}: {other}", {field}, one.but(fields=rest + [(field, other)])
                yield f"{field} and {other}", {field}, one.but(fields=one.fields + [(field, other)])
                yield f"{other} and {field}", {field}, one.but(fields=[(field, other)] + one.fields)
            for other in [*known, "renamed", field.replace("-", "_"), f"X-{field}"]:
                if other.lower() != field.lower():
                    yield f"{field} as {other}", {field, other}, one.but(fields=rest + [(other, value)])
                    yield f"{field} also as {other}", {other}, one.but(fields=one.fields + [(other, value)])
        for field in [*known, "X-Other", "Content-Encoding", "X-HTTP-Method-Override", "X-Original-URL"]:
            yield f"with {field}", {field}, one.but(fields=one.fields + [(field, "forged")])
        for method in METHODS:
            yield method, {"{method}"}, one.but(method=method)
        for spelling in SPELLINGS:
            yield spelling, {"{path}"}, one.but(target=spelling.format(name) + one.target[len(f"/hooks/{name}"):])
        yield "an absolute target", {"{host}"}, one.but(target="http://other.example.com" + one.target)
        yield "another host", {"{host}"}, one.but(fields=[("Host", "other.example.com")] + one.fields)
        mark = "&" if "?" in one.target else "?"
        for query in ["x=1", "", *(f"{query}=forged" for query in self.known_queries(name))]:
            yield f"query {query}", {"{query}"}, one.but(target=one.target + mark + query)
        if "?" in one.target:
            yield "no query", {"{query}"}, one.but(target=one.target.split("?")[0])
        others = [field for field in one.fields if field[0].lower() != "content-type"]
        for kind in CONTENT_TYPES:
            yield f"type {kind}", {"content-type"}, one.but(fields=others + [("Content-Type", kind)])
        for body in (b"", one.body + b" ", b" " + one.body, one.body + b"\n", one.body + b"&x=1", b"\xef\xbb\xbf" + one.body,
                     one.body + one.body, b"[" + one.body + b"]", one.body.replace(b"{", b'{"id":"forged",', 1),
                     one.body.replace(b"{", b'{"x":1,', 1), one.body.replace(b"[", b"[{},", 1)):
            if body != one.body:
                yield f"body {body[:20]}", {"{body}"}, one.but(body=body)

    def send(self, semel, client, one):
        """On a connection that is made again where it was closed; the connection and the status."""
        client = client or semel.connect(seconds=30)
        try:
            client.request(one.method, one.target.replace(" ", "%20"), one.fields, one.body)
            reply = client.reply(one.method)
        except (wire.Closed, wire.Cut, OSError):
            client.close()
            return None, 0
        if reply.get("Connection") == "close":
            client.close()
            client = None
        return client, reply.status

    def start(self):
        """A gateway with a webhook of each provider and a route for everything else, and the deliveries' makers."""
        all_of_them = providers()
        config = harness.CONFIG.replace("[server]\n", f'[server]\npublic_url = "{PUBLIC_URL}"\n')
        config = config.replace('url = "http://$upstream"', 'url = "http://%s:%d"' % self.shelf.address)
        semel = self.gateway(config)
        keys = self.keys(semel.folder)
        private = {"discord": keys["ed25519"], "sendgrid": keys["p256"]}
        for provider in all_of_them.values():
            secret = provider.secret
            if provider.name == "discord":  # the last 32 bytes of the key's structure, in hexadecimal digits
                secret = base64.b64decode(keys["ed25519"][1])[-32:].hex()
            elif provider.name == "sendgrid":
                secret = keys["p256"][1]
            config += (f'\n[[webhook]]\npath = "{provider.path}"\nprovider = "{provider.name}"\n'
                       f'secrets = [{json.dumps(secret)}]\nupstream = "app"\n')
        config += '\n[[route]]\npath = "/*"\nupstream = "app"\nkey = "off"\n'
        semel.write_config(config)
        return semel, all_of_them, {name: path for name, (path, _) in private.items()}

    def test_nothing_reaches_the_service_twice(self):
        """Neither a handled delivery in any disguise, nor an unhandled one by another path."""
        semel, all_of_them, private = self.start()
        tried, wrong = 0, []
        with semel:
            for number, (name, provider) in enumerate(sorted(all_of_them.items())):
                one = self.signed(provider, number, private.get(name))
                client, status = self.send(semel, None, one)
                self.assertEqual((status, len(self.bodies[provider.path])), (200, 1), name)
                believed = self.believed(name)
                for what, touched, other in self.acts(name, one):
                    tried += 1
                    before = self.arrived["all"]
                    client, status = self.send(semel, client, other)
                    said = believed is None or {each.lower() for each in touched} & believed
                    if self.arrived["all"] > before and (not said or "{path}" in touched):
                        wrong.append((name, what, status))
                client, status = self.send(semel, client, one)
                self.assertIn(status, (200, 204), name)
                client and client.close()
        print(f"{tried} acts on {len(all_of_them)} deliveries")
        self.assertEqual(wrong, [])
        self.assertGreater(tried, 5000)

    def test_a_delivery_in_anothers_clothes_does_not_take_its_place(self):
        """One delivery with a header, the query or the body of another: the other one is handled all the same. Where an
        unsigned header names the event, it may be refused, but it is not acknowledged without its handler."""
        semel, all_of_them, private = self.start()
        lost, refused = [], set()
        with semel:
            for number, (name, provider) in enumerate(sorted(all_of_them.items())):
                if self.believed(name) is None:
                    continue
                one = self.signed(provider, 1000 + number, private.get(name))
                other = self.signed(provider, 2000 + number, private.get(name))
                mixed = [one.but(body=other.body), one.but(target=other.target)]
                for i, (field, value) in enumerate(one.fields):
                    theirs = dict(other.fields).get(field, value)
                    mixed.append(one.but(fields=one.fields[:i] + [(field, theirs)] + one.fields[i + 1:]))
                    mixed.append(one.but(fields=[(field, theirs)] + one.fields))
                    mixed.append(one.but(fields=one.fields + [(field, theirs)]))
                client = None
                for each in mixed:
                    if (each.fields, each.body) != (other.fields, other.body):
                        client, _ = self.send(semel, client, each)
                client, status = self.send(semel, client, other)
                client and client.close()
                handled = status == 200 and other.body in self.bodies[provider.path]
                if self.believed(name) and status == 422:
                    refused.add(name)
                elif not handled:
                    lost.append((name, status))
        self.assertEqual(lost, [])
        self.assertIn("github", refused)


if __name__ == "__main__":
    harness.run()
