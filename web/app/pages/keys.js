// Keys: find one by whatever is in hand, or list those that are not done.
import { html, useEffect, useState } from "../html.js";
import { get, post, withQuery } from "../api.js";
import { useLoad, usePieces } from "../load.js";
import { duration } from "../format.js";
import { remember } from "../found.js";
import { go, href } from "../route.js";
import { Empty, GoOn, Head, Id, Input, ProblemBox, State, Table, When, useDesk } from "../parts.js";

const HASH = /^(?:[0-9a-f]{2}){3,32}$/i;

// A path that the route matches: `*` stands for anything.
const pathOf = (pattern) => pattern.replace(/\*/g, "x").replace(/\{[^}]*\}/g, "x");
// The fields that a scope is made of: `{header:Authorization}` needs one.
export const fieldsOf = (scope) => [...scope.matchAll(/\{header:([^}?]+)\??\}/g)].map((found) => found[1]);

// What the text in hand most likely is.
export function guess(text, config) {
  if (HASH.test(text)) return "id";
  if (/^(evt|ev|msg|we)_/.test(text) && config?.webhooks.length) return "webhook";
  return config?.routes.length ? "route" : "parts";
}

const routeOf = (values, config) => config.routes[Number(values.route ?? 0)] ?? config.routes[0];

function bodyOf(how, text, values, config) {
  if (how === "id") return { id: text };
  if (how === "webhook") return { webhook: values.webhook || config?.webhooks[0]?.path, event: text };
  if (how === "parts") return { namespace: values.namespace || "default", scope: values.scope ?? "", key: text };
  const route = routeOf(values, config);
  const fields = Object.fromEntries(
    fieldsOf(route.scope)
      .map((name) => [name, values[`field:${name}`] ?? ""])
      .filter(([, value]) => value),
  );
  return { route: values.path || pathOf(route.path), method: route.methods[0], fields, key: text };
}

const WAYS = [
  ["route", "what a client sent"],
  ["webhook", "an event of a webhook"],
  ["id", "an id or a hash from the log"],
  ["parts", "namespace and scope"],
];

function Ways({ how, values, set, config }) {
  const input = (name, label, hint = "") =>
    html`<${Input} id=${`find-${name}`} label=${label} hint=${hint}>${(ties) => html`
    <input ...${ties} type="text" value=${values[name] ?? ""} onInput=${(event) => set(name, event.target.value)}
      spellcheck="false" autocapitalize="off" />`}<//>`;
  if (how === "parts")
    return html`${input("namespace", "Namespace", "default, if left empty")}${input("scope", "Scope", "as the client sends it")}`;
  if (how === "webhook") {
    return html`<${Input} id="find-webhook" label="Webhook">${(
      ties,
    ) => html`<select ...${ties} value=${values.webhook ?? ""} onChange=${(event) => set("webhook", event.target.value)}>
      ${(config?.webhooks ?? []).map((webhook) => html`<option
        value=${webhook.path}>${webhook.provider} ${webhook.path}</option>`)}</select>`}<//>`;
  }
  if (how !== "route" || !config?.routes.length) return null;
  const route = routeOf(values, config);
  return html`<${Input} id="find-route" label="Route">${(
    ties,
  ) => html`<select ...${ties} value=${values.route ?? "0"} onChange=${(event) => set("route", event.target.value)}>
      ${config.routes.map((each, at) => html`<option
        value=${String(at)}>${each.methods.join(", ")} ${each.path}</option>`)}</select>`}<//>
    ${fieldsOf(route.scope).map((name) => input(`field:${name}`, name, "The key belongs to this caller: what the client sends in this field."))}`;
}

// A form of its own for each `first`: what is typed into it is never overwritten.
function Find({ config, first }) {
  const [text, setText] = useState(first ?? "");
  const [chosen, setChosen] = useState(null);
  const [values, setValues] = useState({});
  const [result, setResult] = useState({ items: null, problem: null, busy: false });
  const how = chosen ?? guess(text.trim(), config);
  const find = async (event) => {
    event?.preventDefault();
    if (!text.trim())
      return setResult({
        items: null,
        problem: { title: "Nothing to find", detail: "Paste a key, an id or an event first." },
        busy: false,
      });
    setResult({ items: null, problem: null, busy: true });
    try {
      const body = bodyOf(how, text.trim(), values, config);
      const { items } = await post("/v1/keys/find", body);
      if (items.length === 1 && how === "route") remember(items[0].id, { ...body, probe: routeOf(values, config).probe });
      if (items.length === 1) return go(["keys", items[0].id]);
      setResult({ items, problem: null, busy: false });
    } catch (problem) {
      setResult({ items: null, problem, busy: false });
    }
  };
  useEffect(() => {
    if (first && config && guess(first, config) === "id") find();
  }, [first, config]);
  return html`<form class="card find" onSubmit=${find}>
    <div class="row"><${Input} id="find-text" label="Key, hash or event">${(ties) => html`
      <input ...${ties} type="text" value=${text} onInput=${(event) => setText(event.target.value)} spellcheck="false"
        autocapitalize="off" autocomplete="off" />`}<//>
    <${Input} id="find-how" label="It is">${(
      ties,
    ) => html`<select ...${ties} value=${how} onChange=${(event) => setChosen(event.target.value)}>
      ${WAYS.map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select>`}<//></div>
    <div class="row"><${Ways} how=${how} values=${values} config=${config}
      set=${(name, value) => setValues({ ...values, [name]: value })} /></div>
    <button type="submit" class="primary" disabled=${result.busy}>Find</button>
    <${ProblemBox} problem=${result.problem} />
    ${result.items && html`<p>${result.items.length} keys begin like this:</p><${KeyTable} items=${result.items}
      label="Keys that begin alike" />`}
  </form>`;
}

// Namespaces with the routes and webhooks whose keys are there: a key does not say by which of them it came.
export function spacesOf(config) {
  const spaces = new Map();
  for (const { namespace, path } of [...(config?.routes ?? []), ...(config?.webhooks ?? [])]) {
    spaces.set(namespace, [...(spaces.get(namespace) ?? []), path]);
  }
  return spaces;
}

// Chooses by route, as far as a store knows it.
export function RouteFilter({ id, config, value, onChange }) {
  const spaces = spacesOf(config);
  if (value && !spaces.has(value)) spaces.set(value, [value]);
  return html`<${Input} id=${id} label="Route">${(ties) => html`<select ...${ties} value=${value} onChange=${onChange}>
    <option value="">any</option>${[...spaces].map(([space, paths]) => html`<option value=${space}>${paths.join(", ")}</option>`)}</select>`}<//>`;
}

const SUGGESTED = { done: "done", "not-done": "not done", person: "needs a person", "ask-again": "not known yet" };
// What a resolver thinks of a key, in two words; nothing if it has not said anything.
export const suggested = (suggestion) => SUGGESTED[suggestion?.as] ?? "";

export function KeyTable({ items, label }) {
  const { now } = useDesk();
  const columns = [
    { title: "Key", cell: (item) => html`<a href=${href(["keys", item.id])}><${Id} id=${item.id} /></a>` },
    { title: "State", cell: (item) => html`<${State} of=${item.state} />` },
    { title: "Waiting for", number: true, cell: (item) => duration(now - Date.parse(item.claimed_at)) },
    { title: "Claimed", cell: (item) => html`<${When} at=${item.claimed_at} />` },
    { title: "Namespace", cell: (item) => html`<span class="text">${item.namespace}</span>` },
    { title: "Scope", cell: (item) => html`<${Id} id=${item.scope} digits=${8} />` },
    { title: "Fence", number: true, cell: (item) => item.fence },
    { title: "Forgotten", cell: (item) => html`in ${duration(item.expires_in_ms)}` },
  ];
  if (items.some((item) => item.suggestion)) {
    columns.splice(2, 0, {
      title: "Resolver",
      wide: true,
      cell: (item) =>
        item.suggestion
          ? html`<span><b>${suggested(item.suggestion)}</b> <span class="muted text">${item.suggestion.why}</span></span>`
          : html`<span class="muted">nothing yet</span>`,
    });
  }
  return html`<${Table} label=${label} columns=${columns} items=${items} keyOf=${(item) => item.id} />`;
}

function List({ query, config }) {
  const filter = {
    state: query.state || "running",
    older: query.older ?? "",
    namespace: query.namespace ?? "",
    scope: query.scope ?? "",
  };
  const list = usePieces(
    (cursor, signal) => get(withQuery("/v1/keys", { ...filter, cursor, limit: 100 }), signal),
    [JSON.stringify(filter)],
  );
  const set = (name) => (event) => go(["keys"], { ...query, [name]: event.target.value });
  return html`<section><h2>Not done</h2>
    <div class="row filters">
      <${Input} id="list-state" label="State">${(ties) => html`<select ...${ties} value=${filter.state} onChange=${set("state")}>
        <option value="running">running</option><option value="unknown">in doubt</option></select>`}<//>
      <${Input} id="list-older" label="Older than">${(
        ties,
      ) => html`<select ...${ties} value=${filter.older} onChange=${set("older")}>
        ${[
          ["", "any age"],
          ["1m", "1 minute"],
          ["10m", "10 minutes"],
          ["1h", "1 hour"],
          ["1d", "1 day"],
        ].map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select>`}<//>
      <${RouteFilter} id="list-namespace" config=${config} value=${filter.namespace} onChange=${set("namespace")} />
      <${Input} id="list-scope" label="Scope" hint="As the client sends it.">${(ties) => html`<input ...${ties} type="text" value=${filter.scope}
        onChange=${set("scope")} spellcheck="false" />`}<//>
    </div>
    ${list.items.length > 0 && html`<${KeyTable} items=${list.items} label="Keys that are not done" />`}
    ${list.complete && !list.items.length && html`<${Empty}
      title=${filter.state === "unknown" ? "Nothing is in doubt" : "Nothing is running"}>Keys that are done are found above, by what the client sent.<//>`}
    <${GoOn} list=${list} what="keys" /></section>`;
}

export function Keys({ query }) {
  const config = useLoad((signal) => get("/v1/config", signal));
  return html`<${Head} title="Keys"
    lead="Find one by what the customer sent. Nothing here counts rows: it costs the same with ten million keys." />
    <${Find} key=${query.find ?? ""} config=${config.data} first=${query.find} />
    <${List} query=${query} config=${config.data} />`;
}
