// Audit log: what operators did. Each entry's hash covers the one before; the browser checks that itself.
import { html, useEffect, useState } from "../html.js";
import { get, withQuery } from "../api.js";
import { parse } from "../format.js";
import { jobScope } from "../inbox_rules.js";
import { useLoad } from "../load.js";
import { href } from "../route.js";
import { Chip, Empty, Head, Id, ProblemBox, Table, Wait, When } from "../parts.js";

const PIECE = 1000; // entries of one call
const PIECES_MAX = 20;
const SHOWN = 200;

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// The number of the first entry that does not follow from the one before; 0 if all do; null where a browser cannot tell.
export async function firstBroken(entries, subtle = globalThis.crypto?.subtle) {
  if (!subtle) return null;
  let before = "00".repeat(32);
  for (const [at, { number, hash, entry }] of entries.entries()) {
    const bytes = Uint8Array.from(`semel audit v1\n${before}\n${number}\n${entry}`, (c) => c.charCodeAt(0));
    if (number !== at + 1 || hex(await subtle.digest("SHA-256", bytes)) !== hash) return number;
    before = hash;
  }
  return 0;
}

// All entries behind the last of `before`, piece by piece, but not more pieces than somebody waits for.
async function readOn(before, signal) {
  const entries = [...before];
  for (let piece = 0; piece < PIECES_MAX; piece += 1) {
    const after = entries.length ? entries[entries.length - 1].number : 0;
    const { items, complete } = await get(withQuery("/v1/audit", { after, limit: PIECE }), signal);
    entries.push(...items);
    if (complete || !items.length) return { entries, complete: true };
  }
  return { entries, complete: false };
}

function parsed(entry) {
  try {
    return parse(entry.entry);
  } catch {
    return { act: entry.entry };
  }
}

// The acts, newest first, each with what came of it.
export function actsOf(entries) {
  const acts = new Map();
  for (const entry of entries) {
    const said = parsed(entry);
    if (said.of !== undefined) {
      const act = acts.get(said.of);
      if (act) act.outcome = said.outcome;
    } else {
      acts.set(entry.number, { number: entry.number, ...said });
    }
  }
  return [...acts.values()].reverse();
}

function Chain({ entries }) {
  const [broken, setBroken] = useState(undefined);
  useEffect(() => {
    let stale = false;
    firstBroken(entries).then((number) => stale || setBroken(number));
    return () => {
      stale = true;
    };
  }, [entries]);
  if (broken === undefined || entries.length === 0) return null;
  if (broken === null) return html`<${Chip}>not checked here: needs TLS or this machine<//>`;
  if (broken) return html`<${Chip} level="red">the chain is broken at entry ${broken}<//>`;
  return html`<${Chip} level="green">chain whole, 1 to ${entries[entries.length - 1].number}<//>`;
}

const ACTS = { "resolve as done": "green", "resolve as not-done": "amber", reopen: "blue", "read response": "grey" };

function outcomeOf(act) {
  if ((act.act ?? "").startsWith("read ")) return html`<span class="muted">shown</span>`;
  if (!act.outcome) return html`<${Chip} level="amber">cut off: look at the key<//>`;
  return html`<${Chip} level=${act.outcome === "applied" ? "green" : "amber"}>${act.outcome}<//>`;
}

// What it was done to: a key, an event of the inbox, a job, or a destination.
function Subject({ of }) {
  if (of.id) {
    return html`<a href=${href(["keys", of.id])}><${Id} id=${of.id} /></a>${of.fence
      ? html` <span class="muted">fence ${of.fence}</span>` : null}`;
  }
  if (of.job) return html`<a href=${href(["jobs"])}>job ${of.job}</a> <span class="muted text">${jobScope(of)}</span>`;
  const to = of.destination ? html` <span class="muted text">${of.destination}</span>` : null;
  return of.event ? html`<a href=${href(["inbox", of.event])}><${Id} id=${of.event} /></a>${to}` : html`<span class="text">${of.destination || "–"}</span>`;
}

export function Audit() {
  const [before, setBefore] = useState([]);
  const log = useLoad((signal) => readOn(before, signal), [before]);
  const [shown, setShown] = useState(SHOWN);
  if (!log.data)
    return html`<${Head} title="Audit log" />${log.problem ? html`<${ProblemBox} problem=${log.problem}
      retry=${log.reload} />` : html`<${Wait} />`}`;
  const { entries, complete } = log.data;
  const acts = actsOf(entries);
  const columns = [
    { title: "#", number: true, cell: (act) => act.number },
    { title: "When", cell: (act) => html`<${When} at=${act.at} />` },
    { title: "Act", cell: (act) => html`<${Chip} level=${ACTS[act.act] ?? "grey"}>${act.act}<//>` },
    {
      title: "What",
      cell: (act) => html`<${Subject} of=${act} />`,
    },
    {
      title: "Who",
      cell: (act) => html`<span class="text">${act.who || "–"}</span> <span class="muted">${act.role} · ${act.from}</span>`,
    },
    { title: "Reason", wide: true, cell: (act) => html`<span class="text">${act.reason || "–"}</span>` },
    { title: "Outcome", cell: outcomeOf },
  ];
  return html`<${Head} title="Audit log" lead="Every act was written here before it was done. Newest first."><${Chain}
    entries=${entries} /><//>
    ${!complete && html`<div class="box amber"><strong>Read to entry ${entries[entries.length - 1].number}</strong>
      <p>There are newer ones.</p><button type="button" disabled=${log.busy} onClick=${() => setBefore(entries)}>Go on</button></div>`}
    ${
      acts.length === 0
        ? html`<${Empty} title="Nobody has done anything yet">Settling, reopening and looking at stored answers is written here.<//>`
        : html`<${Table} label="Acts, newest first" columns=${columns} items=${acts.slice(0, shown)}
          keyOf=${(act) => act.number} />`
    }
    ${acts.length > shown && html`<p class="end"><button type="button"
      onClick=${() => setShown(shown + SHOWN)}>Show older ones</button></p>`}`;
}
