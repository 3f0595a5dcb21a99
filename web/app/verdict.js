// What is wrong, in the order in which somebody should look: the sentences at the top of the first page. Pure.
//
// The thresholds are those of packaging/prometheus/semel.rules.yml where there is one.
import { bytes, count, duration, figure } from "./format.js";
import { ofOutboxes } from "./outbox_rules.js";
import { lagOf } from "./webhook_rules.js";

const FIVE = 5 * 60_000,
  TEN = 10 * 60_000,
  FIFTEEN = 15 * 60_000;
const SLOW_MS = 100;

// How many of a series there were in the last `span` milliseconds.
export function lately(now, name, span) {
  const end = now.times[now.times.length - 1];
  return now.series[name].reduce((sum, each, at) => (now.times[at + 1] > end - span ? sum + each : sum), 0);
}

// The middle of the measured values of that time; null if there are none.
export function typically(now, name, span) {
  const end = now.times[now.times.length - 1];
  const values = now.series[name].filter((each, at) => each !== null && now.times[at + 1] > end - span).sort((a, b) => a - b);
  return values.length ? values[Math.floor(values.length / 2)] : null;
}

// Per second, in the last full minute or what there is of it.
export function rate(now, name, span = 60_000) {
  const end = now.times[now.times.length - 1];
  const first = now.times.findIndex((time) => time > end - span - 5_000);
  const seconds = (end - now.times[Math.max(0, first)]) / 1000;
  return seconds > 0 ? lately(now, name, end - now.times[Math.max(0, first)]) / seconds : null;
}

const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

function ofReadiness(ready) {
  if (!ready || ready.ready) return [];
  if (ready.draining) {
    return [
      {
        level: "amber",
        what: "This gateway is draining",
        why: "It was told to stop. It finishes what runs and takes nothing new.",
      },
    ];
  }
  const found = [];
  if (ready.store && ready.store !== "writable")
    found.push({ level: "red", what: "No key can be written", why: ready.store, link: "#/config?find=store", go: "Which store" });
  for (const [name, state] of Object.entries(upstreamsOf(ready))) {
    if (state !== "reachable")
      found.push({
        level: "red",
        what: name ? `Upstream ${name} cannot be reached` : "An upstream cannot be reached",
        why: state,
        link: "#/config?find=upstream",
        go: "Which one",
      });
  }
  return found;
}

// One text for all of them, or one for each by name.
function upstreamsOf(ready) {
  if (ready.upstreams && typeof ready.upstreams === "object") {
    const entries = Array.isArray(ready.upstreams)
      ? ready.upstreams.map((each) => [each.name, each])
      : Object.entries(ready.upstreams);
    return Object.fromEntries(
      entries.map(([name, each]) => [
        name,
        typeof each === "string" ? each : each.reachable ? "reachable" : each.detail || each.trouble || "no connection",
      ]),
    );
  }
  return { "": ready.upstreams ?? "reachable" };
}

function ofDoubt(doubt, at) {
  if (!doubt || doubt.items.length === 0) return [];
  const oldest = Math.min(...doubt.items.map((item) => Date.parse(item.claimed_at)));
  const number = doubt.items.length,
    more = !doubt.complete;
  const what = `${more ? `${count(number)}+` : count(number)} ${number === 1 && !more ? "key is" : "keys are"} in doubt`;
  return [
    {
      level: "red",
      what,
      link: "#/doubt",
      go: "Settle them",
      why: `Nobody knows whether ${number === 1 ? "it" : "they"} took effect; retries hear 409. The oldest has waited for ${duration(at - oldest)}.`,
    },
  ];
}

function ofStore(now) {
  const found = [];
  const errors = lately(now, "store_errors", FIVE);
  if (errors > 0) {
    found.push({
      level: "red",
      what: "The store does not answer",
      link: "#/tail?outcome=store-unavailable",
      go: "Watch them",
      why: `${plural(errors, "request was", "requests were")} refused with 503 in the last 5 minutes.`,
    });
  }
  const corrupt = lately(now, "corrupt", FIFTEEN);
  if (corrupt > 0) {
    found.push({
      level: "red",
      what: "A stored answer cannot be read",
      link: "#/tail?outcome=record-corrupt",
      go: "Watch them",
      why: "It is damaged, was altered, or no key of store.encryption_keys opens it. Its key stays blocked.",
    });
  }
  const slow = typically(now, "commit_p99_ms", TEN);
  if (slow !== null && slow > SLOW_MS) {
    found.push({
      level: "amber",
      what: "Making keys durable is slow",
      link: "#/config?find=store",
      go: "Which store",
      why: `99 % of commits take up to ${figure(slow)} ms, and each first run waits for two. Look at the disk or the database.`,
    });
  }
  const { free_bytes: free, free_bytes_min: least } = now.store;
  if (free !== undefined && free < 4 * least) {
    const full = free < least;
    found.push({
      level: full ? "red" : "amber",
      what: full ? "The disk is full" : "The disk is nearly full",
      link: "#/config?find=store",
      go: "Which folder",
      why: `${bytes(free)} are free; below ${bytes(least)} new requests are refused.`,
    });
  }
  return found;
}

function ofTraffic(now) {
  const found = [];
  const unreachable = lately(now, "unreachable", FIVE);
  if (unreachable > 0) {
    found.push({
      level: "red",
      what: "A service cannot be reached",
      link: "#/tail?outcome=upstream-unreachable",
      go: "Watch them",
      why: `${plural(unreachable, "request", "requests")} got 502 in the last 5 minutes. Nothing was sent, so callers may retry.`,
    });
  }
  const signatures = lately(now, "signatures", TEN);
  if (signatures > 0) {
    found.push({
      level: "amber",
      what: `${plural(signatures, "delivery", "deliveries")} with a signature that does not hold`,
      link: "#/webhooks",
      go: "See which",
      why: "In the last 10 minutes: a wrong secret, a wrong clock, or somebody who tries.",
    });
  }
  const reused = lately(now, "reused", TEN);
  if (reused > 60) {
    found.push({
      level: "amber",
      what: "A client reuses keys",
      link: "#/doctor",
      go: "Which one",
      why: `${plural(reused, "request", "requests")} got 422 in the last 10 minutes: another body under the same key.`,
    });
  }
  const away = lately(now, "turned_away", TEN);
  if (away > 0)
    found.push({
      level: "amber",
      what: "Connections are turned away",
      link: "#/config?find=connections",
      go: "Which limits",
      why: `${count(away)} in the last 10 minutes: limits.connections or connections_per_ip is reached.`,
    });
  const limited = lately(now, "limited", TEN);
  if (limited > 0)
    found.push({
      level: "amber",
      what: "Callers are over a rate or a quota",
      link: "#/tail?status=429",
      go: "Watch them",
      why: `${plural(limited, "request", "requests")} got 429 in the last 10 minutes.`,
    });
  return found;
}

function ofInbox(destinations) {
  const found = [];
  for (const each of destinations ?? []) {
    const add = (level, what, why) => found.push({ level, what, why, link: "#/inbox", go: "See why" });
    const { dead = 0, unknown = 0, waiting = 0 } = each.states;
    if (dead > 0) {
      add("red", `${plural(dead, "delivery", "deliveries")} to ${each.name} will not be tried again`,
        "They are dead letters: remove their cause, then send them again.");
    }
    if (unknown > 0) add("red", `${plural(unknown, "delivery", "deliveries")} to ${each.name} may have taken effect`, "Nobody knows: somebody has to say so.");
    if (each.breaker !== "closed") add("red", `${each.name} does not answer`, `Its breaker is ${each.breaker}; ${plural(waiting, "delivery waits", "deliveries wait")}.`);
    if (each.paused) add("amber", `${each.name} is paused`, `${each.reason || "By an operator"}; ${plural(waiting, "delivery waits", "deliveries wait")}.`);
  }
  return found;
}

// Events that their provider may give up before they are handled.
function ofWebhooks(webhooks, at) {
  return (webhooks ?? [])
    .filter((each) => each.awaited.count > 0)
    .map((each) => ({ ...lagOf(each, at), path: each.path }))
    .filter(({ level }) => level === "red" || level === "amber")
    .map(({ level, words, path }) => ({ level, what: `Events to ${path} are not handled`, why: words, link: "#/webhooks", go: "See which" }));
}

// Effects that happened twice, and audits that cannot see whether they did. `findings` are those that nobody has closed.
function ofAudits({ audits = [], findings = [] }) {
  const found = audits
    .filter((each) => each.blind)
    .map(({ name }) => ({
      level: "red",
      what: `The audit ${name} is blind`,
      why: "It does not see what is planted in it, so nothing that it says counts.",
      link: "#/duplicates",
    }));
  const doubled = findings.filter((each) => each.kind === "duplicate" && each.state === "open").length;
  if (doubled) {
    found.unshift({
      level: "red",
      what: `${plural(doubled, "key has", "keys have")} two effects`,
      why: "An audit found them in the tables of the business. It should be none.",
      link: "#/duplicates",
      go: "See which",
    });
  }
  return found;
}

// Everything that somebody should know, the worst first. `now` is /v1/now; the others may be missing.
export function verdict({ now, doubt = null, ready = null, destinations = null, webhooks = null, outboxes = null, audited = null }) {
  const at = now.times[now.times.length - 1];
  const found = [...ofReadiness(ready), ...ofAudits(audited ?? {}), ...ofDoubt(doubt, at), ...ofStore(now), ...ofTraffic(now)];
  found.push(...ofWebhooks(webhooks, at), ...ofOutboxes(outboxes), ...ofInbox(destinations));
  return found.sort((a, b) => (a.level === b.level ? 0 : a.level === "red" ? -1 : 1));
}
