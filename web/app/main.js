// Starts the page: who is signed in, then the page that the address names.
import { html, render, useEffect, useState } from "./html.js";
import { get, whenSignedOut } from "./api.js";
import { useRoute } from "./route.js";
import { Desk, Empty, Missing, ProblemBox, Wait, offers } from "./parts.js";
import { PLACES, Shell } from "./shell.js";
import { SignIn } from "./sign_in.js";
import { useLoad } from "./load.js";
import { Now } from "./pages/now.js";
import { lazy } from "./lazy.js";

// The first page comes with the program; the others when they are asked for, or when there is nothing else to do.
const PAGES = {
  now: Now,
  keys: lazy(() => import("./pages/keys.js"), "Keys"),
  doubt: lazy(() => import("./pages/doubt.js"), "Doubt"),
  webhooks: lazy(() => import("./pages/webhooks.js"), "Webhooks"),
  inbox: lazy(() => import("./pages/inbox.js"), "Inbox"),
  outbox: lazy(() => import("./pages/outbox.js"), "Outboxes"),
  jobs: lazy(() => import("./pages/jobs.js"), "Jobs"),
  duplicates: lazy(() => import("./pages/duplicates.js"), "Duplicates"),
  doctor: lazy(() => import("./pages/doctor.js"), "Doctor"),
  tail: lazy(() => import("./pages/tail.js"), "Tail"),
  audit: lazy(() => import("./pages/audit.js"), "Audit"),
  config: lazy(() => import("./pages/config.js"), "ConfigPage"),
};
// With an id behind the name.
const DETAILS = {
  keys: lazy(() => import("./pages/key.js"), "KeyPage"),
  inbox: lazy(() => import("./pages/delivery.js"), "Delivery"),
};
const later = () => [...Object.values(PAGES), ...Object.values(DETAILS)].filter((page) => page.load);

function Place({ route, session }) {
  const [first, id] = route.path;
  const Page = (id ? DETAILS : PAGES)[first];
  if (!Page) return html`<${Empty} title="There is no such page">Choose one on the left, or search with /.<//>`;
  const place = PLACES.flatMap((group) => group.pages).find((page) => page.path === first);
  if (place && !offers(session, place.needs))
    return html`<h1 id="title" tabindex="-1">${place.title}</h1><${Missing} what=${place.title.toLowerCase()} how=${place.how} />`;
  return html`<${Page} key=${route.path.join("/")} id=${id} query=${route.query} />`;
}

// Each second, while somebody looks.
function useNow() {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

function SignedIn({ session, onOut }) {
  const route = useRoute();
  const now = useNow();
  const [zone, setZone] = useState(() => localStorage.getItem("semel.zone") || undefined);
  const choose = (next) => {
    localStorage.setItem("semel.zone", next ?? "");
    setZone(next);
  };
  const doubt = useLoad(
    (signal) => (offers(session, "GET /v1/keys") ? get("/v1/keys?state=unknown&limit=100", signal) : null),
    [],
    15_000,
  );
  const place = route.path.join("/");
  useEffect(() => {
    if (document.activeElement?.closest("main form")) return; // somebody was quick, and types already
    document.getElementById("title")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [place]);
  useEffect(() => {
    const timer = setTimeout(() => later().forEach((page) => page.load().catch(() => {})), 1500);
    return () => clearTimeout(timer);
  }, []);
  const number = doubt.data ? doubt.data.items.length : 0;
  const badge = number === 0 ? "" : doubt.data.complete ? String(number) : `${number}+`;
  return html`<${Desk.Provider} value=${{ session, zone, now, doubt }}>
    <${Shell} here=${route.path[0]} zone=${zone} onZone=${choose} onOut=${onOut} doubt=${badge}>
      <${Place} route=${route} session=${session} /><//><//>`;
}

function App() {
  const [session, setSession] = useState(null);
  const [problem, setProblem] = useState(null);
  const load = async () => {
    try {
      setSession(await get("/v1/session"));
      setProblem(null);
    } catch (caught) {
      setProblem(caught);
    }
  };
  useEffect(() => {
    load();
    return whenSignedOut((why) => {
      setProblem(why);
      setSession({ signed_in: false });
    });
  }, []);
  if (session?.signed_in) return html`<${SignedIn} session=${session} onOut=${() => setSession({ signed_in: false })} />`;
  if (session)
    return html`<${SignIn} why=${problem} onSession=${(next) => {
      setProblem(null);
      setSession(next);
    }} />`;
  if (problem) return html`<main class="sign-in"><${ProblemBox} problem=${problem} retry=${load} /></main>`;
  return html`<main class="sign-in"><${Wait} /></main>`;
}

render(html`<${App} />`, document.getElementById("app"));
