// What an operator can do to a key. Each act says on which fence it was decided, why, and is confirmed in letters: a key that has
// moved on meanwhile is not touched.
import { html, useRef, useState } from "../html.js";
import { post } from "../api.js";
import { Input, ProblemBox, may, useDesk } from "../parts.js";

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

// What is wrong with the form, by field; empty if nothing is.
export function faultsOf(act, values) {
  const faults = {};
  if (!values.reason.trim()) faults.reason = "Say why: whoever reads the log tomorrow was not here.";
  if (values.confirm.trim().toLowerCase() !== ACTS[act].word) faults.confirm = `Type ${ACTS[act].word} to confirm.`;
  if (act === "done") {
    const status = Number(values.status);
    if (!Number.isInteger(status) || status < 200 || status > 599) faults.status = "200 to 599";
    try {
      fieldsIn(values.fields);
    } catch (error) {
      faults.fields = error.message;
    }
  }
  return faults;
}

export function bodyOf(act, fence, values) {
  if (act === "reopen") return { fence, reason: values.reason.trim() };
  if (act === "not-done") return { fence, as: "not-done", reason: values.reason.trim() };
  return {
    fence,
    as: "done",
    reason: values.reason.trim(),
    response: { status: Number(values.status), fields: fieldsIn(values.fields), body: values.body },
  };
}

function Answer({ values, set, faults }) {
  const text = (name, label, more) =>
    html`<${Input} id=${`act-${name}`} label=${label} fault=${faults[name]} hint=${more.hint ?? ""}>${(ties) =>
      more.control(ties, {
        value: values[name],
        onInput: (event) => set(name, event.target.value),
        spellcheck: false,
      })}<//>`;
  return html`<fieldset><legend>The answer that retries get</legend>
    ${text("status", "Status", { control: (ties, rest) => html`<input ...${ties} ...${rest} type="text"
      inputmode="numeric" class="narrow" />` })}
    ${text("fields", "Fields", { hint: "One on each line, as in Location: /payments/1", control: (ties, rest) => html`<textarea ...${ties} ...${rest} rows="2"></textarea>` })}
    ${text("body", "Body", { hint: "As the service would have sent it.", control: (ties, rest) => html`<textarea ...${ties} ...${rest} rows="4"></textarea>` })}
  </fieldset>`;
}

function Form({ act, of, onDone, onLeave }) {
  const { title, lead, word, button, path } = ACTS[act];
  const [values, setValues] = useState({
    reason: "",
    confirm: "",
    status: "201",
    fields: "Content-Type: application/json",
    body: "",
  });
  const [faults, setFaults] = useState({});
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef(null);
  const set = (name, value) => setValues({ ...values, [name]: value });
  const submit = async (event) => {
    event.preventDefault();
    const wrong = faultsOf(act, values);
    setFaults(wrong);
    if (Object.keys(wrong).length) {
      const first = ["status", "fields", "reason", "confirm"].find((name) => wrong[name]);
      form.current.querySelector(`#act-${first}`)?.focus();
      return;
    }
    setBusy(true);
    try {
      onDone(await post(`/v1/keys/${of.id}/${path}`, bodyOf(act, of.fence, values)));
    } catch (caught) {
      setProblem(caught);
      if (caught.key) onDone({ key: caught.key, refused: caught });
    }
    setBusy(false);
  };
  return html`<form class="act" ref=${form} onSubmit=${submit} aria-label=${button}>
    <h3>${title}</h3><p>${lead}</p>
    ${act === "done" && html`<${Answer} values=${values} set=${set} faults=${faults} />`}
    <${Input} id="act-reason" label="Reason" hint="For the audit log." fault=${faults.reason}>${(ties) => html`
      <textarea ...${ties} rows="2" maxlength="1000" value=${values.reason}
        onInput=${(event) => set("reason", event.target.value)}></textarea>`}<//>
    <p class="fence-line">Decided on fence <b>${of.fence}</b>. If the key has moved on, nothing is done.</p>
    <${Input} id="act-confirm" label=${`Type “${word}” to confirm`} fault=${faults.confirm}>${(ties) => html`
      <input ...${ties} type="text" class="narrow" autocomplete="off" autocapitalize="off" spellcheck=${false}
        value=${values.confirm} onInput=${(event) => set("confirm", event.target.value)} />`}<//>
    <${ProblemBox} problem=${problem} />
    <div class="buttons"><button type="submit" class="primary" disabled=${busy}>${button}</button><button type="button"
      class="quiet" onClick=${onLeave}>Leave it</button></div>
  </form>`;
}

export function Acts({ of, onDone }) {
  const { session } = useDesk();
  const [act, setAct] = useState(null);
  const offered = of.state === "unknown" ? ["done", "not-done"] : of.state === "done" ? ["reopen"] : [];
  if (!offered.length) return null;
  const done = (result) => {
    setAct(null);
    onDone(result);
  };
  if (!session.tokens)
    return html`<section class="card"><h2>Settle it</h2><p
      class="muted">Needs a token: set token or tokens in [admin], then sign in.</p></section>`;
  if (!may(session, "operator"))
    return html`<section class="card"><h2>Settle it</h2><p
      class="muted">Needs the role operator; yours is ${session.role}.</p></section>`;
  return html`<section class="card acts"><h2>${of.state === "unknown" ? "Settle it" : "Change it"}</h2>
    ${
      act
        ? html`<${Form} key=${act} act=${act} of=${of} onDone=${done} onLeave=${() => setAct(null)} />`
        : html`<div class="choices">${offered.map((each) => html`<button type="button" class="choice"
          onClick=${() => setAct(each)}><b>${ACTS[each].title}</b><span>${ACTS[each].lead}</span></button>`)}</div>`
    }
  </section>`;
}
