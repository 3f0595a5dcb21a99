// Stories of what people do: every act of each role, findings of audits, suggestions of a resolver, outboxes, two tabs, a store that
// is away. tests/browser/dashboard_acts.py sets the scene.
import assert from "node:assert/strict";
import { PAGES, SIZES } from "./browser.mjs";

async function confirm(desk, reason, word) {
  await desk.fill("#act-reason", reason);
  await desk.fill("#act-confirm", word);
  await desk.click("form.act button.primary");
}

// Chooses an act, and does it.
async function act(desk, title, word, reason = "a test") {
  await desk.press(title);
  await confirm(desk, reason, word);
}

// In light and dark, at a desk and on a phone: readable, and nothing stands out.
async function seen(desk, name, where) {
  for (const [size, box] of Object.entries(SIZES)) {
    for (const dark of [false, true]) {
      await desk.look({ ...box, dark });
      await desk.fits(`${where} on a ${size}`);
      if (size !== "wall") await desk.accessible(`${where} on a ${size}${dark ? ", dark" : ""}`);
      if (!dark || size === "desk") await desk.picture(`${name}-${where}-${size}${dark ? "-dark" : ""}`, size !== "wall");
    }
  }
  await desk.look(SIZES.desk);
}

// In the page: calls what only operators may, with the cookie, as the page itself would.
async function forbidden(calls) {
  const statuses = {};
  for (const [method, path] of calls) {
    const options = { method, headers: { "X-Semel": "1" } };
    if (method !== "GET") Object.assign(options, { headers: { ...options.headers, "Content-Type": "application/json" }, body: '{"reason":"x","fence":1,"as":"not-done"}' });
    statuses[`${method} ${path}`] = (await fetch(path, options)).status;
  }
  return statuses;
}

async function everyPage(desk) {
  for (const [page, hash, text] of PAGES) {
    await desk.go(hash, text);
    await desk.clean(page);
  }
}

async function asViewer(desk, { keys, events }) {
  for (const id of [keys.done, keys.undone, keys.reopen]) {
    await desk.go(`#/keys/${id}`, "Needs the role operator; yours is viewer");
    assert.ok(!/Settle as|Reopen|Show the body/.test(await desk.text()));
  }
  for (const id of Object.values(events)) {
    await desk.go(`#/inbox/${id}`, "Needs the role operator; yours is viewer");
    await desk.see("The body is shown to operators only");
    await desk.see("Attempts");
  }
  await desk.go("#/outbox", "This gateway has no outbox");
  assert.equal(await desk.page.$('nav a[href="#/outbox"]'), null, "it is not in the menu, either");
  await desk.go("#/inbox", "Destinations");
  assert.ok(!/Send again|Pause/.test(await desk.text()));
  const event = Object.values(events)[0];
  const calls = [
    ...["resolve", "reopen"].map((name) => ["POST", `/v1/keys/${keys.done}/${name}`]),
    ["GET", `/v1/keys/${keys.reopen}/response`],
    ["GET", `/v1/inbox/${event}/body`],
    ["GET", "/v1/inbox/export"],
    ...["redeliver", "discard", "resolve"].map((name) => ["POST", `/v1/inbox/${event}/${name}`]),
    ["POST", "/v1/inbox/jobs"],
    ["DELETE", "/v1/inbox/jobs/1"],
    ...["pause", "resume"].map((name) => ["POST", `/v1/destinations/app/${name}`]),
    ["POST", "/v1/audits/payments/run"],
    ...["close", "acknowledge"].map((name) => ["POST", `/v1/audits/findings/0/${name}`]),
    ["POST", "/v1/webhooks/reopen"],
  ];
  desk.expected.push(/status of 403/);
  for (const [call, status] of Object.entries(await desk.page.evaluate(forbidden, calls))) assert.equal(status, 403, call);
}

async function onKeys(desk, keys, answer) {
  await desk.go(`#/keys/${keys.done}`, "It happened");
  await desk.press("It happened");
  await desk.fill("#act-status", "201");
  await desk.page.type("#act-body", answer);
  await confirm(desk, "seen at the bank", "done");
  await desk.see("Every retry gets it again");
  await desk.press("Show the body");
  await desk.see(JSON.stringify(JSON.parse(answer), null, 2));
  await desk.go(`#/keys/${keys.undone}`, "It did not happen");
  await act(desk, "It did not happen", "not done");
  await desk.see("free again");
  await desk.go(`#/keys/${keys.reopen}`, "Run it again");
  await act(desk, "Run it again", "reopen");
  await desk.see("of the audit log");
}

async function onEvents(desk, events, name) {
  await desk.go(`#/inbox/${events.again}`, "dead letter");
  await desk.see("answered 400");
  assert.deepEqual((await desk.rows("Attempts at app, newest first")).map(([number, , said, , then]) => [number, said, then]), [["1", "answered 400", "dead letter"]]);
  await act(desk, "Send it again", "send");
  await desk.see("of the audit log");
  await desk.page.waitForFunction(() => /2[^]*answered 200[^]*1[^]*answered 400/.test(document.querySelector('[aria-label^="Attempts"]')?.innerText ?? ""));
  await seen(desk, name, "attempts");
  await desk.go(`#/inbox/${events.dropped}`, "dead letter");
  await act(desk, "Discard it", "discard");
  await desk.see("discarded");
  await desk.go(`#/inbox/${events.lost}`, "It may have taken effect, and nobody knows");
  await act(desk, "It took effect", "done");
  await desk.see("of the audit log");
  await desk.press("Show the body");
  await desk.see("evt_");
}

async function onDestinations(desk) {
  await desk.go("#/inbox", "Destinations");
  await desk.press("Pause");
  await confirm(desk, "a deployment", "pause");
  await desk.see("paused");
}

// One that waits because the destination is paused says so; then a job is begun and cancelled, and all goes on.
async function jobAndResume(desk) {
  await desk.press("Send again");
  await desk.see("is paused: they will wait");
  await desk.page.select("#act-rate", "60/m");
  await confirm(desk, "the handler was repaired", "send");
  await desk.see(/: [1-9]\d* of \d+ sent again/);
  await desk.press("Cancel it");
  await confirm(desk, "not now", "cancel");
  await desk.see("Cancelled:");
  await desk.press("Close");
  await desk.page.select("#inbox-state", "waiting");
  await desk.page.waitForSelector('[aria-label="Deliveries"] td a');
  await desk.click('[aria-label="Deliveries"] td a');
  await desk.see("app is paused until somebody resumes it: a deployment.");
  await desk.go("#/jobs", "Cancelled:");
  await desk.go("#/inbox", "Destinations");
  await desk.press("Resume");
  await confirm(desk, "it is over", "resume");
  await desk.see("well");
}

export const acts = {
  // Each role sees every page. A viewer can do nothing, in the page or beside it; operators and admins can do everything.
  async everything(desk, { url, tokens, sets, name }) {
    for (const role of ["viewer", "operator", "admin"]) {
      await desk.signIn(url, tokens[role]);
      await everyPage(desk);
      const { keys, events } = sets[role] ?? sets.operator;
      if (role === "viewer") {
        await asViewer(desk, { keys, events });
      } else {
        await onKeys(desk, keys, `{"by":"${role}"}`);
        await onEvents(desk, events, `${name}-${role}`);
        await onDestinations(desk);
        await jobAndResume(desk);
      }
      await desk.press("Sign out");
      await desk.page.waitForSelector("#token");
    }
    await desk.signIn(url, tokens.viewer);
    await desk.go("#/audit", "chain whole, 1 to");
    for (const words of ["resolve as done", "resolve as not-done", "reopen", "read response", "redeliver event", "discard event", "resolve event as done",
      "read event", "pause destination", "start job", "cancel job", "resume destination", "operator", "admin"])
      await desk.see(words);
  },

  // Somebody is told that an effect happened twice, sees which, acknowledges it, and closes it when it is dealt with.
  async findings(desk, { url, tokens, name, effects }) {
    await desk.signIn(url, tokens.viewer);
    await desk.see("1 key has two effects");
    await desk.press("See which");
    await desk.see("Effects in your tables");
    await desk.press("Look");
    for (const effect of effects) await desk.see(effect);
    await desk.see("something ran twice");
    await desk.see("Needs the role operator; yours is viewer");
    await desk.press("Sign out");
    await desk.page.waitForSelector("#token");
    await desk.signIn(url, tokens.operator);
    await desk.go("#/duplicates", "payments");
    await desk.tabTo("Look");
    await desk.page.keyboard.press("Enter");
    await seen(desk, name, "finding");
    await desk.tabTo("Acknowledge it");
    await desk.page.keyboard.press("Enter");
    await desk.tabTo("act-reason");
    await desk.page.keyboard.press("Tab");
    await desk.page.keyboard.type("acknowledge");
    await desk.page.keyboard.press("Enter"); // without a reason nothing is sent
    await desk.see("Say why");
    await desk.page.keyboard.type("I look after it");
    await desk.tabTo("act-confirm");
    await desk.page.keyboard.press("Enter");
    await desk.see("Done: acknowledged");
    await desk.see("I look after it");
    await desk.press("Close it");
    await confirm(desk, "refunded", "close");
    await desk.see("Done: closed");
    await desk.see("no key has two effects");
    assert.equal(await desk.page.$('[aria-label="Findings of audits"] tbody tr'), null);
    await desk.go("#/audit", "close finding");
    await desk.see("acknowledge finding");
    await desk.see("refunded");
    const strange = await desk.page.evaluate(() => document.querySelectorAll("main script, main img, main iframe, [onerror]").length);
    assert.equal(strange, 0);
  },

  // The resolver has found one, and has not found another: both are settled as it says, and its evidence is shown.
  async suggestions(desk, { url, token, tokens, name, found, absent }) {
    await desk.signIn(url, tokens.viewer);
    await desk.go("#/doubt", "Open one");
    await desk.page.waitForFunction(
      () => {
        const said = [...document.querySelectorAll("tbody tr")].map((row) => row.cells[2].innerText);
        if (said.some((each) => each.startsWith("done")) && said.some((each) => each.startsWith("not done"))) return true;
        [...document.querySelectorAll("button")].find((each) => each.innerText === "Look again")?.click();
        return false;
      },
      { polling: 1500, timeout: 60_000 },
    );
    await desk.see("where the resolver has found out what happened");
    await seen(desk, name, "suggestions");
    await desk.go(`#/keys/${found}`, "The resolver says: done.");
    await desk.see(/Asked \d+ times?, last/);
    await desk.see("the answer has status 201");
    await desk.see("Needs the role operator; yours is viewer");
    await desk.press("Sign out");
    await desk.page.waitForSelector("#token");
    await desk.signIn(url, token);
    await desk.go(`#/keys/${found}`, "The resolver is right: it happened");
    await seen(desk, name, "suggestion");
    await desk.press("It did not happen");
    await desk.see("The resolver does not suggest this");
    await desk.press("Leave it");
    await desk.press("The resolver is right: it happened");
    await desk.see("The resolver suggests this");
    await confirm(desk, "as the resolver says", "done");
    await desk.see("Every retry gets it again");
    await desk.go(`#/keys/${absent}`, "The resolver says: not done.");
    await desk.press("It did not happen");
    await desk.see("The resolver suggests this");
    await confirm(desk, "as the resolver says", "not done");
    await desk.see("free again");
    await desk.go("#/audit", "resolve as done from the suggestion");
  },

  // What was sent in transactions: moved, dead and why; with `trouble`, its database is away.
  async outbox(desk, { url, token, name, trouble }) {
    await desk.signIn(url, token);
    if (trouble) {
      await desk.go("#/outbox", "Nothing is moved:");
      await desk.see("fails");
      await seen(desk, name, "outbox-away");
      await desk.go("#/now", "The outbox shop is not moved");
      return;
    }
    await desk.see("2 effects of the outbox shop were dead at once");
    await desk.go("#/outbox", "This gateway moves");
    await desk.see("has the lease");
    const strip = () => desk.page.$$eval(".strip div", (all) => Object.fromEntries(all.map((each) => each.innerText.split("\n"))));
    // What waits was counted before the last move, or after it: the page looks again every five seconds.
    for (const end = Date.now() + 20_000; (await strip()).Waiting !== "0" && Date.now() < end; ) await new Promise((go) => setTimeout(go, 200));
    const shown = await strip();
    assert.deepEqual([shown.Moved, shown["Asked for again"], shown["Dead: key reused"], shown["Dead: undeliverable"], shown.Waiting], ["5", "1", "1", "1", "0"]);
    assert.match(shown["Last move"], /ago/);
    await seen(desk, name, "outbox");
    await desk.press("See them in the inbox");
    await desk.see("key-reused");
    await desk.see("is not in deliver of");
    assert.equal((await desk.rows("Deliveries")).length, 2);
    await desk.fits("the inbox by source");
  },

  // Two tabs, one key: the second to act hears that nothing was done, and sees how the key stands. The same with a delivery.
  async tabs(desk, { url, token, key, event }) {
    desk.expected.push(/status of 409/);
    await desk.signIn(url, token);
    const tabs = [desk.page, await desk.newPage()];
    await tabs[1].goto(`${url}#/keys/${key}`);
    const prepare = async (hash, choices) => {
      for (const [at, page] of tabs.entries()) {
        desk.page = page;
        await page.bringToFront();
        await desk.go(hash, choices[at][0]);
        await desk.press(choices[at][0]);
        await desk.fill("#act-reason", "mine");
        await desk.fill("#act-confirm", choices[at][1]);
      }
      await Promise.all(tabs.map((page) => page.evaluate(() => document.querySelector("form.act button.primary").click())));
    };
    // What each says then; the one that was late does not say that it did something.
    const said = async (wanted) => {
      const texts = [];
      for (const page of tabs) {
        desk.page = page;
        await page.bringToFront();
        await desk.see(wanted);
        texts.push(await desk.text());
      }
      assert.equal(texts.filter((text) => /Entry \d+ of the/.test(text)).length, 1, texts.join("\n---\n"));
      return texts;
    };
    await prepare(`#/keys/${key}`, [["It did not happen", "not done"], ["It happened", "done"]]);
    const texts = await said(/Entry \d+ of the|Nothing was done. This is how the key stands now./);
    assert.equal(texts.filter((text) => text.includes("Nothing was done.")).length, 1);
    await prepare(`#/inbox/${event}`, [["Discard it", "discard"], ["Discard it", "discard"]]);
    await said(/Entry \d+ of the|409/);
  },

  // Texts that others chose, wherever this page shows them: as text.
  async strange(desk, { url, token, hashes, texts }) {
    await desk.signIn(url, token);
    for (const [at, hash] of hashes.entries()) {
      await desk.go(hash, texts[at]);
      const found = await desk.page.evaluate(
        () => document.querySelectorAll("main script, main img, main iframe, main svg, [onerror], [onload]").length,
      );
      assert.equal(found, 0, hash);
    }
  },

  // A database that stands still, then is away, while pages are open: each says so in words and offers to ask again; then it goes on.
  async away(desk, { url, token, pages, standing, id }) {
    desk.expected.push(/status of 50[0-9]/, /ERR_ABORTED/);
    await desk.signIn(url, token);
    await desk.go("#/doubt", "Open one");
    await desk.go("#/config", "[server]");
    for (const pid of standing) process.kill(pid, "SIGSTOP");
    try {
      for (const [hash, words] of pages) {
        await desk.go(hash, new RegExp(words));
        await desk.see("Ask again");
        assert.ok(!/Asking the gateway…|Searching…/.test(await desk.text()), `${hash} still waits`);
      }
    } finally {
      for (const pid of standing) process.kill(pid, "SIGCONT");
    }
    await desk.go(`#/keys/${id}`, /in doubt|Ask again/);
    for (let round = 0; round < 20 && !(await desk.text()).includes("It happened"); round += 1) {
      await desk.page.evaluate(() => [...document.querySelectorAll("button")].find((each) => each.innerText === "Ask again")?.click());
      await new Promise((done) => setTimeout(done, 1000));
    }
    await desk.see("It happened");
  },
};
