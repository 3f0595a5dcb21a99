// The rules of the dashboard that need no browser: how values are written, what /metrics says, and what counts as wrong.
import assert from "node:assert/strict";
import test from "node:test";
import { bodyText, bytes, clock, duration, figure, moment, parse, share, utf8 } from "../../web/app/format.js";
import { parseMetrics, quantileOf, total, valuesOf } from "../../web/app/metrics.js";
import { grouped, jobEnds, jobIsOver, jobLine, jobScope, preflight, replayOf, whyNotYet } from "../../web/app/inbox_rules.js";
import { lately, rate, typically, verdict } from "../../web/app/verdict.js";

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
  assert.deepEqual(of("<b>"), { kind: "text", text: "<b>" });
  assert.deepEqual(of("\xff\x00"), { kind: "bytes", text: "000000  ff 00" });
});

test("bytes that the gateway wrote one by one are read as UTF-8", () => {
  assert.equal(utf8("Zo\u00c3\u00ab"), "Zoë");
  assert.equal(utf8("Zo\u00eb"), "Zo\u00eb", "which is not UTF-8");
  assert.equal(utf8("→ \u00c3"), "→ \u00c3");
  assert.deepEqual(parse('{"who":"Zo\\u00c3\\u00ab","n":[1]}'), { who: "Zoë", n: [1] });
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
  for (const [changes, words] of cases) assert.deepEqual(said({ now: hour(changes) }), [words]);
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
  assert.equal(whyNotYet(DELIVERY, undefined, now, "UTC"), "Its turn comes at once.");
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
