// A browser for the stories: Debian's Chromium, driven by puppeteer-core. Whatever a reader of the console would see as wrong,
// fails: errors, CSP reports, exceptions, requests that fail unexpectedly.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

// The packages are in the build folder, where node does not look by itself.
const require = createRequire(path.join(process.env.SEMEL_PACKAGES, "package.json"));
const puppeteer = require("puppeteer-core");
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--hide-scrollbars",
  "--force-color-profile=srgb",
  "--lang=en-US",
  "--host-resolver-rules=MAP evil.example 127.0.0.1", // for the story of a name that was pointed here
];
export const SIZES = { phone: { width: 360, height: 740 }, desk: { width: 1280, height: 860 }, wall: { width: 3840, height: 2160 } };
// [name, address, what is to be seen there]
export const PAGES = [
  ["now", "#/now", /All is well|needs? a look/],
  ["doubt", "#/doubt", "In doubt"],
  ["keys", "#/keys", "Key, hash or event"],
  ["tail", "#/tail", "Requests as they happen"],
  ["webhooks", "#/webhooks", "/hooks/stripe"],
  ["inbox", "#/inbox", "Destinations"],
  ["outbox", "#/outbox", "This gateway has no outbox"],
  ["jobs", "#/jobs", "Bulk work on the inbox"],
  ["duplicates", "#/duplicates", "Requests that came again"],
  ["doctor", "#/doctor", "What clients do wrong"],
  ["audit", "#/audit", "Audit log"],
  ["config", "#/config", "[server]"],
];
const WAIT_MS = 20_000;

// In the browser: whether an element is where it was two frames ago.
function stands(element) {
  const before = element.getBoundingClientRect();
  return new Promise((done) => {
    const look = () => {
      const now = element.getBoundingClientRect();
      done(now.top === before.top && now.left === before.left);
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
  });
}

export async function open(folder, width = 1280, height = 860) {
  const profile = fs.mkdtempSync(path.join(folder, "profile-"));
  const browser = await puppeteer.launch({
    executablePath: process.env.SEMEL_CHROMIUM,
    args: FLAGS,
    userDataDir: profile,
    defaultViewport: { width, height },
  });
  const desk = new Desk(browser, folder);
  desk.profile = profile;
  await desk.newPage();
  return desk;
}

export class Desk {
  constructor(browser, folder) {
    this.browser = browser;
    this.folder = folder;
    this.wrong = [];
    this.expected = []; // patterns of lines in the console that the story itself causes
  }

  async newPage() {
    this.page = await this.browser.newPage();
    this.page.setDefaultTimeout(WAIT_MS);
    await this.page.emulateTimezone("Europe/Berlin");
    await this.page.evaluateOnNewDocument(() => {
      globalThis.reports = [];
      addEventListener("securitypolicyviolation", (event) =>
        globalThis.reports.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
      );
    });
    this.page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warn")
        this.note(`console: ${message.text()} ${message.location()?.url ?? ""}`);
    });
    this.page.on("pageerror", (error) => this.note(`exception: ${error.message}`));
    this.page.on("dialog", (dialog) => {
      this.wrong.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    return this.page;
  }

  note(line) {
    if (!this.expected.some((pattern) => pattern.test(line))) this.wrong.push(line);
  }

  // Nothing was wrong so far.
  async clean(where) {
    const reports = await this.page.evaluate(() => globalThis.reports);
    assert.deepEqual([...this.wrong, ...reports], [], where);
  }

  async close() {
    await this.browser.close();
    fs.rmSync(this.profile, { recursive: true, force: true });
  }

  async signIn(url, token, name = "Robin") {
    await this.page.goto(url);
    await this.page.waitForSelector("#token");
    await this.page.type("#token", token);
    await this.page.evaluate(() => {
      document.querySelector("#name").value = "";
    });
    await this.page.type("#name", name);
    await this.page.keyboard.press("Enter");
    await this.page.waitForSelector("nav");
  }

  // Opens a page of the dashboard and waits until it shows the text.
  async go(hash, text) {
    await this.page.evaluate((where) => {
      location.hash = where;
    }, hash);
    await this.see(text);
  }

  async text() {
    return this.page.evaluate(() => document.body.innerText);
  }

  async see(text) {
    const wanted = text instanceof RegExp ? text.source : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    try {
      await this.page.waitForFunction((source) => new RegExp(source).test(document.body.innerText), {}, wanted);
    } catch {
      assert.fail(`"${text}" is not to be seen in:\n${await this.text()}`);
    }
  }

  // The cells of a table, once it is there: what was seen before may stand in another part of the page.
  async rows(label) {
    const row = `[aria-label="${label}"] tbody tr`;
    await this.page.waitForSelector(row);
    return this.page.$$eval(row, (found) => found.map((each) => [...each.cells].map((cell) => cell.innerText.trim())));
  }

  // A button or link by what it says.
  async press(words) {
    const found = (wanted) =>
      [...document.querySelectorAll("button, a")].find((each) => each.innerText.trim().startsWith(wanted) && !each.disabled);
    const handle = await this.page.waitForFunction(found, {}, words).catch(() => null);
    assert.ok(handle, `"${words}" cannot be pressed in:\n${handle ? "" : await this.text()}`);
    await this.clickStanding(handle);
  }

  async click(selector) {
    await this.clickStanding(await this.page.waitForSelector(selector));
  }

  // A click on what still moves goes elsewhere.
  async clickStanding(handle) {
    await this.page.waitForFunction(stands, {}, handle);
    await handle.click();
  }

  async fill(selector, text) {
    await this.page.waitForSelector(selector);
    await this.page.focus(selector);
    await this.page.evaluate((which) => document.querySelector(which).select?.(), selector);
    if (text) await this.page.type(selector, text);
    else await this.page.keyboard.press("Backspace");
  }

  // What has the focus, by its id or by what it says.
  focused() {
    return this.page.evaluate(() => {
      const { activeElement: it } = document;
      return it?.id || it?.innerText?.split("\n")[0] || it?.getAttribute("aria-label") || "";
    });
  }

  // Presses Tab until something has the focus; each stop must be visible.
  async tabTo(wanted) {
    for (let step = 0; step < 80; step += 1) {
      if ((await this.focused()).startsWith(wanted)) return;
      await this.page.keyboard.press("Tab");
      const outlined = await this.page.evaluate(() => {
        const { activeElement: it } = document;
        return it === document.body || (getComputedStyle(it).outlineStyle !== "none" && it.getBoundingClientRect().width > 0);
      });
      assert.ok(outlined, `the focus cannot be seen at ${await this.focused()}`);
    }
    assert.fail(`${wanted} is not reached with Tab; the last was ${await this.focused()}`);
  }

  async look({ width = 1280, height = 860, dark = false }) {
    await this.page.setViewport({ width, height });
    await this.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    await new Promise((done) => setTimeout(done, 250));
  }

  async picture(name, whole = false) {
    const pictures = path.join(this.folder, "pictures");
    fs.mkdirSync(pictures, { recursive: true });
    await this.page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: whole });
  }

  // axe-core finds nothing serious.
  async accessible(where) {
    await this.page.evaluate(AXE);
    const found = await this.page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
      return violations
        .filter((each) => ["serious", "critical"].includes(each.impact))
        .map(
          (each) =>
            `${each.id}: ${each.nodes.map((node) => `${node.target} ${node.any.map((any) => any.message).join("; ")}`).join(" | ")}`,
        );
    });
    assert.deepEqual(found, [], `accessibility of ${where}`);
  }

  // Nothing stands out to the right.
  async fits(where) {
    const [inner, outer] = await this.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(inner <= outer, `${where} is ${inner} px wide in a window of ${outer}`);
  }
}
