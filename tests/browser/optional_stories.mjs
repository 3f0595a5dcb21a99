// Stories of pages that not every gateway has: tests/browser/dashboard.py skips those whose operation is missing.
import assert from "node:assert/strict";
import { SIZES } from "./browser.mjs";

export const optional = {
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
      const rows = await desk.page.$$eval('[aria-label="By route"] tbody tr', (found) =>
        found.map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
      );
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

  // Dead letters are seen on the first page, grouped by their cause, and sent again until all have arrived.
  async inbox(desk, { url, token, count, name }) {
    await desk.signIn(url, token);
    await desk.see(`${count} deliveries to app will not be tried again`);
    await desk.press("See why");
    await desk.see("by why they died");
    await desk.see(`That is all: ${count} dead letters`);
    await desk.accessible("the inbox");
    await desk.picture(`${name}-inbox`, true);
    await desk.page.click("td a");
    await desk.see("Change it");
    await desk.see("dead letter");
    await desk.press("Show the body");
    await desk.see("evt_");
    await desk.accessible("a delivery");
    await desk.picture(`${name}-delivery`, true);
    await desk.go("#/inbox", "by why they died");
    await desk.press("Send again");
    await desk.see(`Send ${count} to app again`);
    await desk.see("Nothing stands in the way at app");
    await desk.accessible("a plan");
    await desk.page.select("#act-rate", "60/m");
    await desk.fill("#act-reason", "the handler was repaired");
    await desk.fill("#act-confirm", "send");
    await desk.page.click("form.act button.primary");
    await desk.see("Cancel it"); // it is watched while it runs: one a second
    await desk.accessible("a job that runs");
    await desk.picture(`${name}-job-runs`, true);
    await desk.see(`Ended: ${count} of ${count} sent again`);
    await desk.see(`${count} delivered.`);
    await desk.picture(`${name}-job-ended`, true);
    await desk.press("Close");
    await desk.see("No dead letter is left");
    await desk.go("#/jobs", "replay: dead ones to app");
    await desk.see("the handler was repaired");
    await desk.see(`${count} delivered`);
    await desk.accessible("the jobs");
    await desk.picture(`${name}-jobs`, true);
    await desk.look(SIZES.phone);
    await desk.fits("the jobs on a phone");
    await desk.picture(`${name}-jobs-phone`, true);
    await desk.look(SIZES.desk);
    await desk.go("#/inbox", "Destinations");
    await desk.press("Pause");
    await desk.fill("#act-reason", "a deployment");
    await desk.fill("#act-confirm", "pause");
    await desk.page.click("form.act button.primary");
    await desk.see("paused");
    await desk.press("Resume");
    await desk.fill("#act-reason", "it is over");
    await desk.fill("#act-confirm", "resume");
    await desk.page.click("form.act button.primary");
    await desk.see("well");
    await desk.go("#/audit", "the handler was repaired");
    await desk.see("pause destination");
    await desk.see("start job");
    await desk.look(SIZES.phone);
    await desk.go("#/inbox", "Destinations");
    await desk.fits("the inbox on a phone");
  },
};
