// The first thing somebody sees: a token and a name, traded for a cookie.
import { html, useEffect, useRef, useState } from "./html.js";
import { get, post } from "./api.js";
import { Input, ProblemBox } from "./parts.js";

const REFUSED = {
  title: "The browser did not keep the cookie",
  detail:
    "Away from this machine the cookie needs TLS. Open the dashboard through a proxy with TLS that passes the Host field on, " +
    "or through a tunnel: ssh -L 9080:127.0.0.1:9080 HOST, then http://127.0.0.1:9080/",
};

export function SignIn({ onSession, why = null }) {
  const [token, setToken] = useState("");
  const [name, setName] = useState(() => localStorage.getItem("semel.name") ?? "");
  const [problem, setProblem] = useState(why);
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    document.title = "Sign in · Semel";
    field.current?.focus();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await post("/v1/session", { token: token.trim(), name: name.trim() });
      localStorage.setItem("semel.name", name.trim());
      const session = await get("/v1/session");
      if (session.signed_in) onSession(session);
      else setProblem(REFUSED);
    } catch (caught) {
      setProblem(caught);
    }
    setBusy(false);
  };
  return html`<main class="sign-in"><form onSubmit=${submit} class="card">
    <h1>Semel</h1>
    <p class="lead">The desk of this gateway. Sign in with a token of your role.</p>
    <${ProblemBox} problem=${problem} />
    <${Input} id="token" label="Token" hint="One of [admin] in the gateway's configuration.">${(ties) => html`
      <input ...${ties} ref=${field} type="password" autocomplete="current-password" required value=${token}
        onInput=${(event) => setToken(event.target.value)} />`}<//>
    <${Input} id="name" label="Your name" hint="Stands beside what you do, in the audit log.">${(ties) => html`
      <input ...${ties} type="text" autocomplete="username" maxlength="100" value=${name}
        onInput=${(event) => setName(event.target.value)} />`}<//>
    <button type="submit" class="primary" disabled=${busy}>Sign in</button>
    <p class="muted small-text">It lasts for twelve hours, or until the gateway restarts.</p>
  </form></main>`;
}
