// The rules of the dashboard that need no browser: how values are written, what /metrics says, and what counts as wrong.
import assert from "node:assert/strict";
import test from "node:test";
import { bodyText, bytes, clock, duration, figure, moment, parse, share, upright, utf8 } from "../../web/app/format.js";
import { parseMetrics, quantileOf, total, valuesOf } from "../../web/app/metrics.js";
import { attemptSaid, attemptsOf, cameWith, grouped, jobEnds, jobIsOver, jobLine, jobScope, lastAnswer, preflight, replayOf, whyNotYet } from "../../web/app/inbox_rules.js";
import { lately, rate, typically, verdict } from "../../web/app/verdict.js";
import { deadWords, ofOutboxes, standingOf } from "../../web/app/outbox_rules.js";
import { adviceOnSecrets, lagOf } from "../../web/app/webhook_rules.js";

test("durations have at most two units", () => {
  const cases = [
    [0, "0 ms"],
    [999, "999 ms"],
    [1400, "1.4 s"],
    [59_000, "59 s"],
    [60_000, "1 min"],
    [74_000, "1 min 14 s"],
    [3_600_000, "1 h"],
    [5_400_000, "1 h 30 min"],
    [90_061_000, "1 d 1 h"],
    [-5000, "−5.0 s"],
    [null, "–"],
  ];
  for (const [ms, text] of cases) assert.equal(duration(ms), text);
});

test("numbers have the digits that matter", () => {
  assert.deepEqual([0, 0.0421, 3.14159, 41.26, 1250.7].map(figure), ["0", "0.042", "3.14", "41.3", "1,251"]);
  assert.deepEqual([0, 1023, 1536, 53e9].map(bytes), ["0 B", "1,023 B", "1.5 KiB", "49.4 GiB"]);
  assert.deepEqual([share(1, 40), share(1, 0)], ["2.5 %", "–"]);
});

test("times are those of the zone, with the day unless it is today", () => {
  const at = Date.UTC(2026, 10, 17, 23, 30, 5);
  assert.equal(clock(at, "UTC"), "23:30:05");
  assert.equal(moment(at, at + 60_000, "UTC"), "23:30:05");
  assert.equal(moment(at, at + 3_600_000, "UTC"), "17 Nov 2026, 23:30:05");
  assert.equal(moment(at, at + 3_600_000, "Europe/Berlin"), "00:30:05");
});

test("bodies are JSON, text or bytes", () => {
  const of = (text) => bodyText(Buffer.from(text, "latin1").toString("base64"));
  assert.deepEqual(of('{"a":1}'), { kind: "JSON", text: '{\n  "a": 1\n}' });
  assert.deepEqual(of('{ "n": 12345678901234567890.10, "n": [], "s": "a{,:\\"" }').text,
    '{\n  "n": 12345678901234567890.10,\n  "n": [],\n  "s": "a{,:\\""\n}', "digits and doubles stay");
  assert.deepEqual(of("<b>"), { kind: "text", text: "<b>" });
  assert.deepEqual(of("\xff\x00"), { kind: "bytes", text: "000000  ff 00" });
});

test("bytes that the gateway wrote one by one are read as UTF-8", () => {
  assert.equal(utf8("Zo\u00c3\u00ab"), "Zoë");
  assert.equal(utf8("Zo\u00eb"), "Zo\u00eb", "which is not UTF-8");
  assert.equal(utf8("→ \u00c3"), "→ \u00c3");
  assert.deepEqual(parse('{"who":"Zo\\u00c3\\u00ab","n":[1]}'), { who: "Zoë", n: [1] });
});

test("what would turn the writing around is shown as an escape", () => {
  assert.equal(upright("a\u202egnp.exe \u2066x\u2069 \u05d0\u00fc"), "a\\u202egnp.exe \\u2066x\\u2069 \u05d0\u00fc");
  const part = { type: "b" };
  assert.deepEqual(upright(["\u200f", ["\u061c"], part, 7, null]), ["\\u200f", ["\\u061c"], part, 7, null]);
});

const TEXT = `# HELP x y
semel_requests_total{route="/v1/*",outcome="ran"} 7
semel_requests_total{route="/v1/*",outcome="replayed"} 3
semel_requests_total{route="/a\\"b\\\\",outcome="ran"} 1
semel_in_flight 2
h_bucket{route="x",le="0.1"} 50
h_bucket{route="x",le="1"} 100
h_bucket{route="x",le="+Inf"} 100
`;

test("the text of /metrics", () => {
  const samples = parseMetrics(TEXT);
  assert.equal(total(samples, "semel_requests_total", { outcome: "ran" }), 8);
  assert.equal(total(samples, "semel_in_flight"), 2);
  assert.deepEqual(valuesOf(samples, "semel_requests_total", "route"), ["/v1/*", '/a"b\\']);
  assert.equal(quantileOf(samples, "h", { route: "x" }, 0.5), 0.1);
  assert.ok(Math.abs(quantileOf(samples, "h", { route: "x" }, 0.99) - 0.982) < 1e-9);
  assert.equal(quantileOf(samples, "h", { route: "none" }, 0.5), null);
});

const NAMES = [
  "requests",
  "ran",
  "replayed",
  "unknown",
  "refused",
  "in_flight",
  "reused",
  "held",
  "unreachable",
  "signatures",
  "corrupt",
  "limited",
  "store_errors",
  "turned_away",
  "commit_p99_ms",
  "claim_p99_ms",
  "upstream_p99_ms",
];

// An hour in which nothing happened, but for what is changed.
function hour(changes = {}) {
  const end = Date.UTC(2026, 10, 17, 3, 0, 0);
  const times = Array.from({ length: 361 }, (_, at) => end - (360 - at) * 10_000);
  const series = Object.fromEntries(NAMES.map((name) => [name, Array(360).fill(name.endsWith("_ms") ? null : 0)]));
  for (const [name, [at, value]] of Object.entries(changes.series ?? {})) series[name][at] = value;
  return { times, series, store: { kind: "embedded", free_bytes: 1e12, free_bytes_min: 1e6, ...changes.store } };
}

test("sums and rates look at the end of the hour", () => {
  const now = hour({ series: { requests: [359, 60], commit_p99_ms: [358, 7] } });
  assert.equal(lately(now, "requests", 60_000), 60);
  assert.equal(lately(hour({ series: { requests: [10, 60] } }), "requests", 60_000), 0);
  assert.equal(rate(now, "requests"), 1);
  assert.equal(typically(now, "commit_p99_ms", 600_000), 7);
  assert.equal(typically(now, "upstream_p99_ms", 600_000), null);
});

test("nothing wrong, nothing said", () => {
  assert.deepEqual(verdict({ now: hour(), doubt: { items: [], complete: true }, ready: { ready: true } }), []);
});

test("each trouble is named, the worst first, and links on", () => {
  const said = (input) => verdict({ now: hour(), ...input }).map((each) => `${each.level}: ${each.what}`);
  const key = { claimed_at: "2026-11-17T02:00:00Z" };
  const [doubt] = verdict({ now: hour(), doubt: { items: [key], complete: true } });
  assert.deepEqual([doubt.what, doubt.link], ["1 key is in doubt", "#/doubt"]);
  assert.match(doubt.why, /oldest has waited for 1 h\./);
  assert.deepEqual(said({ doubt: { items: [key, key], complete: false } }), ["red: 2+ keys are in doubt"]);
  const cases = [
    [{ series: { store_errors: [359, 1] } }, "red: The store does not answer"],
    [{ series: { corrupt: [300, 1] } }, "red: A stored answer cannot be read"],
    [{ series: { unreachable: [359, 1] } }, "red: A service cannot be reached"],
    [{ series: { commit_p99_ms: [359, 200] } }, "amber: Making keys durable is slow"],
    [{ series: { signatures: [359, 2] } }, "amber: 2 deliveries with a signature that does not hold"],
    [{ series: { reused: [359, 61] } }, "amber: A client reuses keys"],
    [{ series: { turned_away: [359, 1] } }, "amber: Connections are turned away"],
    [{ series: { limited: [359, 1] } }, "amber: Callers are over a rate or a quota"],
    [{ store: { free_bytes: 3e6 } }, "amber: The disk is nearly full"],
    [{ store: { free_bytes: 9e5 } }, "red: The disk is full"],
  ];
  for (const [changes, words] of cases) {
    assert.deepEqual(said({ now: hour(changes) }), [words]);
    assert.match(verdict({ now: hour(changes) })[0].link, /^#\/(config|tail|webhooks|doctor)/, "it links on");
  }
  assert.deepEqual(
    said({ now: hour({ series: { store_errors: [10, 1], unreachable: [10, 5], reused: [359, 60] } }) }),
    [],
    "long ago, or few",
  );
  assert.deepEqual(said({ now: hour({ series: { signatures: [359, 1] } }), doubt: { items: [key], complete: true } }), [
    "red: 1 key is in doubt",
    "amber: 1 delivery with a signature that does not hold",
  ]);
});

test("readiness in its own words", () => {
  const said = (ready) => verdict({ now: hour(), ready }).map((each) => [each.level, each.what, each.why]);
  assert.deepEqual(said({ ready: false, store: "the disk refused", upstreams: "reachable" }), [
    ["red", "No key can be written", "the disk refused"],
  ]);
  assert.deepEqual(said({ ready: false, store: "writable", upstreams: "app cannot be reached: refused" }), [
    ["red", "An upstream cannot be reached", "app cannot be reached: refused"],
  ]);
  assert.equal(said({ ready: false, draining: true })[0][1], "This gateway is draining");
});

const DESTINATION = {
  name: "billing",
  paused: false,
  reason: "",
  breaker: "closed",
  running: 0,
  concurrency: 8,
  states: { waiting: 3, dead: 0, unknown: 0 },
};
const DELIVERY = { destination: "billing", state: "waiting", failed: 2, in_line: false };

test("why a delivery is not there yet, in one sentence", () => {
  const now = Date.UTC(2026, 10, 17, 3, 0, 0);
  const said = (delivery, destination = {}) =>
    whyNotYet({ ...DELIVERY, ...delivery }, { ...DESTINATION, ...destination }, now, "UTC");
  assert.equal(said({}, { paused: true, reason: "deploy" }), "billing is paused until somebody resumes it: deploy.");
  assert.equal(said({}, { paused: true, paused_until: "2026-11-17T04:00:00Z" }), "billing is paused until 04:00:00.");
  assert.match(
    said({}, { breaker: "open", probe_at: "2026-11-17T03:00:30Z" }),
    /^billing does not answer\. It is tried again at 03:00:30/,
  );
  assert.equal(said({ in_line: true }), "Another event of the same object has its turn first.");
  assert.equal(said({ due_at: "2026-11-17T03:01:00Z" }), "The last of 2 attempts failed. The next one is at 03:01:00, in 1 min.");
  assert.equal(said({}, { running: 8 }), "billing is busy: 8 of 8 run.");
  assert.equal(said({}), "Its turn comes at once.");
  assert.equal(said({ state: "done" }), "");
  assert.match(said({ state: "unknown" }), /nobody knows/);
  assert.match(said({ state: "dead" }), /not be tried again by itself/);
  assert.match(said({ state: "running" }), /right now/);
  assert.equal(said({}, { rate: "10/s" }), "It is sent as soon as the rate of billing allows it: 10/s.");
  assert.match(whyNotYet(DELIVERY, null, now, "UTC"), /not in the configuration any more/);
  assert.equal(whyNotYet(DELIVERY, undefined, now, "UTC"), "Its turn comes at once.");
});

test("what an event came with, and what came of it", () => {
  const field = (name, value) => ({ name, value });
  assert.deepEqual(cameWith([field(":method", "POST"), field(":host", "h"), field(":object", ""), field(":ip", "10.0.0.1"), field("X-A", "<b>")]), [
    ["Method", "POST"],
    ["From", "10.0.0.1"],
    ["X-A", "<b>"],
  ]);
  const said = (status, why) => lastAnswer({ status, why });
  assert.deepEqual([said(400, "answered 400"), said(503, "too slow"), said(0, "refused"), said(0, "")], ["answered 400", "503 too slow", "refused", "–"]);
});

test("dead letters by why they died, and what stands in the way", () => {
  const dead = (why, more = {}) => ({ destination: "billing", status: 500, why, body_kept: true, ...more });
  const groups = grouped([dead("a"), dead("b"), dead("b"), dead("b", { destination: "crm" })]);
  assert.deepEqual(
    groups.map((group) => [group.destination, group.why, group.items.length]),
    [
      ["billing", "b", 2],
      ["billing", "a", 1],
      ["crm", "b", 1],
    ],
  );
  assert.deepEqual(preflight(groups[0], DESTINATION), []);
  assert.equal(preflight(groups[0], undefined).length, 1);
  const warned = preflight({ items: [dead("a", { body_kept: false })] }, { ...DESTINATION, paused: true, breaker: "open" });
  assert.equal(warned.length, 3);
});

test("how far a job is, and what it is about", () => {
  const job = { id: "3", action: "replay", state: "running", count: 2000, at_least: false, taken: 1200, done: 1100, dead: 0, other: 0, open: 100,
    filter: { destination: "billing", state: "dead", why: "status 500" } };
  assert.equal(jobLine(job), "Sending again: 1,200 of 2,000 sent again");
  assert.equal(jobLine({ ...job, state: "done", at_least: true }), "Ended: 1,200 of at least 2,000 sent again");
  assert.equal(jobEnds(job), "1,100 delivered, 100 on their way");
  assert.equal(jobEnds({ ...job, done: 0, open: 0 }), "");
  assert.equal(jobScope(job), "replay: dead ones to billing with “status 500”");
  assert.equal(jobIsOver(job), false);
  assert.equal(jobIsOver({ ...job, state: "cancelled" }), false);
  assert.equal(jobIsOver({ ...job, state: "done", open: 0 }), true);
  assert.deepEqual(replayOf({ destination: "billing", why: "x" }, ""), { action: "replay", filter: { destination: "billing", state: "dead", why: "x" } });
  assert.deepEqual(replayOf({ destination: "billing", why: "" }, "1/s"), { action: "replay", filter: { destination: "billing", state: "dead" }, rate: "1/s" });
});

test("destinations that are in trouble", () => {
  const said = (changes) =>
    verdict({ now: hour(), destinations: [{ ...DESTINATION, ...changes }] }).map((each) => `${each.level}: ${each.what}`);
  assert.deepEqual(said({}), []);
  assert.deepEqual(said({ states: { dead: 2 } }), ["red: 2 deliveries to billing will not be tried again"]);
  assert.deepEqual(said({ states: { unknown: 1 } }), ["red: 1 delivery to billing may have taken effect"]);
  assert.deepEqual(said({ breaker: "open" }), ["red: billing does not answer"]);
  assert.deepEqual(said({ paused: true }), ["amber: billing is paused"]);
});

const WEBHOOK = {
  path: "/hooks/stripe",
  title: "Stripe",
  horizon_ms: 3 * 86_400_000,
  awaited: { count: 0, given_up: 0, partial: false, oldest: [] },
};

test("the lag of events is held against the time for which their provider repeats them", () => {
  const now = Date.UTC(2026, 10, 17, 3, 0, 0);
  const lag = (hours, changes = {}, webhook = {}) =>
    lagOf({ ...WEBHOOK, ...webhook, awaited: { ...WEBHOOK.awaited, count: 2, oldest_at: new Date(now - hours * 3_600_000).toISOString(), ...changes } }, now);
  assert.deepEqual(lagOf(WEBHOOK, now), { level: "green", words: "No event has to come again. Stripe repeats an event for 3 d.", part: 0 });
  assert.deepEqual(lag(7.2), {
    level: "blue",
    words: "2 events were not handled, and Stripe will send them again; the oldest came first 7 h 12 min ago. It gives up after 3 d: in 2 d 16 h.",
    part: 0.1,
  });
  assert.deepEqual([lag(18).level, lag(53.9).level, lag(54).level], ["amber", "amber", "red"]);
  assert.match(lag(73, { given_up: 1 }).words, /will not send 1 of them again: have that done by hand\.$/);
  assert.equal(lag(73, { given_up: 1 }).level, "red");
  assert.match(lag(1, { partial: true, count: 4096 }).words, /^At least 4,096 events/);
  const github = lag(1, { given_up: 2 }, { title: "GitHub", horizon_ms: 0 });
  assert.deepEqual([github.level, github.part], ["amber", null]);
  assert.match(github.words, /GitHub does not repeat events by itself/);
});

test("events that a provider may give up are on the first page", () => {
  const at = Date.UTC(2026, 10, 17, 3, 0, 0);
  const said = (hours) =>
    verdict({ now: hour(), webhooks: [{ ...WEBHOOK, awaited: { ...WEBHOOK.awaited, count: 1, oldest_at: new Date(at - hours * 3_600_000).toISOString() } }] }).map(
      (each) => [each.level, each.what, each.link],
    );
  assert.deepEqual(said(1), [], "it comes again soon");
  assert.deepEqual(said(20), [["amber", "Events to /hooks/stripe are not handled", "#/webhooks"]]);
  assert.deepEqual(said(60), [["red", "Events to /hooks/stripe are not handled", "#/webhooks"]]);
});

test("what to do about secrets", () => {
  const advice = (matched, failed = []) =>
    adviceOnSecrets({ secrets: matched.map((number, at) => ({ number: at + 1, matched: number })), failed_signatures: failed });
  assert.equal(advice([5]), "");
  assert.match(advice([0, 5]), /Only the second has matched since the start: the provider has not changed over/);
  assert.match(advice([5, 0]), /the others can go/);
  assert.match(advice([1, 5]), /changing over/);
  assert.equal(advice([0]), "");
  assert.match(advice([0], [{ reason: "mismatch", count: 1 }]), /not the provider's/);
});

test("effects that happened twice come first, and a blind audit counts as wrong", () => {
  const said = (audited) => verdict({ now: hour(), audited }).map((each) => [each.level, each.what, each.link]);
  const audit = { name: "payments", blind: false };
  const finding = { audit: "payments", kind: "duplicate", state: "open" };
  assert.deepEqual(said({ audits: [audit], findings: [] }), []);
  assert.deepEqual(said({ audits: [audit], findings: [{ ...finding, state: "acknowledged" }, { ...finding, kind: "orphan" }] }), []);
  assert.deepEqual(said({ audits: [{ ...audit, blind: true }], findings: [finding] }), [
    ["red", "1 key has two effects", "#/duplicates"],
    ["red", "The audit payments is blind", "#/duplicates"],
  ]);
});

test("attempts are shown the newest first, and those that nobody noted have a row, too", () => {
  const noted = (attempt, destination = "app") => ({ attempt, destination, status: 503, why: "answered 503", state: "waiting", ms: 3 });
  const delivery = { destination: "app", attempt: 4, state: "running" };
  const { rows, earlier } = attemptsOf(delivery, [noted(1), noted(3), noted(2, "other")]);
  assert.deepEqual(rows.map((each) => [each.attempt, each.missing]), [[4, "running"], [3, undefined], [2, "unnoted"], [1, undefined]]);
  assert.deepEqual(rows.map(attemptSaid).slice(0, 3), ["under way", "answered 503", "not noted: its gateway died, or there were too many in that second"]);
  assert.equal(earlier, 0);
  assert.deepEqual(attemptsOf({ destination: "app", attempt: 0, state: "waiting" }, []), { rows: [], earlier: 0 });
  const many = attemptsOf({ destination: "app", attempt: 1_000_000, state: "waiting" }, [], 50);
  assert.deepEqual([many.rows.length, many.rows[0].attempt, many.earlier], [50, 1_000_000, 999_950]);
});

const OUTBOX = { name: "shop", standing: "moving", waiting: 0, oldest_ms: 0, trouble: "", turns_blocked: 0, key_reused: 0, undeliverable: 0 };

test("an outbox in one sentence, and what of it is wrong on the first page", () => {
  const of = (more) => standingOf({ ...OUTBOX, ...more });
  assert.deepEqual(of({}), { level: "green", words: "This gateway moves, and nothing waits" });
  assert.equal(of({ waiting: 1, oldest_ms: 2_000 }).words, "This gateway moves: 1 row waits, the oldest for 2.0 s");
  assert.equal(of({ waiting: 9, oldest_ms: 600_000 }).level, "red");
  assert.match(of({ standing: "standby" }).words, /^Another gateway has the lease/);
  assert.deepEqual(of({ standing: "failing", trouble: "no route to host" }), { level: "red", words: "Nothing is moved: no route to host" });
  assert.equal(of({ standing: "starting" }).level, "amber");
  assert.equal(of({ turns_blocked: 11 }).level, "amber");
  assert.deepEqual(ofOutboxes([OUTBOX, { ...OUTBOX, standing: "standby" }]), []);
  assert.deepEqual(ofOutboxes(null), []);
  const [behind, dead] = ofOutboxes([{ ...OUTBOX, standing: "failing", trouble: "x", key_reused: 2, undeliverable: 1 }]);
  assert.deepEqual([behind.level, behind.what], ["red", "The outbox shop is not moved"]);
  assert.deepEqual([dead.level, dead.what], ["amber", "3 effects of the outbox shop were dead at once"]);
  assert.match(dead.why, /2 under a key that another effect has.*1 to a destination/);
  assert.equal(deadWords(OUTBOX), "");
});
