// Stories of pages that not every gateway has: tests/browser/dashboard.py skips those whose operation is missing.
import assert from "node:assert/strict";
import { SIZES } from "./browser.mjs";

// In a page of somebody else: everything that it can make the browser send, with the cookie of whoever looks at it.
async function attack(url, id) {
  const act = JSON.stringify({ fence: 1, as: "not-done", reason: "gotcha" });
  const target = `${url}v1/keys/${id}/resolve`;
  const outcomes = {};
  const attempt = async (name, options, where = target) => {
    try {
      const answer = await fetch(where, { credentials: "include", ...options });
      outcomes[name] = answer.type === "opaque" ? "opaque" : `${answer.status}`;
    } catch {
      outcomes[name] = "blocked";
    }
  };
  await attempt("simple request", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: act });
  await attempt("form", { method: "POST", mode: "no-cors", body: new URLSearchParams({ fence: "1", as: "not-done", reason: "gotcha" }) });
  await attempt("no type", { method: "POST", mode: "no-cors", body: new Blob([act]) });
  await attempt("json", { method: "POST", headers: { "Content-Type": "application/json", "X-Semel": "1" }, body: act });
  await attempt("reading", {}, `${url}v1/keys`);
  await attempt("signing out", { method: "DELETE" }, `${url}v1/session`);
  const beacon = navigator.sendBeacon(target, act);
  const frame = document.createElement("iframe");
  frame.name = "sink";
  document.body.append(frame);
  const form = Object.assign(document.createElement("form"), { method: "POST", action: target, enctype: "text/plain", target: "sink" });
  // Looks like JSON: {"fence":1,…,"x":"="}
  form.append(Object.assign(document.createElement("input"), { name: `${act.slice(0, -1)},"x":"`, value: '"}' }));
  document.body.append(form);
  form.submit();
  const image = new Image();
  const shown = await new Promise((done) => {
    image.onload = () => done(true);
    image.onerror = () => done(false);
    image.src = `${url}v1/keys/${id}/response`;
  });
  await new Promise((done) => setTimeout(done, 500));
  let framed = "nothing";
  try {
    framed = frame.contentDocument?.body?.innerText ?? "hidden";
  } catch {
    framed = "hidden";
  }
  return { outcomes, beacon, shown, framed };
}

export const optional = {
  // Pages of others, on another port of this machine (which gets the cookie) and under another name for it, change nothing and read
  // nothing. Nor does a name that was pointed at the listener.
  async strangers(desk, { url, elsewhere, id }) {
    await desk.signIn(url, "admin-1");
    for (const evil of elsewhere) {
      const page = await desk.browser.newPage();
      await page.goto(evil);
      const { outcomes, shown, framed } = await page.evaluate(attack, url, id);
      assert.equal(shown, false, evil);
      assert.ok(!framed.includes("fence"), framed);
      for (const [name, outcome] of Object.entries(outcomes)) assert.ok(["opaque", "blocked", "403"].includes(outcome), `${evil} ${name}: ${outcome}`);
      await page.close();
    }
    const rebound = await desk.browser.newPage();
    const answer = await rebound.goto(url.replace("127.0.0.1", "evil.example"));
    assert.equal(answer.status(), 421);
    await rebound.close();
    await desk.go(`#/keys/${id}`, "in doubt"); // still signed in, and nothing was done
    await desk.go("#/audit", "Nobody has done anything yet");
  },

  // The life of a key: its attempt, why nobody knows, and who asked again and what they heard.
  async timeline(desk, { url, token, id, agent, name }) {
    await desk.signIn(url, token);
    await desk.go(`#/keys/${id}`, "Repeated 4 ×");
    for (const text of [
      "Claimed, fence 1",
      "outcome unknown",
      "the connection was reset",
      "3 × outcome-unknown",
      "1 × key-reused",
      "another body",
      agent,
    ])
      await desk.see(text);
    await desk.accessible("a timeline");
    await desk.picture(`${name}-timeline`, true);
    await desk.look(SIZES.phone);
    await desk.fits("a timeline on a phone");
  },

  // Requests as they happen, by outcome, until somebody holds them.
  async tail(desk, { url, token, pay, agent, name }) {
    await desk.signIn(url, token);
    await desk.go("#/tail", "Watching: 0 seen");
    const send = (key) =>
      fetch(pay, {
        method: "POST",
        headers: { Authorization: "alice", "Idempotency-Key": key, "User-Agent": agent },
        body: "12",
      });
    await Promise.all(["t-1", "t-2"].map(send));
    await send("t-1");
    await desk.see("Watching: 3 seen");
    await desk.see("replayed");
    await desk.see(agent);
    await desk.accessible("the tail");
    await desk.picture(`${name}-tail`);
    await desk.page.select("#tail-outcome", "replayed");
    await desk.press("Clear");
    await desk.see("Watching: 0 seen");
    // The new filter may not be in force yet, so it is sent until it is seen.
    for (let round = 0; !/Watching: [1-9]/.test(await desk.text()) && round < 20; round += 1) {
      await send(`u-${round}`);
      await send("t-2");
      await new Promise((done) => setTimeout(done, 500));
    }
    const outcomes = await desk.page.$$eval("tbody .chip", (chips) => [...new Set(chips.map((chip) => chip.innerText))]);
    assert.deepEqual(outcomes, ["replayed"]);
    await desk.press("Hold");
    await desk.see("Held");
    await desk.look(SIZES.phone);
    await desk.fits("the tail on a phone");
  },

  // How often callers repeat themselves, and what enforcing would do on a route that only observes.
  async duplicates(desk, { url, token, name }) {
    await desk.signIn(url, token);
    await desk.go("#/duplicates", "Effects that did not happen twice");
    for (const step of ["minute", "hour", "day"]) {
      await desk.page.select("#duplicates-step", step);
      await desk.see("Over time");
      const rows = await desk.rows("By route");
      const [route, keyed, , , replayed] = rows.find(([first]) => first === "/v1/*");
      assert.deepEqual([route, keyed, replayed], ["/v1/*", "9", "3"], step);
      await desk.see("By caller");
    }
    await desk.accessible("duplicates");
    await desk.picture(`${name}-duplicates`, true);
    await desk.go("#/doctor", "What enforcing would do");
    await desk.see("/observed/*");
    await desk.accessible("the doctor");
    await desk.picture(`${name}-doctor`, true);
    await desk.look(SIZES.phone);
    await desk.fits("the doctor on a phone");
  },
};
