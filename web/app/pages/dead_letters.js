// Dead letters, grouped by why they died, and sent again group by group, as a job: how many there are and what stands in the way is
// said before, and how far it is while it runs.
import { html, useState } from "../html.js";
import { ActForm, cannot } from "../act_form.js";
import { get, post, withQuery } from "../api.js";
import { useLoad, usePieces } from "../load.js";
import { count } from "../format.js";
import { grouped, preflight, replayOf } from "../inbox_rules.js";
import { JobCard } from "../job_card.js";
import { href } from "../route.js";
import { GoOn, Id, Input, ProblemBox, Table, Wait, When, may, useDesk } from "../parts.js";

const AGAIN = { title: "Send them again", lead: "As a job, each with the next number of its attempts.", word: "send", button: "Send again" };
const RATES = [["", "as fast as their share of the destination"], ["10/s", "10 a second"], ["100/s", "100 a second"], ["60/m", "1 a second"]];

// Counts first: what is sent is what was counted, and nothing that comes later.
function Replay({ group, destination, onDone, onLeave }) {
  const [rate, setRate] = useState("");
  const [job, setJob] = useState(null);
  const plan = useLoad((signal) => post("/v1/inbox/jobs", replayOf(group, rate), signal), [rate]);
  const leave = () => {
    onDone();
    onLeave();
  };
  if (job) return html`<${JobCard} id=${job} onLeave=${leave} onOver=${onDone} />`;
  if (!plan.data) {
    return html`<div class="card">${plan.problem ? html`<${ProblemBox} problem=${plan.problem} retry=${plan.reload} />`
      : html`<${Wait} words="Counting them…" />`}<div class="buttons"><button type="button" class="quiet" onClick=${onLeave}>Leave it</button></div></div>`;
  }
  const { token, count: number, at_least: more } = plan.data;
  const send = async ({ reason }) => {
    if (plan.busy || plan.problem) throw plan.problem ?? new Error("They are being counted again. Try in a moment.");
    setJob((await post("/v1/inbox/jobs", { token, count: number, reason })).job.id);
    onDone();
  };
  const warnings = preflight(group, destination);
  const note = warnings.length ? warnings.map((each) => html`<span class="block">${each}</span>`) : `Nothing stands in the way at ${group.destination}.`;
  return html`<div class="card"><${ActForm} act=${{ ...AGAIN, title: `Send ${more ? "at least " : ""}${count(number)} to ${group.destination} again` }}
    note=${note} send=${send} onLeave=${onLeave}>${() => html`<${Input} id="act-rate" label="How fast">${(ties) => html`
      <select ...${ties} value=${rate} onChange=${(event) => setRate(event.target.value)}>${RATES.map(([value, words]) => html`
        <option value=${value}>${words}</option>`)}</select>`}<//>`}<//></div>`;
}

export function DeadLetters({ destinations, onDone }) {
  const { session } = useDesk();
  const [chosen, setChosen] = useState(null);
  const list = usePieces((cursor, signal) => get(withQuery("/v1/inbox", { state: "dead", cursor, limit: 1000 }), signal));
  const barred = cannot(session, may);
  const columns = [
    { title: "How many", number: true, cell: (group) => `${count(group.items.length)}${list.complete ? "" : "+"}` },
    { title: "To", cell: (group) => html`<span class="text">${group.destination}</span>` },
    { title: "Status", number: true, cell: (group) => group.status || "–" },
    { title: "Why", wide: true, cell: (group) => html`<span class="text">${group.why || "–"}</span>` },
    { title: "Oldest", cell: (group) => html`<${When} at=${group.items[0].accepted_at} />` },
    { title: "Such as", cell: (group) => html`<a href=${href(["inbox", group.items[0].id])}><${Id} id=${group.items[0].id} /></a>` },
    { title: "", cell: (group) => !barred && html`<button type="button" class="quiet small" onClick=${() => setChosen(group)}>Send again</button>` },
  ];
  const done = () => {
    list.reload();
    onDone();
  };
  return html`<section><h2>Dead letters <span class="muted">by why they died</span></h2>
    ${list.items.length > 0 && html`<${Table} label="Dead letters by reason" columns=${columns} items=${grouped(list.items)} keyOf=${(group) => group.key} />`}
    ${list.complete && !list.items.length && html`<p class="muted">No dead letter is left.</p>`}
    <${GoOn} list=${list} what="dead letters" />
    ${chosen && html`<${Replay} key=${chosen.key} group=${chosen} destination=${destinations.find((each) => each.name === chosen.destination)}
      onDone=${done} onLeave=${() => setChosen(null)} />`}</section>`;
}
