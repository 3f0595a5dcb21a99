// Dead letters, grouped by why they died, and sent again group by group: what stands in the way is said before, and how far it is
// while it runs.
import { html, useRef, useState } from "../html.js";
import { ActForm, cannot } from "../act_form.js";
import { get, post, withQuery } from "../api.js";
import { usePieces } from "../load.js";
import { count } from "../format.js";
import { grouped, preflight } from "../inbox_rules.js";
import { href } from "../route.js";
import { GoOn, Id, ProblemBox, Table, When, may, useDesk } from "../parts.js";

const AGAIN = { title: "Send them again", lead: "One after the other, each with the next number of its attempts.", word: "send", button: "Send again" };

function Replay({ group, destination, onDone, onLeave }) {
  const [progress, setProgress] = useState(null);
  const stop = useRef(false);
  const run = async ({ reason }) => {
    const state = { sent: 0, refused: 0, all: group.items.length, last: null, ended: false };
    for (const item of group.items) {
      if (stop.current) break;
      try {
        await post(`/v1/inbox/${item.id}/redeliver`, { destination: item.destination, reason });
        state.sent += 1;
      } catch (problem) {
        state.refused += 1;
        state.last = problem;
      }
      setProgress({ ...state });
    }
    setProgress({ ...state, ended: true });
    onDone();
  };
  if (progress) {
    return html`<div class="card" role="status"><h3>${progress.ended ? "Ended" : "Sending"}: ${count(progress.sent)} of ${count(progress.all)} sent again${
        progress.refused ? `, ${count(progress.refused)} refused` : ""}</h3>
      <progress max=${progress.all} value=${progress.sent + progress.refused} aria-label="How far it is"></progress>
      <${ProblemBox} problem=${progress.last} />
      <div class="buttons">${progress.ended ? html`<button type="button" onClick=${onLeave}>Close</button>`
        : html`<button type="button" onClick=${() => { stop.current = true; }}>Stop</button>`}</div></div>`;
  }
  const warnings = preflight(group, destination);
  const note = warnings.length ? warnings.map((each) => html`<span class="block">${each}</span>`) : `Nothing stands in the way at ${group.destination}.`;
  return html`<div class="card"><${ActForm} act=${{ ...AGAIN, title: `Send ${count(group.items.length)} to ${group.destination} again` }}
    note=${note} send=${run} onLeave=${onLeave} /></div>`;
}

export function DeadLetters({ destinations, onDone }) {
  const { session } = useDesk();
  const [chosen, setChosen] = useState(null);
  const list = usePieces((cursor, signal) => get(withQuery("/v1/inbox", { state: "dead", cursor, limit: 1000 }), signal));
  const barred = cannot(session, may);
  const columns = [
    { title: "How many", number: true, cell: (group) => count(group.items.length) },
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
