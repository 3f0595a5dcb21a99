// Jobs: bulk work on the inbox, how far each is, and a way to stop it.
import { html, useState } from "../html.js";
import { cannot } from "../act_form.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { jobEnds, jobLine, jobScope } from "../inbox_rules.js";
import { CancelForm } from "../job_card.js";
import { href } from "../route.js";
import { Chip, Empty, Head, ProblemBox, Table, Wait, When, may, useDesk } from "../parts.js";

const LEVELS = { running: "blue", done: "green", cancelled: "amber" };

export function Jobs() {
  const { session } = useDesk();
  const [chosen, setChosen] = useState(null);
  const jobs = useLoad((signal) => get("/v1/inbox/jobs", signal), [], 2_000);
  const head = html`<${Head} title="Jobs" lead="Bulk work on the inbox. A job goes on after a restart where it was, and takes each delivery once." />`;
  if (!jobs.data) return html`${head}${jobs.problem ? html`<${ProblemBox} problem=${jobs.problem} retry=${jobs.reload} />` : html`<${Wait} />`}`;
  const barred = cannot(session, may);
  const columns = [
    { title: "Job", number: true, cell: (job) => job.id },
    { title: "State", cell: (job) => html`<${Chip} level=${LEVELS[job.state] ?? "grey"}>${job.state}<//>` },
    { title: "What", wide: true, cell: (job) => html`<span class="text">${jobScope(job)}</span>` },
    { title: "How far", wide: true, cell: (job) => html`<div>${jobLine(job)}<progress max=${Math.max(job.count, job.taken, 1)} value=${job.taken}
      aria-label=${`How far job ${job.id} is`}></progress><span class="muted">${jobEnds(job)}</span></div>` },
    { title: "Rate", cell: (job) => job.rate || html`<span class="muted at">no limit</span>` },
    { title: "Who and why", wide: true, cell: (job) => html`<span class="text">${job.who || "–"}: ${job.reason}</span>` },
    { title: "Started", cell: (job) => html`<${When} at=${job.started_at ?? job.planned_at} />` },
    { title: "", cell: (job) => !barred && job.state === "running" && html`<button type="button" class="quiet small"
      onClick=${() => setChosen(job)}>Cancel<span class="away"> job ${job.id}</span></button>` },
  ];
  const done = () => {
    setChosen(null);
    jobs.reload();
  };
  return html`${head}<${ProblemBox} problem=${jobs.problem} />
    ${jobs.data.items.length
      ? html`<${Table} label="Jobs, newest first" columns=${columns} items=${jobs.data.items} keyOf=${(job) => job.id} />`
      : html`<${Empty} title="There was no bulk work yet">Dead letters are sent again from <a href=${href(["inbox"])}>the inbox</a>, group by group;
          everything else with semel inbox replay, discard, backfill and erase.<//>`}
    ${chosen && html`<div class="card"><${CancelForm} key=${chosen.id} job=${chosen} onDone=${done} onLeave=${() => setChosen(null)} /></div>`}`;
}
