// Webhooks: what providers send, what was a duplicate, which signatures do not hold, and what has to come again.
import { html } from "../html.js";
import { Bar } from "../bar.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { count, duration, share } from "../format.js";
import { href } from "../route.js";
import { adviceOnSecrets, lagOf, ordinal } from "../webhook_rules.js";
import { Chip, Empty, Head, Id, ProblemBox, Table, Wait, When, useDesk } from "../parts.js";

const REASONS = {
  missing: "The signature is missing: somebody else sends here, or a proxy drops fields.",
  malformed: "The signature cannot be read.",
  mismatch: "A wrong secret, or an attack.",
  stale: "The time of the signature is too old or in the future: check the clocks.",
  "no-key": "The provider's key cannot be fetched, or its API does not answer.",
};

const sum = (items) => items.reduce((all, each) => all + each.count, 0);

function Lag({ of }) {
  const { now } = useDesk();
  const lag = lagOf(of, now);
  const columns = [
    { title: "Event", cell: (each) => html`<a href=${href(["keys", each.key])}><${Id} id=${each.key} /></a>` },
    { title: "Came first", cell: (each) => html`<${When} at=${each.since} since />` },
    { title: "Last", cell: (each) => html`<${When} at=${each.last_at} since />` },
    { title: "Times", number: true, cell: (each) => count(each.times) },
  ];
  return html`<h3>Lag</h3><p class="said ${lag.level}">${lag.words}</p>
    ${lag.part !== null && of.awaited.count > 0 && html`<${Bar} part=${lag.part} tone=${lag.level} />`}
    ${of.awaited.count > 0 && html`<${Table} label=${`Events of ${of.path} that have to come again, oldest first`} columns=${columns}
      items=${of.awaited.oldest} keyOf=${(each) => each.key} />`}`;
}

function Secrets({ of }) {
  const columns = [
    { title: "Secret", cell: (each) => html`<span>${ordinal(each.number)} <span class="muted">of the list</span></span>` },
    { title: "Matched", number: true, cell: (each) => (each.matched ? `${count(each.matched)} ×` : html`<span class="muted">never</span>`) },
    { title: "Last", cell: (each) => (each.last_at ? html`<${When} at=${each.last_at} since />` : html`<span class="muted">not since the start</span>`) },
  ];
  const advice = adviceOnSecrets(of);
  return html`<h3>Which secret matches</h3>
    <${Table} label=${`Secrets of ${of.path}`} columns=${columns} items=${of.secrets} keyOf=${(each) => each.number} />
    ${advice && html`<p class="muted">${advice}</p>`}`;
}

function Strangers({ of }) {
  if (!of.failed_signatures.length) return null;
  const columns = [
    { title: "Address", cell: (each) => html`<code class="text">${each.address}</code>` },
    { title: "Reason", cell: (each) => each.reason },
    { title: "Count", number: true, cell: (each) => count(each.count) },
    { title: "First", cell: (each) => html`<${When} at=${each.first_at} />` },
    { title: "Last", cell: (each) => html`<${When} at=${each.last_at} since />` },
  ];
  return html`<h3>Signatures that do not hold</h3>
    <ul class="reasons">${of.failed_signatures.map((each) => html`<li>
      <strong>${count(each.count)} × ${each.reason}</strong> <span class="text">${REASONS[each.reason] ?? ""}</span></li>`)}</ul>
    <${Table} label=${`Who sent them to ${of.path}`} columns=${columns} items=${of.strangers}
      keyOf=${(each) => `${each.address} ${each.reason}`} />
    ${of.strangers_partial && html`<p class="muted">There were more addresses than the 64 that are kept; these sent the most.</p>`}`;
}

function Counts({ of }) {
  const { handled, failed, unknown, duplicate, in_flight: busy, out_of_order: overtaken } = of.events;
  const all = handled + failed + unknown + duplicate + busy + overtaken;
  const number = (value, level) => html`<dd class=${value ? level : ""}>${count(value)}</dd>`;
  return html`<dl class="strip">
    <div><dt>Deliveries</dt>${number(all, "")}</div>
    <div><dt>Handled</dt>${number(handled, "")}</div>
    <div><dt>Duplicates</dt><dd>${count(duplicate)} <span class="muted">${share(duplicate, all)}</span></dd></div>
    <div><dt>Failed</dt>${number(failed, "amber")}</div>
    <div><dt>In doubt</dt>${number(unknown, "red")}</div>
    <div><dt>Overtaken</dt>${number(overtaken, "")}</div>
    <div><dt>Handler p99</dt><dd>${of.handler_p99_ms === undefined ? "–" : duration(of.handler_p99_ms)}</dd></div>
  </dl>`;
}

function Webhook({ of }) {
  const { now } = useDesk();
  const faults = sum(of.failed_signatures);
  const lag = lagOf(of, now);
  const idle = !faults && Object.values(of.events).every((each) => each === 0) && of.secrets.every((each) => each.matched === 0);
  return html`<section class="card"><h2><code>${of.path}</code> <${Chip}>${of.title || of.provider}<//>
      ${of.delivery === "inbox" && html` <a class="chip grey" href=${href(["inbox"])}>to the inbox</a>`}
      ${of.awaited.count > 0 && html` <${Chip} level=${lag.level}>${count(of.awaited.count)} to come again<//>`}
      ${faults > 0 && html` <${Chip} level="amber">${count(faults)} refused ${faults === 1 ? "signature" : "signatures"}<//>`}</h2>
    ${
      idle
        ? html`<p class="muted">Nothing has come yet. <code>semel sign ${of.provider} --send</code> makes a signed delivery for a test.</p>`
        : html`<${Counts} of=${of} /><${Lag} of=${of} /><${Secrets} of=${of} /><${Strangers} of=${of} />`
    }
  </section>`;
}

export function Webhooks() {
  const webhooks = useLoad((signal) => get("/v1/webhooks", signal), [], 10_000);
  const head = html`<${Head} title="Webhooks" lead="What providers sent here since this process started." />`;
  if (!webhooks.data)
    return html`${head}${webhooks.problem ? html`<${ProblemBox} problem=${webhooks.problem} retry=${webhooks.reload} />` : html`<${Wait} />`}`;
  const { items } = webhooks.data;
  if (!items.length)
    return html`${head}<${Empty}
      title="No webhook is configured">Add a [[webhook]] with a path, a provider and its secrets; <code>semel providers list</code> names those that are known.<//>`;
  return html`${head}<${ProblemBox} problem=${webhooks.problem} retry=${webhooks.reload} />
    ${items.map((each) => html`<${Webhook} key=${each.path + each.provider} of=${each} />`)}`;
}
