// Tail: requests as they happen. The gateway filters; what this browser cannot keep up with is counted, not hidden.
import { html, useEffect, useRef, useState } from "../html.js";
import { Problem, get, withQuery } from "../api.js";
import { useLoad } from "../load.js";
import { count, figure, parse } from "../format.js";
import { href } from "../route.js";
import { Chip, Empty, Head, Input, ProblemBox, Table, When } from "../parts.js";

const KEPT = 500;
const LEVELS = { ran: "green", replayed: "violet", unknown: "red", refused: "amber", malformed: "amber", released: "grey" };

// What a piece of the stream says: lines, how many were dropped, and the rest that is not whole yet.
export function readEvents(text) {
  const pieces = text.split("\n\n");
  const rest = pieces.pop();
  const lines = [];
  let dropped = 0;
  for (const piece of pieces) {
    const fields = piece.split("\n");
    const data = fields
      .filter((field) => field.startsWith("data: "))
      .map((field) => field.slice(6))
      .join("\n");
    if (!data) continue;
    if (fields.includes("event: dropped")) dropped += parse(data).lines;
    else lines.push(parse(data));
  }
  return { lines, dropped, rest };
}

async function follow(path, signal, onNews) {
  const answer = await fetch(path, { signal, headers: { Accept: "text/event-stream", "X-Semel": "1" } });
  if (!answer.ok) throw new Problem({ ...parse(await answer.text()), status: answer.status });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const { lines, dropped, rest } = readEvents(held + value);
    held = rest;
    if (lines.length || dropped) onNews(lines, dropped);
  }
}

function useTail(filter, running) {
  const [state, setState] = useState({ lines: [], dropped: 0, seen: 0, problem: null });
  const pending = useRef({ lines: [], dropped: 0 });
  const path = withQuery("/v1/tail", filter);
  useEffect(() => {
    if (!running) return undefined;
    const stop = new AbortController();
    setState((before) => ({ ...before, problem: null }));
    follow(path, stop.signal, (lines, dropped) => {
      pending.current.lines.push(...lines);
      pending.current.dropped += dropped;
    }).then(
      () => {
        setState((before) => ({
          ...before,
          problem: new Problem({ title: "The stream has ended", detail: "The gateway closed it: it drains, or restarts." }),
        }));
      },
      (problem) => {
        if (!stop.signal.aborted) setState((before) => ({ ...before, problem }));
      },
    );
    // Twice a second, however many come.
    const timer = setInterval(() => {
      const { lines, dropped } = pending.current;
      if (!lines.length && !dropped) return;
      pending.current = { lines: [], dropped: 0 };
      setState((before) => ({
        ...before,
        lines: [...lines.reverse(), ...before.lines].slice(0, KEPT),
        dropped: before.dropped + dropped,
        seen: before.seen + lines.length,
      }));
    }, 500);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [path, running]);
  return { ...state, clear: () => setState({ lines: [], dropped: 0, seen: 0, problem: null }) };
}

export function Tail({ query }) {
  const [filter, setFilter] = useState({
    route: query.route ?? "",
    outcome: query.outcome ?? "",
    status: query.status ?? "",
    key: query.key ?? "",
  });
  const [running, setRunning] = useState(true);
  const config = useLoad((signal) => get("/v1/config", signal));
  const tail = useTail(filter, running);
  const set = (name) => (event) => setFilter({ ...filter, [name]: event.target.value.trim() });
  const routes = [...new Set([...(config.data?.routes ?? []), ...(config.data?.webhooks ?? [])].map((each) => each.path))];
  const select = (name, label, values) =>
    html`<${Input} id=${`tail-${name}`} label=${label}>${(
      ties,
    ) => html`<select ...${ties} value=${filter[name]} onChange=${set(name)}>
    <option value="">any</option>${values.map((value) => html`<option value=${value}>${value}</option>`)}</select>`}<//>`;
  const columns = [
    { title: "When", cell: (line) => html`<${When} at=${line.time} />` },
    { title: "Request", wide: true, cell: (line) => html`<code class="text">${line.method} ${line.path}</code>` },
    { title: "Status", number: true, cell: (line) => line.status },
    {
      title: "Outcome",
      cell: (line) => html`<${Chip} level=${LEVELS[line.outcome] ?? "grey"}>${line.problem || line.outcome || "–"}<//>`,
    },
    {
      title: "Key",
      cell: (line) => (line.key ? html`<a href=${href(["keys"], { find: line.key })}><code>${line.key}</code></a>` : "–"),
    },
    { title: "ms", number: true, cell: (line) => figure(line.ms) },
    {
      title: "From",
      cell: (line) =>
        html`<span class="text">${line.client ?? "–"}</span> <span class="muted text">${(line.agent ?? "").slice(0, 40)}</span>`,
    },
    {
      title: "Why",
      wide: true,
      cell: (line) =>
        html`<span class="text">${[line.cause, line.differs && `another ${line.differs}`, line.detail, line.event_type].filter(Boolean).join(" · ")}</span>`,
    },
  ];
  return html`<${Head} title="Tail" lead="Requests as they happen at this gateway, newest first.">
      <div class="buttons"><button type="button" onClick=${() => setRunning(!running)}>
        ${running ? "Hold" : "Go on"}</button><button type="button" onClick=${tail.clear}>Clear</button></div><//>
    <div class="row filters">${select("route", "Route", routes)}
      ${select("outcome", "Outcome", ["ran", "replayed", "unknown", "released", "refused", "in-flight", "key-reused", "outcome-unknown", "upstream-unreachable", "store-unavailable", "record-corrupt", "signature-invalid"])}
      ${select("status", "Status", ["2xx", "4xx", "5xx", "409", "422", "429", "502", "503"])}
      <${Input} id="tail-key" label="Key hash begins with">${(ties) => html`<input ...${ties} type="text"
        value=${filter.key} onChange=${set("key")} spellcheck=${false} />`}<//></div>
    <${ProblemBox} problem=${tail.problem} />
    <p class="muted" role="status">
      ${running ? "Watching" : "Held"}: ${count(tail.seen)} seen${tail.dropped ? `, ${count(tail.dropped)} left out because this browser is too slow` : ""}${tail.seen > KEPT ? `, the last ${KEPT} are shown` : ""}.</p>
    ${
      tail.lines.length
        ? html`<${Table} label="Requests, newest first" columns=${columns} items=${tail.lines} />`
        : !tail.problem &&
          html`<${Empty} title="Nothing yet">Lines appear here as soon as requests come that the filter lets through.<//>`
    }`;
}
