// Stories of webhooks and of the inbox. tests/browser/dashboard.py sets the scene.
import assert from "node:assert/strict";
import { SIZES } from "./browser.mjs";

async function confirm(desk, reason, word) {
  await desk.fill("#act-reason", reason);
  await desk.fill("#act-confirm", word);
  await desk.click("form.act button.primary");
}

export const events = {
  // Who sends what is not believed, which secret matches, and which events have to come again before their provider gives up.
  async webhooks(desk, { url, token, name }) {
    await desk.signIn(url, token);
    await desk.go("#/webhooks", "2 events were not handled, and Stripe will send them again");
    await desk.see(/It gives up after 3 d: in 2 d 23 h/);
    const awaited = await desk.rows("Events of /hooks/stripe that have to come again, oldest first");
    assert.deepEqual(awaited.map((row) => row[3]), ["2", "1"], "how often each came");
    const secrets = await desk.rows("Secrets of /hooks/stripe");
    assert.deepEqual(secrets.map(([place, matched]) => [place.split(" ")[0], matched]), [["first", "never"], ["second", "3 ×"]]);
    await desk.see("Only the second has matched since the start");
    const strangers = await desk.rows("Who sent them to /hooks/stripe");
    assert.deepEqual(strangers.map(([address, reason, count]) => [address, reason, count]), [
      ["127.0.0.1", "mismatch", "2"],
      ["127.0.0.1", "missing", "1"],
    ]);
    await desk.see("GitHub does not repeat events by itself");
    await desk.accessible("webhooks");
    await desk.picture(`${name}-webhooks-full`, true);
    await desk.look({ ...SIZES.desk, dark: true });
    await desk.accessible("webhooks, dark");
    await desk.picture(`${name}-webhooks-full-dark`, true);
    await desk.look(SIZES.phone);
    await desk.fits("webhooks on a phone");
    await desk.accessible("webhooks on a phone");
    await desk.picture(`${name}-webhooks-full-phone`, true);
    await desk.look(SIZES.desk);
    await desk.click('[aria-label^="Events of /hooks/stripe"] td a');
    await desk.see("webhook:/hooks/stripe"); // the key of the event
    await desk.see("free again");
    await desk.go("#/now", "Events to /hooks/github are not handled");
  },

  // Types, objects and reasons that others chose are text, on every page of events.
  async hostileEvents(desk, { url, token, type, why }) {
    await desk.signIn(url, token);
    await desk.see("will not be tried again");
    await desk.go("#/inbox", type);
    await desk.see(why);
    await desk.click("td a");
    await desk.see(`${type} from`);
    await desk.press("Show the body");
    await desk.see(type);
    await desk.go(`#/inbox?type=${encodeURIComponent(type)}`, "Deliveries");
    await desk.page.waitForFunction((wanted) => document.querySelector("#inbox-type")?.value === wanted, {}, type);
    await desk.go("#/audit", "read event");
    const strange = await desk.page.evaluate(() => document.querySelectorAll("main script, main img, main iframe, [onerror]").length);
    assert.equal(strange, 0);
  },

  // A viewer sees the inbox and cannot act on it, nor read a body.
  async inboxRoles(desk, { url, tokens }) {
    await desk.signIn(url, tokens.viewer);
    await desk.go("#/inbox", "Dead letters");
    await desk.see("That is all");
    assert.ok(!/Send again|Pause/.test(await desk.text()));
    await desk.click("td a");
    await desk.see("Needs the role operator; yours is viewer");
    await desk.see("The body is shown to operators only");
    assert.ok(!/Discard|Send it again|Show the body/.test(await desk.text()));
    await desk.go("#/jobs", "There was no bulk work yet");
    await desk.press("Sign out");
    await desk.page.waitForSelector("#token");
    await desk.signIn(url, tokens.admin);
    await desk.go("#/inbox", "Send again");
    await desk.see("Pause");
  },

  // Dead letters with the keyboard alone: found, sent again, watched to the end.
  async inboxKeyboard(desk, { url, token, count }) {
    await desk.signIn(url, token);
    await desk.see("will not be tried again");
    await desk.tabTo("See why");
    await desk.page.keyboard.press("Enter");
    await desk.see("by why they died");
    await desk.tabTo("Send again");
    await desk.page.keyboard.press("Enter");
    await desk.see(`Send ${count} to app again`);
    await desk.tabTo("act-reason");
    await desk.page.keyboard.type("the handler was repaired");
    await desk.tabTo("act-confirm");
    await desk.page.keyboard.type("send");
    await desk.page.keyboard.press("Enter");
    await desk.see(`Ended: ${count} of ${count} sent again`);
    await desk.see(`${count} delivered.`);
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
    await desk.click("td a");
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
    await confirm(desk, "the handler was repaired", "send");
    await desk.see("Cancel it"); // it is watched while it runs: one a second
    await desk.see(new RegExp(`: [2-${count - 1}] of ${count} sent again`));
    await desk.accessible("a job that runs");
    const hidden = await desk.page.$eval('[aria-label="Destinations"]', (table) => table.scrollWidth - table.clientWidth);
    assert.ok(hidden <= 0, `${hidden} px of the destinations are out of sight`);
    await desk.picture(`${name}-job-runs`, true);
    await desk.see(`Ended: ${count} of ${count} sent again`);
    await desk.see(`${count} delivered.`);
    await desk.see("No dead letter is left"); // the lists are read again by themselves
    await desk.picture(`${name}-job-ended`, true);
    await desk.press("Close");
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
    await confirm(desk, "a deployment", "pause");
    await desk.see("paused");
    await desk.press("Resume");
    await confirm(desk, "it is over", "resume");
    await desk.see("well");
    await desk.go("#/audit", "the handler was repaired");
    await desk.see("pause destination");
    await desk.see("start job");
    await desk.look(SIZES.phone);
    await desk.go("#/inbox", "Destinations");
    await desk.fits("the inbox on a phone");
  },
};
