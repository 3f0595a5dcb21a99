// Duplicates: how often clients repeat themselves, by day, by route and by caller. Each replay is an effect that did not
// happen twice.
import { html, useState } from "../html.js";
import { Bar } from "../bar.js";
import { get, withQuery } from "../api.js";
import { useLoad } from "../load.js";
import { count, figure } from "../format.js";
import { Audited } from "../audits.js";
import { Empty, Head, Id, Input, ProblemBox, Table, Wait, When, useDesk } from "../parts.js";

const SPANS = {
  minute: ["the last hour", 3_600_000],
  hour: ["the last day", 86_400_000],
  day: ["the last 30 days", 30 * 86_400_000],
};
const SHOWN = 50;

const percent = (rate) => `${figure(100 * rate)} %`;

// The items of each time as one: oldest first.
export function byTime(items) {
  const times = new Map();
  for (const { at, requests, keyed, duplicates, outcomes } of items) {
    const sum = times.get(at) ?? { at, requests: 0, keyed: 0, duplicates: 0, replayed: 0 };
    times.set(at, {
      at,
      requests: sum.requests + requests,
      keyed: sum.keyed + keyed,
      duplicates: sum.duplicates + duplicates,
      replayed: sum.replayed + (outcomes.replayed ?? 0),
    });
  }
  return [...times.values()]
    .sort((a, b) => (a.at < b.at ? -1 : 1))
    .map((each) => ({ ...each, rate: each.keyed ? each.duplicates / each.keyed : 0 }));
}

function Over({ times, step }) {
  const { zone } = useDesk();
  const most = Math.max(1, ...times.map((each) => each.keyed));
  const label = (at) =>
    step === "day"
      ? new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" }).format(
          Date.parse(at),
        )
      : new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone, hourCycle: "h23" }).format(
          Date.parse(at),
        );
  const columns = [
    { title: step === "day" ? "Day (UTC)" : "From", cell: (each) => html`<span title=${each.at}>${label(each.at)}</span>` },
    { title: "With a key", number: true, cell: (each) => count(each.keyed) },
    {
      title: "",
      wide: true,
      cell: (each) =>
        html`<${Bar} part=${each.keyed / most} tone="blue" /><${Bar} part=${each.duplicates / most} tone="violet" />`,
    },
    { title: "Duplicates", number: true, cell: (each) => count(each.duplicates) },
    { title: "Rate", number: true, cell: (each) => percent(each.rate) },
  ];
  return html`<${Table} label="Duplicates over time" columns=${columns} items=${[...times].reverse()}
    keyOf=${(each) => each.at} />`;
}

function Totals({ items, title, name }) {
  const rows = items
    .filter((each) => each.keyed > 0)
    .sort((a, b) => b.duplicates - a.duplicates)
    .slice(0, SHOWN);
  if (!rows.length) return html`<${Empty} title="No request with a key">Nothing to compare in this time.<//>`;
  const columns = [
    { title, wide: true, cell: name },
    { title: "With a key", number: true, cell: (each) => count(each.keyed) },
    { title: "Duplicates", number: true, cell: (each) => count(each.duplicates) },
    { title: "Rate", number: true, cell: (each) => percent(each.rate) },
    { title: "Replayed", number: true, cell: (each) => count(each.outcomes.replayed ?? 0) },
    { title: "p99", number: true, cell: (each) => (each.p99_ms === undefined ? "–" : `${figure(each.p99_ms)} ms`) },
  ];
  return html`<${Table} label=${`By ${title.toLowerCase()}`} columns=${columns} items=${rows} keyOf=${(each) => each.name} />`;
}

export function Duplicates() {
  const [step, setStep] = useState("day");
  const ask = (by) => (signal) =>
    get(withQuery("/v1/tally", { by, step, from: new Date(Date.now() - SPANS[step][1]).toISOString() }), signal);
  const routes = useLoad(ask("route"), [step], 60_000);
  const scopes = useLoad(ask("scope"), [step], 60_000);
  const head = html`<${Head} title="Duplicates"
    lead="Requests that came again under a key that was taken. A replay is an effect that did not happen twice.">
    <${Input} id="duplicates-step" label="Time">${(
      ties,
    ) => html`<select ...${ties} value=${step} onChange=${(event) => setStep(event.target.value)}>
      ${Object.entries(SPANS).map(([value, [words]]) => html`<option value=${value}>${words}</option>`)}</select>`}<//><//><${Audited} />`;
  if (!routes.data)
    return html`${head}${routes.problem ? html`<${ProblemBox} problem=${routes.problem}
      retry=${routes.reload} />` : html`<${Wait} />`}`;
  const times = byTime(routes.data.items);
  const all = times.reduce(
    (sum, each) => ({
      keyed: sum.keyed + each.keyed,
      duplicates: sum.duplicates + each.duplicates,
      replayed: sum.replayed + each.replayed,
    }),
    { keyed: 0, duplicates: 0, replayed: 0 },
  );
  if (!all.keyed)
    return html`${head}<${Empty} title="No request with a key in this time">Choose a longer one, or look at Now.<//>`;
  return html`${head}
    ${!routes.data.complete && html`<p class="muted">Searched to <${When}
      at=${routes.data.searched_to} />; there is more than is shown.</p>`}
    <dl class="strip"><div><dt>Requests with a key</dt><dd>${count(all.keyed)}</dd></div><div><dt>Duplicates</dt>
      <dd>${count(all.duplicates)}</dd></div>
      <div><dt>Rate</dt><dd>${percent(all.duplicates / all.keyed)}</dd></div><div>
        <dt>Effects that did not happen twice</dt><dd>${count(all.replayed)}</dd></div></dl>
    <section><h2>Over time</h2><${Over} times=${times} step=${step} /></section>
    <section><h2>By route</h2><${Totals} items=${routes.data.totals} title="Route" name=${(each) => html`<code
      class="text">${each.name || "no route"}</code>`} /></section>
    <section><h2>By caller <span class="muted">the hash of its scope</span></h2>${scopes.data ? html`<${Totals}
      items=${scopes.data.totals} title="Scope" name=${(each) => html`<${Id} id=${each.name}
      digits=${20} />`} />` : html`<${ProblemBox} problem=${scopes.problem} />`}</section>`;
}
