// Duplicate effects, as audits found them in the tables of the business: there should be none. Nothing without audits.
import { html, useState } from "./html.js";
import { ActForm, Choices, cannot } from "./act_form.js";
import { get, post } from "./api.js";
import { useLoad } from "./load.js";
import { href } from "./route.js";
import { actsOn, meaning, standing } from "./audit_rules.js";
import { Chip, Fact, Facts, Id, ProblemBox, Table, When, may, useDesk } from "./parts.js";

const ACTS = {
  acknowledge: {
    title: "Acknowledge it",
    lead: "Somebody looks after it. It stays in this list, and pages nobody any more.",
    word: "acknowledge",
    button: "Acknowledge",
  },
  close: {
    title: "Close it",
    lead: "It is dealt with. It comes back only if its key gets one more effect.",
    word: "close",
    button: "Close",
  },
};
const ROWS = [
  { title: "Effect", wide: true, cell: (row) => html`<code class="text">${row.effect}</code>` },
  { title: "At", cell: (row) => html`<${When} at=${row.at} />` },
  { title: "Value", cell: (row) => html`<span class="text">${row.value ?? "–"}</span>` },
];

const Kind = ({ of }) => html`<${Chip} level=${of.kind === "duplicate" ? "red" : "amber"}>${of.kind}<//>`;

function Finding({ of, onDone, onLeave }) {
  const { session } = useDesk();
  const barred = cannot(session, may);
  const send = (name) => async ({ reason }) => onDone(await post(`/v1/audits/findings/${encodeURIComponent(of.id)}/${name}`, { reason }));
  const form = (name, leave) => html`<${ActForm} act=${ACTS[name]} send=${send(name)} onLeave=${leave} />`;
  return html`<section class="card" aria-label="A finding"><h3><${Kind} of=${of} /> <span class="text">${of.audit}</span></h3>
    <p>${meaning(of)}</p>
    <${Table} label="Effects of this finding" columns=${ROWS} items=${of.rows} />
    ${of.effects > of.rows.length && html`<p class="muted">${of.effects} effects in all.</p>`}
    <${Facts}>
      <${Fact} name="Keys">${of.keys.length ? of.keys.map((key) => html`<a href=${href(["keys", key.id])}><${Id} id=${key.id} /></a> `) : "none"}<//>
      <${Fact} name="Seen"><${When} at=${of.first_seen} since /><//>
      <${Fact} name="State">${of.state}${of.who && html` <span class="muted">by <span class="text">${of.who}</span></span>`}<//>
      ${of.reason && html`<${Fact} name="Reason"><span class="text">${of.reason}</span><//>`}
    <//>
    ${barred ? html`<p class="muted">${barred}</p>` : html`<${Choices} key=${of.state} acts=${ACTS} offered=${actsOn(of)} form=${form} />`}
    <div class="buttons"><button type="button" class="quiet" onClick=${onLeave}>Back to the list</button></div></section>`;
}

function Findings({ items, onDone }) {
  const [chosen, setChosen] = useState(null);
  const [said, setSaid] = useState(null);
  const finding = items.find((each) => each.id === chosen);
  const columns = [
    { title: "Kind", cell: (each) => html`<${Kind} of=${each} />` },
    { title: "Audit", cell: (each) => html`<span class="text">${each.audit}</span>` },
    { title: "Effects", wide: true, cell: (each) => html`<span>${each.rows.map((row) => html`<code class="text">${row.effect}</code> `)}</span>` },
    { title: "Key", cell: (each) => html`<span>${each.keys.map((key) => html`<a href=${href(["keys", key.id])}><${Id} id=${key.id} /></a> `)}</span>` },
    { title: "State", cell: (each) => each.state },
    { title: "First seen", cell: (each) => html`<${When} at=${each.first_seen} />` },
    {
      title: "",
      cell: (each) => html`<button type="button" class="small" aria-label=${`Look at ${each.kind} ${each.id.slice(0, 8)}`}
        onClick=${() => setChosen(each.id)}>Look</button>`,
    },
  ];
  const done = (result) => {
    setSaid(result);
    if (result.finding.state === "closed") setChosen(null);
    onDone();
  };
  return html`${said && html`<div class="box green" role="status"><strong>Done: ${said.finding.state}.</strong>
      <p>Entry ${said.audit} of the <a href="#/audit">audit log</a>.</p></div>`}
    ${finding && html`<${Finding} key=${finding.id} of=${finding} onDone=${done} onLeave=${() => setChosen(null)} />`}
    ${items.length > 0 && html`<${Table} label="Findings of audits" columns=${columns} items=${items} keyOf=${(each) => each.id} />`}`;
}

export function Audited() {
  const { now } = useDesk();
  const audits = useLoad((signal) => get("/v1/audits", signal), [], 30_000);
  const found = useLoad((signal) => get("/v1/audits/findings", signal), [], 30_000);
  const problem = audits.problem ?? found.problem;
  const again = () => {
    audits.reload();
    found.reload();
  };
  if (problem && !found.data) return html`<${ProblemBox} problem=${problem} retry=${again} />`;
  if (!audits.data?.items.length || !found.data) return null;
  const items = found.data.items.filter((each) => each.state !== "closed");
  return html`<section><h2>Effects in your tables</h2><${ProblemBox} problem=${problem} retry=${again} />
    ${audits.data.items.map((audit) => {
      const { level, words } = standing(audit, items, now || Date.now());
      return html`<div class="box ${level}" role=${level === "red" ? "alert" : "status"}><strong>${audit.name}</strong> ${words}.
        ${audit.judged_to && html`<span class="muted"> Judged up to <${When} at=${audit.judged_to} />.</span>`}</div>`;
    })}
    <${Findings} items=${items} onDone=${again} />
    ${found.data.complete === false && html`<p class="muted">There are more than are shown; those that are closed make room.</p>`}
  </section>`;
}
