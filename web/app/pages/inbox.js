// Inbox: what waits for whom, what was given up and why, and what can be done about it.
import { html, useRef, useState } from "../html.js";
import { ActForm, cannot } from "../act_form.js";
import { get, post, withQuery } from "../api.js";
import { useLoad, usePieces } from "../load.js";
import { count, duration, share } from "../format.js";
import { lastAnswer } from "../inbox_rules.js";
import { go, href } from "../route.js";
import { Chip, Empty, GoOn, Head, Id, Input, ProblemBox, State, Table, Wait, When, may, useDesk } from "../parts.js";
import { DeadLetters } from "./dead_letters.js";

const STATES = ["waiting", "running", "unknown", "dead", "done", "superseded", "skipped", "discarded"];
const PAUSE = { title: "Pause", lead: "Deliveries are accepted and wait. What runs is finished.", word: "pause", button: "Pause" };
const RESUME = { title: "Resume", lead: "What waits is sent, as fast as the destination's limits allow.", word: "resume", button: "Resume" };

function Condition({ of }) {
  if (of.paused) return html`<${Chip} level="amber">paused<//>${of.reason ? html` <span class="muted text">${of.reason}</span>` : null}`;
  if (of.breaker !== "closed") return html`<${Chip} level="red">breaker ${of.breaker}<//> <span class="muted">tries at <${When} at=${of.probe_at} /></span>`;
  return html`<${Chip} level="green">well<//>`;
}

function Destinations({ items, onDone }) {
  const { session, now } = useDesk();
  const [chosen, setChosen] = useState(null);
  const barred = cannot(session, may);
  const number = (name, level) => (each) => {
    const value = each.states[name] ?? 0;
    return value && level ? html`<${Chip} level=${level}>${count(value)}<//>` : count(value);
  };
  const columns = [
    { title: "Destination", wide: true, cell: (each) => html`<b class="text">${each.name}</b>` },
    { title: "Condition", cell: (each) => html`<${Condition} of=${each} />` },
    { title: "Waiting", number: true, cell: number("waiting") },
    { title: "Oldest", number: true, cell: (each) => (each.oldest ? html`<span class="at" title=${each.oldest}>${duration(now - Date.parse(each.oldest))}</span>` : "–") },
    { title: "Running", number: true, cell: (each) => `${count(each.running)} of ${count(each.concurrency)}` },
    { title: "In doubt", number: true, cell: number("unknown", "red") },
    { title: "Dead letters", number: true, cell: number("dead", "red") },
    { title: "Done", number: true, cell: ({ states }) => html`<span class="at">${count(states.done ?? 0)} <span
      class="muted">${share(states.done ?? 0, (states.done ?? 0) + (states.dead ?? 0))}</span></span>` },
    { title: "Rate", cell: (each) => each.rate || html`<span class="muted at">no limit</span>` },
    { title: "", cell: (each) => !barred && html`<button type="button" class="quiet small" onClick=${() => setChosen(each)}>
      ${each.paused ? "Resume" : "Pause"}<span class="away"> ${each.name}</span></button>` },
  ];
  const act = chosen?.paused ? RESUME : PAUSE;
  const send = async ({ reason, length }) => {
    const body = chosen.paused || !length ? { reason } : { reason, for: length };
    onDone(await post(`/v1/destinations/${encodeURIComponent(chosen.name)}/${chosen.paused ? "resume" : "pause"}`, body));
    setChosen(null);
  };
  return html`<section><h2>Destinations</h2>
    ${items.length ? html`<${Table} label="Destinations" columns=${columns} items=${items} keyOf=${(each) => each.name} />`
      : html`<${Empty} title="There is no destination">Add a [destination.NAME] with an upstream, and delivery = "inbox" to a webhook: its events are then
        acknowledged at once and delivered from here.<//>`}
    ${chosen && html`<div class="card"><${ActForm} key=${chosen.name} act=${{ ...act, title: `${act.title} ${chosen.name}` }} send=${send}
      onLeave=${() => setChosen(null)} more=${{ length: "" }}>${chosen.paused ? null : ({ values, set }) => html`
      <${Input} id="act-length" label="For how long">${(ties) => html`<select ...${ties} value=${values.length}
        onChange=${(event) => set("length", event.target.value)}>${[["", "until somebody resumes it"], ["10m", "10 minutes"], ["1h", "1 hour"],
          ["8h", "8 hours"]].map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select>`}<//>`}<//></div>`}
  </section>`;
}

function List({ query, destinations, turn }) {
  const filter = { state: query.state ?? "", dest: query.dest ?? "", source: query.source ?? "", type: query.type ?? "" };
  const list = usePieces((cursor, signal) => get(withQuery("/v1/inbox", { ...filter, cursor, limit: 100 }), signal), [JSON.stringify(filter), turn]);
  const set = (name) => (event) => go(["inbox"], { ...query, [name]: event.target.value });
  const select = (name, label, values) => html`<${Input} id=${`inbox-${name}`} label=${label}>${(ties) => html`
    <select ...${ties} value=${filter[name]} onChange=${set(name)}><option value="">any</option>
      ${values.map((value) => html`<option value=${value}>${value}</option>`)}</select>`}<//>`;
  const typed = (name, label, hint = "") => html`<${Input} id=${`inbox-${name}`} label=${label} hint=${hint}>${(ties) => html`
    <input ...${ties} type="text" value=${filter[name]} onChange=${set(name)} spellcheck=${false} />`}<//>`;
  const columns = [
    { title: "Event", cell: (each) => html`<a href=${href(["inbox", each.id])}><${Id} id=${each.id} /></a>` },
    { title: "Type", wide: true, cell: (each) => html`<span class="text">${each.type || "–"}</span>` },
    { title: "To", cell: (each) => html`<span class="text">${each.destination}</span>` },
    { title: "State", cell: (each) => html`<${State} of=${each.state} />` },
    { title: "Attempt", number: true, cell: (each) => each.attempt },
    { title: "Last answer", wide: true, cell: (each) => html`<span class="text">${lastAnswer(each)}</span>` },
    { title: "Accepted", cell: (each) => html`<${When} at=${each.accepted_at} />` },
    { title: "Next", cell: (each) => (each.due_at ? html`<${When} at=${each.due_at} />` : each.in_line ? "in line" : "–") },
  ];
  return html`<section><h2>Deliveries</h2>
    <div class="row filters">${select("state", "State", STATES)}${select("dest", "To", destinations)}
      ${typed("source", "From", "/hooks/stripe, or outbox:NAME")}${typed("type", "Type")}</div>
    ${list.items.length > 0 && html`<${Table} label="Deliveries" columns=${columns} items=${list.items}
      keyOf=${(each) => `${each.id} ${each.destination}`} />`}
    ${list.complete && !list.items.length && html`<${Empty} title="No delivery is like that">Change the filter; those that have ended are kept for
      a while only.<//>`}
    <${GoOn} list=${list} what="deliveries" /></section>`;
}

export function Inbox({ query }) {
  const destinations = useLoad((signal) => get("/v1/destinations", signal), [], 5_000);
  const [turn, setTurn] = useState(0); // of the list: it is read again when something was done
  const dead = useRef(false); // once there were some they stay in sight, with what came of sending them again
  const head = html`<${Head} title="Inbox" lead="Events that were acknowledged and are delivered from here, until each destination has them." />`;
  if (!destinations.data) {
    return html`${head}${destinations.problem ? html`<${ProblemBox} problem=${destinations.problem} retry=${destinations.reload} />` : html`<${Wait} />`}`;
  }
  const { items } = destinations.data;
  dead.current ||= items.some((each) => each.states.dead > 0);
  const done = () => {
    destinations.reload();
    setTurn((number) => number + 1);
  };
  return html`${head}<${Destinations} items=${items} onDone=${done} />
    ${dead.current && html`<${DeadLetters} destinations=${items} onDone=${done} />`}
    ${(items.length > 0 || query.state || query.source) && html`<${List} query=${query} destinations=${items.map((each) => each.name)} turn=${turn} />`}`;
}
