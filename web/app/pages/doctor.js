// Doctor: clients that use keys in a way that will cost somebody something, with the evidence and what to do.
import { html, useState } from "../html.js";
import { get, withQuery } from "../api.js";
import { useLoad } from "../load.js";
import { count } from "../format.js";
import { Chip, Copy, Empty, Head, Input, ProblemBox, Table, Wait, When } from "../parts.js";

const words = (kind) => kind.replaceAll("_", " ").replaceAll("-", " ");

function Finding({ of }) {
  return html`<section class="card"><h2>${words(of.kind)} <${Chip}
    level=${of.strength === "strong" ? "red" : "amber"}>${of.strength}<//> <span class="muted">${count(of.count)} ×</span></h2>
    <p class="text">${of.evidence}</p>
    <p class="text"><strong>${of.advice}</strong></p>
    ${of.remedy && html`<p><code class="text">${of.remedy}</code> <${Copy} text=${of.remedy} what="the remedy" /></p>`}
    <p class="muted">Route <code class="text">${of.route || "–"}</code>
      ${of.scope ? html`, caller <code>${of.scope}</code>` : ", several callers"}; first <${When}
      at=${of.first} />, last <${When} at=${of.last} since /></p></section>`;
}

function Observed({ items }) {
  if (!items.length) return null;
  const columns = [
    { title: "Route that only observes", wide: true, cell: (each) => html`<code class="text">${each.route}</code>` },
    { title: "Requests", number: true, cell: (each) => count(each.requests) },
    { title: "Would run", number: true, cell: (each) => count(each.would_run) },
    { title: "Would be replayed", number: true, cell: (each) => count(each.would_replay) },
    {
      title: "Would be refused",
      number: true,
      cell: (each) => (each.would_refuse ? html`<${Chip} level="amber">${count(each.would_refuse)}<//>` : "0"),
    },
    { title: "Would pass", number: true, cell: (each) => count(each.would_pass) },
  ];
  return html`<section><h2>What enforcing would do</h2><${Table} label="What enforcing would do" columns=${columns}
    items=${items} keyOf=${(each) => each.route} /></section>`;
}

export function Doctor() {
  const [days, setDays] = useState("7");
  const found = useLoad((signal) => get(withQuery("/v1/doctor", { days }), signal), [days], 60_000);
  const head = html`<${Head} title="Doctor"
    lead="What clients do wrong with keys, seen from here. Nothing is refused because of it.">
    <${Input} id="doctor-days" label="Time">${(
      ties,
    ) => html`<select ...${ties} value=${days} onChange=${(event) => setDays(event.target.value)}>
      ${[
        ["1", "the last day"],
        ["7", "the last week"],
        ["30", "the last 30 days"],
        ["90", "the last 90 days"],
      ].map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select>`}<//><//>`;
  if (!found.data)
    return html`${head}${found.problem ? html`<${ProblemBox} problem=${found.problem}
      retry=${found.reload} />` : html`<${Wait} />`}`;
  const { items, observed, complete } = found.data;
  return html`${head}
    ${items.length === 0 && html`<${Empty}
      title="Nothing was found">Clients use their keys well, or have sent too little to tell. Verdicts come once an hour.<//>`}
    ${items.map((each) => html`<${Finding} key=${`${each.kind} ${each.route} ${each.scope}`} of=${each} />`)}
    ${!complete && html`<p class="muted">There are more; choose a shorter time.</p>`}
    <${Observed} items=${observed ?? []} />`;
}
