// What the dashboard says of audits, as a table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actsOn, meaning, standing } from "../../web/app/audit_rules.js";

const now = Date.parse("2026-01-02T03:04:05Z");
const recent = { name: "payments", blind: false, trouble: "", judged_to: "2026-01-02T03:02:05Z" };
const finding = (kind, audit = "payments") => ({ kind, audit });

test("silence is green only if it is recent, and blind is red whatever was found", () => {
  assert.equal(standing(recent, [], now).level, "green");
  assert.equal(standing(recent, [finding("duplicate", "refunds")], now).level, "green");
  assert.equal(standing({ ...recent, judged_to: "2026-01-02T01:02:05Z" }, [], now).level, "amber");
  assert.equal(standing({ ...recent, judged_to: undefined, trouble: "no answer" }, [], now).words, "has judged nothing yet: no answer");
  assert.equal(standing(recent, [finding("orphan")], now).level, "amber");
  assert.deepEqual(standing(recent, [finding("duplicate")], now), { level: "red", words: "1 key has two effects" });
  assert.equal(standing(recent, [finding("duplicate"), finding("duplicate")], now).words, "2 keys have two effects");
  const blind = standing({ ...recent, blind: true }, [], now);
  assert.equal(blind.level, "red");
  assert.match(blind.words, /^BLIND/);
});

test("each kind of finding says what to do, and each state what can be done", () => {
  for (const kind of ["duplicate", "missing", "ghost", "orphan", "duplicate-value"]) assert.ok(meaning({ kind }).length > 40, kind);
  assert.deepEqual(actsOn({ state: "open" }), ["acknowledge", "close"]);
  assert.deepEqual(actsOn({ state: "acknowledged" }), ["close"]);
  assert.deepEqual(actsOn({ state: "closed" }), []);
});
