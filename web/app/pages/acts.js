// What an operator can do to a key. Each act says on which fence it was decided, why, and is confirmed in letters: a key that has
// moved on meanwhile is not touched.
import { html } from "../html.js";
import { ActForm, Choices, cannot } from "../act_form.js";
import { get, post } from "../api.js";
import { requestOf } from "../found.js";
import { useLoad } from "../load.js";
import { Input, may, useDesk } from "../parts.js";

const ACTS = {
  done: {
    title: "It happened",
    lead: "The service did the work. Every retry gets the answer that you give here.",
    word: "done",
    button: "Settle as done",
    path: "resolve",
  },
  "not-done": {
    title: "It did not happen",
    lead: "There is no trace of it at the service. The next retry of the same request runs.",
    word: "not done",
    button: "Settle as not done",
    path: "resolve",
  },
  probe: {
    title: "Ask the service",
    lead: "The service is asked what became of the request that you found this key by. If it happened, retries get its answer.",
    word: "ask",
    button: "Ask, and settle as done",
    path: "resolve",
  },
  suggestion: {
    title: "The resolver is right: it happened",
    lead: "The resolver found the answer. Every retry gets that one, as the service gave it.",
    word: "done",
    button: "Settle as the resolver says",
    path: "resolve",
  },
  reopen: {
    title: "Run it again",
    lead: "The stored answer is dropped, and the next request with this key runs. Whatever the first run did stays done.",
    word: "reopen",
    button: "Reopen",
    path: "reopen",
  },
};

// "Name: value" on each line.
export function fieldsIn(text) {
  const fields = [];
  for (const line of text
    .split("\n")
    .map((each) => each.trim())
    .filter(Boolean)) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`"${line}" is not a field: write Name: value`);
    fields.push({ name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() });
  }
  return fields;
}

// What is wrong with the answer, by field.
export function faultsOf({ status, fields }) {
  const faults = {};
  const number = Number(status);
  if (!Number.isInteger(number) || number < 200 || number > 599) faults.status = "200 to 599";
  try {
    fieldsIn(fields);
  } catch (error) {
    faults.fields = error.message;
  }
  return faults;
}

function bodyOf(act, fence, { reason, status, fields, body }, request) {
  if (act === "reopen") return { fence, reason };
  if (act === "suggestion") return { fence, as: "done", from: "suggestion", reason };
  if (act === "probe") return { fence, as: "done", from: "probe", reason, ...request };
  if (act === "not-done") return { fence, as: "not-done", reason };
  return { fence, as: "done", reason, response: { status: Number(status), fields: fieldsIn(fields), body } };
}

// Whether this gateway can ask; older ones cannot.
const knowsProbes = (document) => Boolean(document.components.schemas.Resolve.properties.from);

const ANSWER = { status: "201", fields: "Content-Type: application/json", body: "" };

function Answer({ values, set, faults }) {
  const typed = (name) => ({ value: values[name], spellcheck: false, onInput: (event) => set(name, event.target.value) });
  return html`<fieldset><legend>The answer that retries get</legend>
    <${Input} id="act-status" label="Status" fault=${faults.status}>${(ties) => html`
      <input ...${ties} ...${typed("status")} type="text" inputmode="numeric" class="narrow" />`}<//>
    <${Input} id="act-fields" label="Fields" hint="One on each line, as in Location: /payments/1" fault=${faults.fields}>
      ${(ties) => html`<textarea ...${ties} ...${typed("fields")} rows="2"></textarea>`}<//>
    <${Input} id="act-body" label="Body" hint="As the service would have sent it.">${(ties) => html`
      <textarea ...${ties} ...${typed("body")} rows="4"></textarea>`}<//>
  </fieldset>`;
}

// What the resolver says for or against an act.
function evidence(name, suggestion) {
  if (!suggestion) return null;
  const agrees = name === "suggestion" || name === suggestion.as;
  return html`The resolver ${agrees ? "suggests this" : "does not suggest this"}: <span class="text">${suggestion.why}</span>. `;
}

export function Acts({ of, onDone }) {
  const { session } = useDesk();
  const { probe, ...request } = requestOf(of.id) ?? {};
  const asks = useLoad(async (signal) => Boolean(probe) && knowsProbes(await get("/v1/openapi.json", signal)), [of.id]);
  const found = of.suggestion?.as === "done" && of.suggestion.answer;
  const settles = [found && "suggestion", asks.data && "probe", "done", "not-done"].filter(Boolean);
  const offered = of.state === "unknown" ? settles : of.state === "done" ? ["reopen"] : [];
  if (!offered.length) return null;
  const why = cannot(session, may);
  const send = (name) => async (values) => {
    try {
      onDone(await post(`/v1/keys/${of.id}/${ACTS[name].path}`, bodyOf(name, of.fence, values, request)));
    } catch (problem) {
      if (!problem.key) throw problem;
      onDone({ key: problem.key, refused: problem }); // it has moved on: the page shows how it stands
    }
  };
  const form = (name, leave) => html`<${ActForm} act=${ACTS[name]} send=${send(name)} onLeave=${leave}
    more=${name === "done" ? ANSWER : {}} check=${name === "done" ? faultsOf : undefined}
    note=${html`${evidence(name, of.suggestion)}Decided on fence <b>${of.fence}</b>. If the key has moved on, nothing is done.`}>
    ${name === "done" ? (parts) => html`<${Answer} ...${parts} />` : null}<//>`;
  return html`<section class="card acts"><h2>${of.state === "unknown" ? "Settle it" : "Change it"}</h2>
    ${why ? html`<p class="muted">${why}</p>` : html`<${Choices} acts=${ACTS} offered=${offered} form=${form} />`}
  </section>`;
}
