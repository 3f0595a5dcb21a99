// Webhooks: what providers send, what was a duplicate, which signatures do not hold and why.
import { html } from "../html.js";
import { get, getText } from "../api.js";
import { useLoad } from "../load.js";
import { count, duration, figure, share } from "../format.js";
import { Chip, Empty, Fact, Facts, Head, ProblemBox, Wait } from "../parts.js";
import { parseMetrics, quantileOf, total } from "../metrics.js";

const EVENTS = "semel_webhook_events_total",
  FAULTS = "semel_webhook_signature_failures_total",
  SECRETS = "semel_webhook_deliveries_total";

const REASONS = {
  missing: "The signature is missing: somebody else sends here, or a proxy drops fields.",
  malformed: "The signature cannot be read.",
  mismatch: "A wrong secret, or an attack.",
  stale: "The time of the signature is too old or in the future: check the clocks.",
  "no-key": "The provider's key cannot be fetched, or its API does not answer.",
};

// Each webhook with its counts.
export function webhooksOf(samples, configured) {
  return configured.map((webhook) => {
    const labels = { route: webhook.path, provider: webhook.provider };
    const of = (name, more) => total(samples, name, { ...labels, ...more });
    const labelled = (name, label) =>
      samples
        .filter(
          (each) =>
            each.name === name &&
            each.labels.route === webhook.path &&
            each.labels.provider === webhook.provider &&
            each.value > 0,
        )
        .map((each) => ({ name: each.labels[label], count: each.value }));
    return {
      ...webhook,
      events: of(EVENTS),
      handled: of(EVENTS, { outcome: "handled" }),
      duplicates: of(EVENTS, { outcome: "duplicate" }),
      failed: of(EVENTS, { outcome: "failed" }),
      unknown: of(EVENTS, { outcome: "unknown" }),
      overtaken: of(EVENTS, { outcome: "out_of_order" }),
      faults: labelled(FAULTS, "reason"),
      secretsUsed: labelled(SECRETS, "secret"),
      p99: quantileOf(samples, "semel_webhook_handler_seconds", labels, 0.99),
    };
  });
}

function Webhook({ of }) {
  const faults = of.faults.reduce((sum, each) => sum + each.count, 0);
  const idle = of.events === 0 && faults === 0;
  return html`<section class="card"><h2><code>${of.path}</code> <${Chip}>${of.provider}<//>
      ${faults > 0 && html` <${Chip} level="amber">${count(faults)} refused ${faults === 1 ? "signature" : "signatures"}<//>`}
        ${of.unknown > 0 && html` <${Chip} level="red">${count(of.unknown)} in doubt<//>`}</h2>
    ${
      idle
        ? html`<p class="muted">Nothing has come yet. <code>semel sign ${of.provider} --send</code> makes a signed delivery for a test.</p>`
        : html`
    <${Facts}>
      <${Fact} name="Events">${count(of.events)}<//>
      <${Fact} name="Handled">${count(of.handled)}<//>
      <${Fact} name="Duplicates">${count(of.duplicates)} <span class="muted">${share(of.duplicates, of.events)}</span><//>
      <${Fact} name="Failed, come again">${of.failed ? html`<${Chip} level="amber">${count(of.failed)}<//>` : "0"}<//>
      <${Fact} name="Overtaken">${count(of.overtaken)}<//>
      <${Fact} name="Handler p99">${of.p99 === null ? "–" : duration(of.p99 * 1000)}<//>
      <${Fact} name="Secrets">${of.secretsUsed.length === 0 ? `${of.secrets} configured` : of.secretsUsed.map((each) => html`<div>no. ${each.name} matched ${count(each.count)} ×</div>`)}<//>
    <//>`
    }
    ${of.faults.length > 0 && html`<ul class="reasons">${of.faults.map((each) => html`<li>
      <strong>${figure(each.count)} × ${each.name}</strong> <span class="text">${REASONS[each.name] ?? ""}</span></li>`)}</ul>`}
  </section>`;
}

export function Webhooks() {
  const config = useLoad((signal) => get("/v1/config", signal));
  const metrics = useLoad(async (signal) => parseMetrics(await getText("/metrics", signal)), [], 10_000);
  const problem = config.problem ?? metrics.problem;
  const head = html`<${Head} title="Webhooks" lead="Since the start of this process." />`;
  if (!config.data || !metrics.data)
    return html`${head}${problem ? html`<${ProblemBox} problem=${problem} retry=${config.reload} />` : html`<${Wait} />`}`;
  const webhooks = webhooksOf(metrics.data, config.data.webhooks);
  if (!webhooks.length)
    return html`${head}<${Empty}
      title="No webhook is configured">Add a [[webhook]] with a path, a provider and its secrets; <code>semel providers</code> lists those that are known.<//>`;
  return html`${head}${webhooks.map((each) => html`<${Webhook} key=${each.path + each.provider} of=${each} />`)}`;
}
