// The life of a key: claimed, attempted, how that ended, what operators did, and who repeated it.
import { html } from "../html.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { count, duration, figure } from "../format.js";
import { Chip, Empty, ProblemBox, Wait, When } from "../parts.js";

const CAUSES = {
  refused: "the connection was refused",
  reset: "the connection was reset",
  timeout: "the service took too long",
  cut: "the connection was cut off",
  malformed: "the answer was not HTTP",
  answer: "the answer was lost",
  store: "the store did not take it",
  "no word": "its gateway has not said anything since",
};
const OUTCOMES = {
  ran: ["green", "ran, and the answer is kept"],
  released: ["grey", "did not count, may run again"],
  unknown: ["red", "outcome unknown"],
  refused: ["amber", "refused"],
};

// [colour, title, what else there is to say]
function told(event) {
  const from = [event.client, event.agent].filter(Boolean).join(" · ");
  if (event.event === "claimed") return ["blue", `Claimed, fence ${event.fence}`, ""];
  if (event.event === "attempt") {
    const where = [event.upstream && `to ${event.upstream}`, event.node && `by ${event.node}`, from && `for ${from}`]
      .filter(Boolean)
      .join(", ");
    return [
      "blue",
      `Attempt ${event.fence}${event.status ? `: ${event.status}` : ""}${event.ms ? ` in ${duration(event.ms)}` : ""}`,
      where,
    ];
  }
  if (event.event === "outcome") {
    const [level, words] = OUTCOMES[event.outcome] ?? ["grey", event.outcome];
    return [level, words, event.cause ? (CAUSES[event.cause] ?? event.cause) : ""];
  }
  if (event.event === "act")
    return ["violet", event.act, [event.who, event.role, event.reason && `“${event.reason}”`].filter(Boolean).join(" · ")];
  return ["grey", event.event, from];
}

function Repeats({ event }) {
  const answers = Object.entries(event.answers ?? {})
    .map(([answer, number]) => `${count(number)} × ${answer}`)
    .join(", ");
  return html`<div><strong>Repeated ${count(event.count)} ×</strong>
    ${event.until && event.until !== event.at ? html` <span class="muted">until <${When} at=${event.until} /></span>` : null}
    <p>${answers}</p>
    ${(event.callers ?? []).length > 0 && html`<ul class="plain">${event.callers.map((caller) => html`<li
      class="text">${figure(caller.count)} × ${caller.client}${caller.agent ? html` <span
      class="muted">${caller.agent}</span>` : null}${" heard "}${caller.status} <${Chip}
      level=${caller.answer === "replayed" ? "green" : "amber"}>${caller.answer}<//>${caller.differs ? html` <${Chip}
      level="amber">another ${caller.differs}<//>` : null}</li>`)}</ul>`}</div>`;
}

export function Timeline({ id, of }) {
  const line = useLoad((signal) => get(`/v1/keys/${id}/timeline`, signal), [id, of], 10_000);
  if (!line.data)
    return html`<section class="card"><h2>Timeline</h2>${line.problem ? html`<${ProblemBox} problem=${line.problem}
      retry=${line.reload} />` : html`<${Wait} />`}</section>`;
  return html`<section class="card"><h2>Timeline ${line.data.partial ? html`<${Chip} level="amber">partial<//>` : null}</h2>
    ${line.data.partial && html`<p
      class="muted">Some of what was seen was dropped because there was no room. The record itself is exact.</p>`}
    ${
      line.data.events.length === 0
        ? html`<${Empty} title="Nothing was noted">What happens from now on is.<//>`
        : html`<ol class="line">${line.data.events.map((event, at) => {
            const [level, title, more] = event.event === "repeats" ? ["grey"] : told(event);
            return html`<li key=${at} class=${level}><${When} at=${event.at} />
              ${event.event === "repeats" ? html`<${Repeats} event=${event} />` : html`<div><strong
              class="text">${title}</strong>${more && html`<p class="text">${more}</p>`}</div>`}</li>`;
          })}</ol>`
    }</section>`;
}
