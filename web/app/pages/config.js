// Config: every option as it is in force. Secrets are never sent here.
import { html, useState } from "../html.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { Chip, Empty, Head, Input, ProblemBox, Table, Wait } from "../parts.js";

// The options by table: [[route]] comes once for each route, which is noticed by an option that comes again.
export function tablesOf(settings) {
  const tables = [];
  for (const setting of settings) {
    let mine = tables.findLast((each) => each.table === setting.table);
    if (!mine || mine.options.some((option) => option.option === setting.option))
      tables.push((mine = { table: setting.table, options: [] }));
    mine.options.push(setting);
  }
  return tables;
}

// What tells a repeated table from its sisters.
const REPEATED = ["route", "webhook", "upstream.*", "api.token"];
const nameOf = ({ table, options }) =>
  REPEATED.includes(table) &&
  ["path", "name", "url"].map((name) => options.find((option) => option.option === name)?.value).find(Boolean);

export function ConfigPage({ query }) {
  const config = useLoad((signal) => get("/v1/config", signal));
  const [text, setText] = useState(query.find ?? "");
  const [all, setAll] = useState(false);
  const head = html`<${Head} title="Config"
    lead="As it is in force, with the last reload. What conf/semel.toml says of each option is the manual." />`;
  if (!config.data)
    return html`${head}${config.problem ? html`<${ProblemBox} problem=${config.problem}
      retry=${config.reload} />` : html`<${Wait} />`}`;
  const wanted = (table) => (option) =>
    (all || option.set || text) && `${table} ${option.option} ${option.value}`.toLowerCase().includes(text.toLowerCase());
  const tables = tablesOf(config.data.settings)
    .map((each) => ({ ...each, shown: each.options.filter(wanted(each.table)) }))
    .filter((each) => each.shown.length);
  const columns = [
    { title: "Option", cell: (option) => html`<code>${option.option}</code>` },
    { title: "Value", wide: true, cell: (option) => html`<code class="text">${option.value}</code>` },
    { title: "Default", cell: (option) => html`<code class="muted text">${option.default || "–"}</code>` },
    {
      title: "",
      cell: (option) => (option.set && option.value !== option.default ? html`<${Chip} level="blue">changed<//>` : null),
    },
  ];
  return html`${head}
    <div class="row filters"><${Input} id="config-find" label="Filter">${(ties) => html`<input ...${ties} type="search"
      value=${text} onInput=${(event) => setText(event.target.value)} />`}<//>
      <label class="check"><input type="checkbox" checked=${all}
        onChange=${(event) => setAll(event.target.checked)} /> with defaults</label></div>
    ${config.data.settings.length === 0 && html`<${Empty}
      title="There is no file">This gateway was started with --upstream: every option has its default.<//>`}
    ${config.data.settings.length > 0 && tables.length === 0 && html`<${Empty}
      title="No option is like that">Clear the filter, or show those with their defaults, too.<//>`}
    ${tables.map(
      (each) => html`<section><h2><code>[${each.table}]</code> <span class="muted text">${nameOf(each)}</span></h2>
      <${Table} label=${`Options of ${each.table}`} columns=${columns} items=${each.shown}
        keyOf=${(option) => option.option} /></section>`,
    )}`;
}
