// The form of every act: what it does, why it is done, and a word that is typed to confirm it. What is wrong is said at its field,
// and nothing is sent until nothing is.
import { html, useRef, useState } from "./html.js";
import { Input, ProblemBox } from "./parts.js";

// What is missing in every act without a reason and its word.
function missing(values, word) {
  const faults = {};
  if (!values.reason.trim()) faults.reason = "Say why: whoever reads the log tomorrow was not here.";
  if (values.confirm.trim().toLowerCase() !== word) faults.confirm = `Type ${word} to confirm.`;
  return faults;
}

// `act`: {title, lead, word, button}. `more`: further values with what they begin with; `check(values)` says what is wrong with
// them, by name, and `children({values, set, faults})` shows them. `send(values)` does it; what it throws is shown.
export function ActForm({ act, more = {}, check = () => ({}), send, onLeave, note = null, children = null }) {
  const [values, setValues] = useState({ ...more, reason: "", confirm: "" });
  const [faults, setFaults] = useState({});
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef(null);
  const set = (name, value) => setValues({ ...values, [name]: value });
  const submit = async (event) => {
    event.preventDefault();
    const wrong = { ...check(values), ...missing(values, act.word) };
    setFaults(wrong);
    const first = Object.keys(values).find((name) => wrong[name]);
    if (first) return form.current.querySelector(`#act-${first}`)?.focus();
    setBusy(true);
    try {
      await send({ ...values, reason: values.reason.trim() });
    } catch (caught) {
      setProblem(caught);
    }
    setBusy(false);
  };
  return html`<form class="act" ref=${form} onSubmit=${submit} aria-label=${act.button}>
    <h3>${act.title}</h3><p>${act.lead}</p>
    ${children && children({ values, set, faults })}
    <${Input} id="act-reason" label="Reason" hint="For the audit log." fault=${faults.reason}>${(ties) => html`
      <textarea ...${ties} rows="2" maxlength="1000" value=${values.reason}
        onInput=${(event) => set("reason", event.target.value)}></textarea>`}<//>
    ${note && html`<p class="fence-line">${note}</p>`}
    <${Input} id="act-confirm" label=${`Type “${act.word}” to confirm`} fault=${faults.confirm}>${(ties) => html`
      <input ...${ties} type="text" class="narrow" autocomplete="off" autocapitalize="off" spellcheck=${false}
        value=${values.confirm} onInput=${(event) => set("confirm", event.target.value)} />`}<//>
    <${ProblemBox} problem=${problem} />
    <div class="buttons"><button type="submit" class="primary" disabled=${busy}>${act.button}</button>
      <button type="button" class="quiet" onClick=${onLeave}>Leave it</button></div>
  </form>`;
}

// The acts that can be chosen, and the form of the one that was. `acts`: by name, {title, lead, …}.
export function Choices({ acts, offered, form }) {
  const [chosen, setChosen] = useState(null);
  if (chosen) return form(chosen, () => setChosen(null));
  return html`<div class="choices">${offered.map((name) => html`<button key=${name} type="button" class="choice"
    onClick=${() => setChosen(name)}><b>${acts[name].title}</b><span>${acts[name].lead}</span></button>`)}</div>`;
}

// Why somebody cannot act here; null if they can.
export function cannot(session, may) {
  if (!session.tokens) return "Needs a token: set token or tokens in [admin], then sign in.";
  return may(session, "operator") ? null : `Needs the role operator; yours is ${session.role}.`;
}
