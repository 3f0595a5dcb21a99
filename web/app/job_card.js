// A job while it runs: how far it is, what came of it, and a way to stop it. Looked at each second until nothing of it changes.
import { html, useState } from "./html.js";
import { ActForm, cannot } from "./act_form.js";
import { get, remove } from "./api.js";
import { useLoad } from "./load.js";
import { jobEnds, jobIsOver, jobLine, jobScope } from "./inbox_rules.js";
import { ProblemBox, Wait, may, useDesk } from "./parts.js";

const CANCEL = { title: "Cancel the job", lead: "It takes nothing more. What it has sent already goes on.", word: "cancel", button: "Cancel the job" };

export function CancelForm({ job, onDone, onLeave }) {
  const send = async ({ reason }) => onDone(await remove(`/v1/inbox/jobs/${job.id}`, { reason }));
  return html`<${ActForm} act=${{ ...CANCEL, title: `Cancel job ${job.id}` }} send=${send} onLeave=${onLeave} />`;
}

// `onOver` is called once, when nothing of it will change any more.
export function JobCard({ id, onLeave, onOver = () => {} }) {
  const { session } = useDesk();
  const [asks, setAsks] = useState(false);
  const [over, setOver] = useState(false);
  const load = async (signal) => {
    const job = await get(`/v1/inbox/jobs/${id}`, signal);
    if (jobIsOver(job) && !over) onOver();
    setOver(jobIsOver(job));
    return job;
  };
  const { data: job, problem, reload } = useLoad(load, [over], over ? 0 : 1_000);
  if (!job) return html`<div class="card">${problem ? html`<${ProblemBox} problem=${problem} retry=${reload} />` : html`<${Wait} />`}</div>`;
  const ends = jobEnds(job);
  const stops = job.state === "running" && !cannot(session, may);
  return html`<div class="card"><div role="status"><h3>${jobLine(job)}</h3><p class="muted">Job ${job.id}, ${jobScope(job)}</p>
      <progress max=${Math.max(job.count, job.taken, 1)} value=${job.taken} aria-label="How far it is"></progress>
      ${ends && html`<p>${ends}.</p>`}</div>
    <${ProblemBox} problem=${problem} />
    ${asks && stops && html`<${CancelForm} job=${job} onDone=${() => { setAsks(false); reload(); }} onLeave=${() => setAsks(false)} />`}
    <div class="buttons">${stops && !asks && html`<button type="button" onClick=${() => setAsks(true)}>Cancel it</button>`}
      <button type="button" class="quiet" onClick=${onLeave}>${job.state === "running" ? "Leave it running" : "Close"}</button></div></div>`;
}
