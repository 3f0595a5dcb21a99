// Now: is all well, and if not, what and where. Then the last hour.
import { html, useMemo } from "../html.js";
import { get, getText } from "../api.js";
import { useLoad } from "../load.js";
import { bytes, count, duration, figure, share } from "../format.js";
import { Chip, Empty, Head, ProblemBox, Table, Wait, When, offers, useDesk } from "../parts.js";
import { Plot } from "../plot.js";
import { leads } from "../shell.js";
import { parseMetrics, total, valuesOf } from "../metrics.js";
import { lately, rate, typically, verdict } from "../verdict.js";

// /readyz says 503 with a body when it is not ready: that is an answer, not a failure of the call.
async function readiness(signal) {
  const answer = await fetch("/readyz", { signal });
  return answer.json();
}

// What audits have found, where there are any: {audits, findings}.
async function auditsOf(session, signal) {
  if (!offers(session, "GET /v1/audits")) return null;
  const { items: audits } = await get("/v1/audits", signal);
  return { audits, findings: audits.length ? (await get("/v1/audits/findings", signal)).items : [] };
}

function Verdict({ found, at }) {
  const { session } = useDesk();
  const red = found.filter((each) => each.level === "red").length;
  const level = red ? "red" : found.length ? "amber" : "green";
  const words =
    found.length === 0 ? "All is well" : found.length === 1 ? "One thing needs a look" : `${found.length} things need a look`;
  return html`<section class="verdict ${level}" aria-live="polite" aria-label="Verdict">
    <h2><span class="lamp" aria-hidden="true"></span>${words}<span class="muted at">as of <${When} at=${at} /></span></h2>
    ${
      found.length > 0 &&
      html`<ul>${found.map(
        (each) => html`<li class=${each.level}><div><strong>${each.what}</strong><p class="text">${each.why}</p></div>
      ${leads(session, each.link) && html`<a class="go" href=${each.link}>${each.go ?? "Look"}<span
        aria-hidden="true"> →</span></a>`}</li>`,
      )}</ul>`
    }
  </section>`;
}

function Tile({ title, value, unit = "", note = "", level = "", link: wanted = null, plot }) {
  const { session } = useDesk();
  const link = wanted && leads(session, wanted);
  const head = html`<span class="name">${title}</span><span class="value ${level}">${value}<span
    class="unit">${unit}</span></span>
    <span class="note">${note || "\u00a0"}</span>`;
  return html`<section class="tile ${level}" aria-label=${title}>${link ? html`<a class="top"
    href=${link}>${head}</a>` : html`<div class="top">${head}</div>`}${plot}</section>`;
}

function perSecond(now, name) {
  return now.series[name].map((each, at) => {
    const seconds = (now.times[at + 1] - now.times[at]) / 1000;
    return seconds >= 3 || now.times.length < 4 ? each / seconds : null; // the last piece may be too short to tell a rate
  });
}

function Tiles({ now }) {
  const times = useMemo(() => now.times.slice(1), [now]);
  const of = (name, tone, label = name) => ({ name: label, tone, values: perSecond(now, name) });
  const measured = (name, tone, label) => ({ name: label, tone, values: now.series[name] });
  const rated = (title, name, tone, extra = {}) => {
    const lastHour = lately(now, name, 3_600_000);
    return html`<${Tile} title=${title} value=${figure(rate(now, name))} unit="/s"
      note=${`${count(lastHour)} in the hour`} ...${extra}
      plot=${html`<${Plot} times=${times} series=${[of(name, tone, title)]} unit="/s"
        summary=${`${title}: ${count(lastHour)} in the last hour`} />`} />`;
  };
  // Rare things are counted, not rated: "0.003/s" tells nobody anything.
  const counted = (title, name, tone, link) => {
    const lastHour = lately(now, name, 3_600_000),
      recent = lately(now, name, 600_000);
    return html`<${Tile} title=${title} value=${count(lastHour)}
      note=${recent ? `in the hour, ${count(recent)} in 10 min` : "in the hour"} link=${link} level=${recent ? tone : ""}
      plot=${html`<${Plot} times=${times} series=${[measured(name, tone, title)]}
        summary=${`${title}: ${count(lastHour)} in the last hour`} />`} />`;
  };
  const timed = (
    title,
    name,
    tone,
    label,
  ) => html`<${Tile} title=${title} value=${figure(typically(now, name, 600_000))} unit=" ms" note=${label}
    level=${typically(now, name, 600_000) > 100 && name !== "upstream_p99_ms" ? "amber" : ""}
    plot=${html`<${Plot} times=${times} series=${[measured(name, tone, title)]} unit=" ms"
      summary=${`${title}, 99th percentile`} />`} />`;
  const requests = lately(now, "requests", 3_600_000),
    replays = lately(now, "replayed", 3_600_000);
  return html`<div class="tiles">
    ${rated("Requests", "requests", "blue")}
    ${rated("First runs", "ran", "green")}
    ${rated("Replays", "replayed", "violet", { note: `${share(replays, requests)} of requests`, link: "#/duplicates" })}
    ${counted("Outcome unknown", "unknown", "red", "#/doubt")}
    ${counted("409 in flight", "in_flight", "grey", "#/keys")}
    ${counted("422 key reused", "reused", "amber", "#/doctor")}
    ${timed("Commit p99", "commit_p99_ms", "blue", "two per first run")}
    ${timed("Service p99", "upstream_p99_ms", "grey", "of the upstream")}
  </div>`;
}

// What waits in the inbox, for how long, and whether a destination is left alone. Nothing without a destination.
function InboxStrip({ destinations }) {
  const { now } = useDesk();
  if (!destinations.length) return null;
  const depth = destinations.reduce((sum, each) => sum + (each.states.waiting ?? 0) + (each.states.running ?? 0), 0);
  const oldest = destinations.map((each) => each.oldest && Date.parse(each.oldest)).filter(Boolean);
  const open = destinations.filter((each) => each.breaker !== "closed").length;
  const paused = destinations.filter((each) => each.paused).length;
  return html`<div><dt>Inbox</dt><dd><a href="#/inbox">${count(depth)} to deliver</a></dd></div>
    <div><dt>Oldest that waits</dt><dd>${oldest.length ? duration(now - Math.min(...oldest)) : "–"}</dd></div>
    <div><dt>Breakers</dt><dd class=${open ? "red" : ""}>${open ? `${open} of ${destinations.length} open` : "all closed"}${paused ? `, ${paused} paused` : ""}</dd></div>`;
}

function Strip({ now, destinations }) {
  const { free_bytes: free, free_bytes_min: least, kind, databases } = now.store;
  return html`<dl class="strip">
    <div><dt>Under way</dt><dd>${count(now.under_way)}</dd></div>
    <div><dt>Store</dt><dd>${kind}${databases > 1 ? `, ${databases} shards` : ""}</dd></div>
    ${free !== undefined && html`<div><dt>Free space</dt><dd class=${free < 4 * least ? "amber" : ""}>${bytes(free)}</dd></div>`}
    <div><dt>Store errors, last hour</dt><dd
      class=${lately(now, "store_errors", 3_600_000) ? "red" : ""}>${count(lately(now, "store_errors", 3_600_000))}</dd></div>
    <div><dt>502 unreachable, last hour</dt><dd
      class=${lately(now, "unreachable", 3_600_000) ? "red" : ""}>${count(lately(now, "unreachable", 3_600_000))}</dd></div>
    <div><dt>429, last hour</dt><dd>${count(lately(now, "limited", 3_600_000))}</dd></div>
    <div><dt>Claim p99</dt><dd>${figure(typically(now, "claim_p99_ms", 600_000))} ms</dd></div>
    <${InboxStrip} destinations=${destinations} />
  </dl>`;
}

const OUTCOMES = [
  ["ran", "first runs"],
  ["replayed", "replays"],
  ["unknown", "unknown"],
  ["released", "released"],
  ["refused", "refused"],
  ["unkeyed", "without key"],
  ["passed", "not guarded"],
];

function Routes({ samples }) {
  const routes = valuesOf(samples, "semel_requests_total", "route").filter(
    (route) => total(samples, "semel_requests_total", { route }) > 0,
  );
  if (!routes.length)
    return html`<${Empty} title="No request yet">Point a client at this gateway, or try <code>semel demo</code>. Counts begin when the process starts.<//>`;
  const of = (route, outcome) => total(samples, "semel_requests_total", { route, outcome });
  const columns = [
    { title: "Route", wide: true, cell: (route) => html`<code>${route || "no route"}</code>` },
    ...OUTCOMES.map(([outcome, title]) => ({
      title,
      number: true,
      cell: (route) => {
        const number = of(route, outcome);
        return outcome === "unknown" && number > 0
          ? html`<${Chip} level="red">${count(number)}<//>`
          : number
            ? count(number)
            : html`<span class="muted">0</span>`;
      },
    })),
    {
      title: "duplicates",
      number: true,
      cell: (route) => share(of(route, "replayed"), of(route, "replayed") + of(route, "ran")),
    },
  ];
  return html`<${Table} label="Requests by route since the start" columns=${columns} items=${routes}
    keyOf=${(route) => route} />`;
}

export function Now() {
  const { session, doubt } = useDesk();
  const now = useLoad((signal) => get("/v1/now", signal), [], 10_000);
  const ready = useLoad(readiness, [], 30_000);
  const metrics = useLoad(async (signal) => parseMetrics(await getText("/metrics", signal)), [], 10_000);
  const destinations = useLoad(
    (signal) => (offers(session, "GET /v1/destinations") ? get("/v1/destinations", signal) : null),
    [],
    10_000,
  );
  const webhooks = useLoad((signal) => (offers(session, "GET /v1/webhooks") ? get("/v1/webhooks", signal) : null), [], 30_000);
  const outboxes = useLoad((signal) => (offers(session, "GET /v1/outbox") ? get("/v1/outbox", signal) : null), [], 30_000);
  const audited = useLoad((signal) => auditsOf(session, signal), [], 60_000);
  if (!now.data)
    return html`<${Head} title="Now" />${now.problem ? html`<${ProblemBox} problem=${now.problem}
      retry=${now.reload} />` : html`<${Wait} />`}`;
  const found = verdict({
    now: now.data,
    doubt: doubt?.data,
    ready: ready.data,
    destinations: destinations.data?.items,
    webhooks: webhooks.data?.items,
    outboxes: outboxes.data?.items,
    audited: audited.data,
  });
  return html`<${Head} title="Now" />
    ${now.problem && html`<${ProblemBox} problem=${now.problem} retry=${now.reload} />`}
    <${Verdict} found=${found} at=${now.data.at} />
    <${Strip} now=${now.data} destinations=${destinations.data?.items ?? []} />
    <${Tiles} now=${now.data} />
    <section><h2>Routes <span class="muted">since the start of this process</span></h2>${metrics.data ? html`<${Routes}
      samples=${metrics.data} />` : html`<${ProblemBox} problem=${metrics.problem} />`}</section>`;
}
