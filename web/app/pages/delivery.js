// Delivery: one event of the inbox, where it goes, and why it is not there yet.
import { html, useState } from "../html.js";
import { ActForm, Choices, cannot } from "../act_form.js";
import { get, post } from "../api.js";
import { useLoad } from "../load.js";
import { bodyText, count, duration } from "../format.js";
import { attemptSaid, attemptsOf, cameWith, lastAnswer, whyNotYet } from "../inbox_rules.js";
import { href } from "../route.js";
import { Copy, Fact, Facts, Head, Id, ProblemBox, State, Table, Wait, When, may, useDesk } from "../parts.js";

const ACTS = {
  redeliver: {
    title: "Send it again",
    lead: "Another attempt, with the next number, whatever came of the earlier ones.",
    word: "send",
    button: "Send again",
    from: ["waiting", "done", "dead", "superseded", "skipped", "discarded", "unknown"],
  },
  resolve: {
    title: "It took effect",
    lead: "The destination has handled it. It is done, and nothing is sent.",
    word: "done",
    button: "Settle as done",
    from: ["unknown"],
  },
  discard: {
    title: "Discard it",
    lead: "It is not sent to this destination, unless somebody sends it again.",
    word: "discard",
    button: "Discard",
    from: ["waiting", "dead", "unknown"],
  },
};

function Body({ id, kept }) {
  const { session } = useDesk();
  const [shown, setShown] = useState({ event: null, problem: null });
  const show = () =>
    get(`/v1/inbox/${id}/body`).then(
      (event) => setShown({ event, problem: null }),
      (problem) => setShown({ event: null, problem }),
    );
  if (!kept) return html`<section class="card"><h2>The event</h2><p class="muted">Its body is not kept any more.</p></section>`;
  const seen = shown.event && bodyText(shown.event.body_base64);
  return html`<section class="card"><h2>The event <span class="muted">as it came</span></h2>
    ${!shown.event && (may(session, "operator")
      ? html`<button type="button" onClick=${show}>Show the body</button> <span class="muted">That is written to the audit log.</span>`
      : html`<p class="muted">The body is shown to operators only.</p>`)}
    <${ProblemBox} problem=${shown.problem} />
    ${seen && html`<table class="fields"><tbody>${cameWith(shown.event.fields).map(([name, value]) => html`<tr><th scope="row">${name}</th>
        <td class="text">${value}</td></tr>`)}</tbody></table>
      <h3>${seen.kind}${shown.event.redacted ? html` <span class="muted">parts are hidden (admin.redact)</span>` : null}</h3><pre class="body" tabindex="0">${seen.text || "(empty)"}</pre>`}</section>`;
}

const ATTEMPT = [
  { title: "Attempt", number: true, cell: (each) => count(each.attempt) },
  { title: "Began", cell: (each) => html`<${When} at=${each.at} since />` },
  { title: "Answer", wide: true, cell: (each) => html`<span class=${each.missing ? "text muted" : "text"}>${attemptSaid(each)}</span>` },
  { title: "Took", number: true, cell: (each) => duration(each.ms) },
  { title: "Then", cell: (each) => (each.state ? html`<${State} of=${each.state} />` : "–") },
  { title: "Gateway", cell: (each) => html`<span class="text">${each.node ?? "–"}</span>` },
];

function Attempts({ delivery, event }) {
  const { rows, earlier } = attemptsOf(delivery, event.attempts);
  if (!rows.length) return html`<h3>Attempts</h3><p class="muted">None has begun yet.</p>`;
  return html`<h3>Attempts</h3>
    <${Table} label=${`Attempts at ${delivery.destination}, newest first`} columns=${ATTEMPT} items=${rows} keyOf=${(each) => each.attempt} />
    ${earlier > 0 && html`<p class="muted">${count(earlier)} earlier ${earlier === 1 ? "one is" : "ones are"} not shown.</p>`}
    ${event.attempts_partial && html`<p class="muted">The history could not be read to its end: some may be missing.</p>`}`;
}

function One({ id, event, delivery, destination, onDone }) {
  const { session, now, zone } = useDesk();
  const [said, setSaid] = useState(null);
  const why = whyNotYet(delivery, destination, now, zone);
  const offered = Object.keys(ACTS).filter((name) => ACTS[name].from.includes(delivery.state));
  const send = (name) => async ({ reason }) => {
    setSaid(await post(`/v1/inbox/${id}/${name}`, { destination: delivery.destination, reason }));
    onDone();
  };
  const form = (name, leave) => html`<${ActForm} act=${ACTS[name]} send=${send(name)} onLeave=${leave} />`;
  const barred = cannot(session, may);
  return html`<section class="card"><h2>To <span class="text">${delivery.destination}</span> <${State} of=${delivery.state} /></h2>
    ${why && html`<p class="fence-line ${["dead", "unknown"].includes(delivery.state) ? "red" : ""}">${why}</p>`}
    ${said && html`<div class="box green" role="status"><strong>Done.</strong><p>Entry ${said.audit} of the <a href="#/audit">audit log</a>.</p></div>`}
    <${Facts}>
      <${Fact} name="Attempt">${count(delivery.attempt)} <span class="muted">${count(delivery.failed)} failed</span><//>
      <${Fact} name="Last answer"><span class="text">${lastAnswer(delivery)}</span><//>
      <${Fact} name="Changed"><${When} at=${delivery.changed_at} both since /><//>
      <${Fact} name="Given up at"><${When} at=${delivery.expires_at} since /><//>
    <//>
    <${Attempts} delivery=${delivery} event=${event} />
    <h3>Change it</h3>
    ${barred ? html`<p class="muted">${barred}</p>`
      : html`<${Choices} key=${`${delivery.state} ${delivery.attempt}`} acts=${ACTS} offered=${offered} form=${form} />`}
  </section>`;
}

export function Delivery({ id }) {
  const event = useLoad((signal) => get(`/v1/inbox/${encodeURIComponent(id)}`, signal), [id], 5_000);
  const destinations = useLoad((signal) => get("/v1/destinations", signal), [id], 5_000);
  if (!event.data) {
    return html`<${Head} title="Delivery" />${event.problem
      ? html`<${ProblemBox} problem=${event.problem} retry=${event.reload}><p><a href="#/inbox">To the inbox</a></p><//>` : html`<${Wait} />`}`;
  }
  const { data } = event;
  const of = (name) => (destinations.data ? (destinations.data.items.find((each) => each.name === name) ?? null) : undefined);
  return html`<${Head} title="Delivery" lead=${`${data.type || "An event"} from ${data.source}`} />
    <section class="card"><${Facts}>
      <${Fact} name="Id"><code class="id whole">${data.id}</code> <${Copy} text=${data.id} what="the id" /><//>
      <${Fact} name="Accepted"><${When} at=${data.accepted_at} both since /><//>
      <${Fact} name="Key"><a href=${href(["keys", data.key])}><${Id} id=${data.key} /></a><//>
    <//></section>
    ${data.deliveries.map((delivery) => html`<${One} key=${delivery.destination} id=${data.id} event=${data} delivery=${delivery}
      destination=${of(delivery.destination)} onDone=${event.reload} />`)}
    <${Body} id=${data.id} kept=${data.body_kept} />`;
}
