// Outbox: what programs have sent in their transactions and is to be moved to the inbox.
import { html } from "../html.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { count, duration } from "../format.js";
import { deadWords, standingOf } from "../outbox_rules.js";
import { href } from "../route.js";
import { Chip, Head, ProblemBox, Wait, When } from "../parts.js";

const STANDING = {
  moving: ["green", "has the lease"],
  standby: ["grey", "another gateway has it"],
  failing: ["red", "fails"],
  starting: ["amber", "starts"],
};

function Outbox({ of }) {
  const { level, words } = standingOf(of);
  const [tone, lease] = STANDING[of.standing] ?? ["grey", of.standing];
  const dead = deadWords(of);
  const number = (value, red = false) => html`<dd class=${red && value ? "red" : ""}>${count(value)}</dd>`;
  return html`<section class="card"><h2><span class="text">${of.name}</span> <${Chip} level=${tone}>${lease}<//></h2>
    <p class="said ${level}">${words}.</p>
    <dl class="strip">
      <div><dt>Waiting</dt>${number(of.waiting)}</div>
      <div><dt>Oldest</dt><dd>${of.waiting ? duration(of.oldest_ms) : "–"}</dd></div>
      <div><dt>Last move</dt><dd><${When} at=${of.moved_at} since /></dd></div>
      <div><dt>Moved</dt>${number(of.moved)}</div>
      <div><dt>Asked for again</dt>${number(of.repeated)}</div>
      <div><dt>Dead: key reused</dt>${number(of.key_reused, true)}</div>
      <div><dt>Dead: undeliverable</dt>${number(of.undeliverable, true)}</div>
      <div><dt>Failed rounds</dt>${number(of.failures)}</div>
    </dl>
    ${dead && html`<p>${dead} <a href=${href(["inbox"], { state: "dead", source: `outbox:${of.name}` })}>See them in the inbox</a></p>`}
    ${of.trouble && of.standing !== "failing" && html`<p class="muted">The last trouble: <span class="text">${of.trouble}</span></p>`}
  </section>`;
}

export function Outboxes() {
  const outboxes = useLoad((signal) => get("/v1/outbox", signal), [], 5_000);
  const head = html`<${Head} title="Outbox"
    lead="What programs have sent in their own transactions, on its way to the inbox. Counts are this gateway's, since it started." />`;
  if (!outboxes.data)
    return html`${head}${outboxes.problem ? html`<${ProblemBox} problem=${outboxes.problem} retry=${outboxes.reload} />` : html`<${Wait} />`}`;
  const { items } = outboxes.data;
  return html`${head}<${ProblemBox} problem=${outboxes.problem} retry=${outboxes.reload} />
    ${items.map((each) => html`<${Outbox} key=${each.name} of=${each} />`)}`;
}
