// What all pages are made of: times, chips, problems, empty states, tables, lists that go on.
import { html, createContext, useContext, useState, useEffect } from "./html.js";
import { ago, cityName, clock, duration, moment, short } from "./format.js";

// What the whole page knows: the session, the zone that times are shown in, the time of now (each second).
export const Desk = createContext({ session: {}, zone: undefined, now: 0 });
export const useDesk = () => useContext(Desk);
export const may = (session, role) =>
  ["viewer", "operator", "admin"].indexOf(session.role) >= ["viewer", "operator", "admin"].indexOf(role);
export const offers = (session, operation) => (session.operations ?? []).includes(operation);

// A time in the chosen zone; the other zone is in its title.
export function When({ at, both = false, since = false }) {
  const { zone, now } = useDesk();
  const time = typeof at === "number" ? at : Date.parse(at);
  if (!at || Number.isNaN(time)) return html`<span class="muted">–</span>`;
  const other = zone === "UTC" ? undefined : "UTC";
  const named = (its) => (its === "UTC" ? "UTC" : cityName());
  const title = `${clock(time, zone, { date: true })} ${named(zone)}\n${clock(time, other, { date: true })} ${named(other)}`;
  return html`<span class="when"><time datetime=${new Date(time).toISOString()} title=${title}>${moment(time, now, zone)}</time>${
    both && html` <span class="muted">${named(zone)} · ${clock(time, other)} ${named(other)}</span>`
  }${since && html` <span class="muted">· ${time > now ? `in ${duration(time - now)}` : ago(time, now)}</span>`}</span>`;
}

const STATES = {
  unknown: ["red", "in doubt"],
  running: ["blue", "running"],
  done: ["green", "done"],
  released: ["grey", "free again"],
  waiting: ["blue", "waiting"],
  dead: ["red", "dead letter"],
  superseded: ["grey", "overtaken"],
  skipped: ["grey", "skipped"],
  discarded: ["grey", "discarded"],
};

export function Chip({ level = "grey", children }) {
  return html`<span class="chip ${level}">${children}</span>`;
}

export function State({ of }) {
  const [level, words] = STATES[of] ?? ["grey", of];
  return html`<${Chip} level=${level}>${words}<//>`;
}

// In the problem's own words.
export function ProblemBox({ problem, retry = null, children = null }) {
  if (!problem) return null;
  const status = problem.status ? `${problem.status} ` : "";
  return html`<div class="box red" role="alert"><strong>${status}${problem.title || "Error"}</strong>
    <p class="text">${problem.detail || problem.message}</p>${children}
    ${retry && html`<button type="button" onClick=${retry}>Ask again</button>`}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><strong>${title}</strong>${children && html`<p>${children}</p>`}</div>`;
}

// Only after a while, so that quick answers do not flicker; and it never stays, because every call ends.
export function Wait({ words = "Asking the gateway…" }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class="muted" role="status">${late ? words : "\u00a0"}</p>`;
}

// A button that copies. The clipboard may be forbidden; then the text is there to be selected.
export function Copy({ text, what }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      setDone(false);
    }
  };
  return html`<button type="button" class="quiet small" onClick=${copy} aria-label=${`Copy ${what}`}>
    ${done ? "copied" : "copy"}</button>`;
}

export const Id = ({ id, digits = 12 }) => html`<code class="id" title=${id}>${short(id, digits)}</code>`;

// `columns`: [{title, cell(item), wide?, number?}]. On a narrow screen each row becomes a block with its titles.
export function Table({ columns, items, label, keyOf, rowClass = () => "" }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${columns.map((column) => html`<th scope="col"
      class=${column.number ? "number" : ""}>${column.title}</th>`)}</tr></thead>
    <tbody>${items.map(
      (item, at) =>
        html`<tr key=${keyOf ? keyOf(item) : at} class=${rowClass(item)}>${columns.map(
          (column) => html`
      <td data-title=${column.title}
        class="${column.number ? "number" : ""} ${column.wide ? "wide" : ""}">${column.cell(item)}</td>`,
        )}</tr>`,
    )}</tbody>
  </table></div>`;
}

// The end of a list that came in pieces: "searched to 14:02, go on".
export function GoOn({ list, what = "entries" }) {
  const { zone, now } = useDesk();
  if (list.problem) return html`<${ProblemBox} problem=${list.problem} retry=${list.cursor ? list.goOn : list.reload} />`;
  if (list.busy) return html`<${Wait} words="Searching…" />`;
  if (list.complete)
    return list.items.length
      ? html`<p class="muted end">That is all: ${list.items.length.toLocaleString("en-US")} ${what}.</p>`
      : null;
  const to = list.searchedTo ? `Searched to ${moment(Date.parse(list.searchedTo), now, zone)}. ` : "There is more. ";
  return html`<p class="end"><span class="muted">${to}</span><button type="button" onClick=${list.goOn}>Go on</button></p>`;
}

export function Facts({ children }) {
  return html`<dl class="facts">${children}</dl>`;
}

export function Fact({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

// A labelled control with what is wrong about it. `children` gets the attributes that tie them together.
export function Input({ id, label, hint = "", fault = "", children }) {
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  const ties = { id, "aria-describedby": described || undefined, "aria-invalid": fault ? "true" : undefined };
  return html`<div class="input"><label for=${id}>${label}</label>${children(ties)}
    ${hint && html`<span class="hint" id=${`${id}-hint`}>${hint}</span>`}
    ${fault && html`<span class="fault" id=${`${id}-fault`}>${fault}</span>`}</div>`;
}

export function Head({ title, lead = null, children = null }) {
  useEffect(() => {
    document.title = `${title} · Semel`;
  }, [title]);
  return html`<header class="head"><div><h1 tabindex="-1" id="title">${title}</h1>${lead && html`<p
    class="lead">${lead}</p>`}</div>${children}</header>`;
}

export const Missing = ({ what, how }) => html`<${Empty} title=${`This gateway has no ${what}`}>
  ${how ?? "Its version or its store does not offer it."} Everything else works without.<//>`;
