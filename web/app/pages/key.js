// Key: how one stands, what was answered, and what an operator can do about it.
import { html, useEffect, useState } from "../html.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { bodyText, bytes, duration } from "../format.js";
import { Copy, Fact, Facts, Head, ProblemBox, State, Wait, When, may, offers, useDesk } from "../parts.js";
import { Acts } from "./acts.js";
import { suggested } from "./keys.js";
import { Timeline } from "./timeline.js";

const MEANING = {
  unknown:
    "An attempt was cut off after it may have taken effect. Retries hear 409 until somebody says what happened: look at the service, then settle it below.",
  running:
    "An attempt is under way. Retries hear 409 or wait. If its gateway dies, the key becomes one in doubt when the lease has run out.",
  done: "It ran, and this is its answer. Every retry gets it again.",
  released: "It did not take effect, or was told to run again. The next request with this key and the same content runs.",
};

function Answer({ id, response }) {
  const { session } = useDesk();
  const [shown, setShown] = useState({ body: null, problem: null, busy: false });
  const show = async () => {
    setShown({ body: null, problem: null, busy: true });
    try {
      setShown({ body: await get(`/v1/keys/${id}/response`), problem: null, busy: false });
    } catch (problem) {
      setShown({ body: null, problem, busy: false });
    }
  };
  const seen = shown.body && bodyText(shown.body.body_base64);
  return html`<section class="card"><h2>The answer <span class="muted">that every retry gets</span></h2>
    <p class="status-line"><strong>${response.status}</strong> <span class="muted">
      ${response.body_kept ? `${bytes(response.body_bytes)} of body` : "its body was too large to keep"}</span></p>
    <table class="fields"><tbody>${response.fields.map((field) => html`<tr><th scope="row">${field.name}</th><td
      class="text">${field.value}</td></tr>`)}</tbody></table>
    ${
      !shown.body &&
      response.body_kept &&
      (may(session, "operator")
        ? html`<button type="button" onClick=${show} disabled=${shown.busy}>Show the body</button> <span
          class="muted">That is written to the audit log.</span>`
        : html`<p class="muted">The body is shown to operators only.</p>`)
    }
    <${ProblemBox} problem=${shown.problem} />
    ${seen && html`<h3>${seen.kind}${shown.body.redacted ? html` <span
      class="muted">parts are hidden (admin.redact)</span>` : null}</h3><pre class="body"
      tabindex="0">${seen.text || "(empty)"}</pre>`}
  </section>`;
}

// What the resolver thinks, and what it goes by.
function Suggestion({ of }) {
  if (!of) return null;
  const level = { done: "green", "not-done": "green", person: "red" }[of.as] ?? "amber";
  return html`<section class="box ${level}" aria-label="What the resolver thinks"><strong>The resolver says: ${suggested(of)}.</strong>
    <p class="text">${of.why}</p>
    <p class="muted">Asked ${of.asks} ${of.asks === 1 ? "time" : "times"}, last <${When} at=${of.asked_at} since />${
      of.watched_ms > 0 && html`; absent for ${duration(of.watched_ms)} of questions that were answered`
    }${of.answer && html`; the answer has status ${of.answer.status} and ${bytes(of.answer.body_bytes)} of body`}.
      By <span class="text">${of.by}</span>, for <span class="text">${of.route}</span>.</p></section>`;
}

export function KeyPage({ id }) {
  const { session, doubt, now } = useDesk();
  const found = useLoad((signal) => get(`/v1/keys/${encodeURIComponent(id)}`, signal), [id], 10_000);
  const [newer, setNewer] = useState(null);
  const [said, setSaid] = useState(null);
  useEffect(() => setNewer(null), [found.data]);
  const key = newer ?? found.data;
  if (!key)
    return html`<${Head} title="Key" />${found.problem ? html`<${ProblemBox} problem=${found.problem}
      retry=${found.reload}><p><a href="#/keys">Find another key</a></p><//>` : html`<${Wait} />`}`;
  const changed = (result) => {
    if (result.key) setNewer(result.key);
    setSaid(result);
    found.reload();
    doubt?.reload();
  };
  const gone = found.problem;
  return html`<${Head} title="Key"><${State} of=${key.state} /><//>
    ${gone && html`<${ProblemBox} problem=${gone} retry=${found.reload} />`}
    <p class="lead">${MEANING[key.state]}</p>
    <${ProblemBox} problem=${said?.refused}><p>Nothing was done. This is how the key stands now.</p><//>
    ${
      said?.audit &&
      html`<div class="box green" role="status"><strong>Done.</strong>
      <p>Entry ${said.audit} of the <a
        href="#/audit">audit log</a>. ${said.in_effect_within_ms ? `Other gateways may still replay the old answer for ${duration(said.in_effect_within_ms)}.` : "In effect at every gateway."}</p></div>`
    }
    <${Suggestion} of=${key.suggestion} />
    <section class="card"><${Facts}>
      <${Fact} name="Fence"><b>${key.fence}</b> <span class="muted">
        ${key.fence === 1 ? "first attempt" : `attempt ${key.fence}`}</span><//>
      <${Fact} name="Claimed"><${When} at=${key.claimed_at} both since /><//>
      <${Fact} name="Forgotten"><${When} at=${key.expires_at} both since /><//>
      ${key.lease_left_ms !== undefined && html`<${Fact} name="Lease">
        ${key.lease_left_ms > 0 ? `${duration(key.lease_left_ms)} left` : "run out"}<//>`}
      ${key.lease_until && html`<${Fact} name=${Date.parse(key.lease_until) > now ? "Lease ends" : "Lease ended"}><${When}
        at=${key.lease_until} since /><//>`}
      <${Fact} name="Namespace"><span class="text">${key.namespace}</span><//>
      <${Fact} name="Id"><code class="id whole">${key.id}</code> <${Copy} text=${key.id} what="the id" /><//>
      <${Fact} name="Scope"><code class="id whole">${key.scope}</code><//>
      <${Fact} name="Fingerprint"><code class="id whole">${key.fingerprint}</code><//>
    <//></section>
    <${Acts} key=${`${key.id} ${key.fence} ${key.state}`} of=${key} onDone=${changed} />
    ${key.response && html`<${Answer} id=${key.id} response=${key.response} />`}
    ${offers(session, "GET /v1/keys/{id}/timeline") && html`<${Timeline} id=${key.id} of=${`${key.fence} ${key.state}`} />`}`;
}
