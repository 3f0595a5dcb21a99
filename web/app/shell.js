// What stands around every page: where one can go, the search, the clock, who is signed in.
import { html, useEffect, useRef, useState } from "./html.js";
import { remove } from "./api.js";
import { cityName, clock, zoneName } from "./format.js";
import { go, href } from "./route.js";
import { offers, useDesk } from "./parts.js";

// Each page with the operation that it cannot do without.
export const PLACES = [
  {
    group: "On call",
    pages: [
      { path: "now", title: "Now", needs: "GET /v1/now" },
      { path: "doubt", title: "In doubt", needs: "GET /v1/keys" },
      { path: "keys", title: "Keys", needs: "POST /v1/keys/find" },
      { path: "tail", title: "Tail", needs: "GET /v1/tail" },
    ],
  },
  {
    group: "Events",
    pages: [
      { path: "webhooks", title: "Webhooks", needs: "GET /v1/webhooks", how: "A [[webhook]] in its configuration makes one." },
      { path: "inbox", title: "Inbox", needs: "GET /v1/inbox" },
      { path: "outbox", title: "Outbox", needs: "GET /v1/outbox", how: "An [[outbox]] in its configuration makes one; semel migrate --outbox prepares the database." },
      { path: "jobs", title: "Jobs", needs: "GET /v1/inbox/jobs" },
    ],
  },
  {
    group: "Clients",
    pages: [
      { path: "duplicates", title: "Duplicates", needs: "GET /v1/tally" },
      { path: "doctor", title: "Doctor", needs: "GET /v1/doctor" },
    ],
  },
  {
    group: "This gateway",
    pages: [
      { path: "audit", title: "Audit log", needs: "GET /v1/audit" },
      { path: "config", title: "Config", needs: "GET /v1/config" },
    ],
  },
];

// The link, or null if this gateway has not what the page needs.
export function leads(session, link = "") {
  const [page] = link.split("?");
  const place = PLACES.flatMap((group) => group.pages).find(({ path }) => page === href([path]));
  return place && offers(session, place.needs) ? link : null;
}

function Nav({ here, doubt }) {
  const { session } = useDesk();
  const groups = PLACES.map(({ group, pages }) => ({ group, pages: pages.filter((page) => offers(session, page.needs)) })).filter(
    ({ pages }) => pages.length,
  );
  const nav = useRef(null);
  useEffect(() => {
    // On a phone the pages stand in one row, which is longer than the screen.
    const link = nav.current?.querySelector("[aria-current]");
    if (link && nav.current.scrollWidth > nav.current.clientWidth) nav.current.scrollLeft = link.offsetLeft - nav.current.clientWidth / 3;
  }, [here]);
  return html`<nav aria-label="Pages" ref=${nav}><a class="brand" href="#/now"><span class="mark" aria-hidden="true"></span>Semel</a>
    ${groups.map(
      ({ group, pages }) =>
        html`<div class="group"><h2>${group}</h2><ul>${pages.map(
          (page) => html`<li>
      <a href=${href([page.path])} aria-current=${here === page.path ? "page" : undefined}>${page.title}${
        page.path === "doubt" && doubt ? html`<span class="badge" aria-label="${doubt} in doubt">${doubt}</span>` : null
      }</a></li>`,
        )}</ul></div>`,
    )}
  </nav>`;
}

// One field for everything that somebody may have in hand: "/" goes there from anywhere.
function Search() {
  const [text, setText] = useState("");
  const field = useRef(null);
  useEffect(() => {
    const pressed = (event) => {
      const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const submit = (event) => {
    event.preventDefault();
    if (text.trim()) go(["keys"], { find: text.trim() });
  };
  return html`<form role="search" class="search" onSubmit=${submit}>
    <input ref=${field} type="search" aria-label="Find a key, a hash from the log, or an event"
      placeholder="Find a key, a log hash or an event   /"
      value=${text} onInput=${(event) => setText(event.target.value)} spellcheck="false" autocapitalize="off" /></form>`;
}

function Clock({ zone, onZone }) {
  const { now } = useDesk();
  const here = zoneName();
  const isUtc = zone === "UTC";
  return html`<button type="button" class="quiet clock" onClick=${() => onZone(isUtc ? undefined : "UTC")}
    title=${isUtc ? `Show times of ${here}` : "Show times in UTC"}>
    <span><b>${clock(now, zone)}</b> ${isUtc ? "UTC" : cityName()}</span>
    <span class="muted">${clock(now, isUtc ? undefined : "UTC", { seconds: false })} ${isUtc ? cityName() : "UTC"}</span></button>`;
}

function Who({ onOut }) {
  const { session } = useDesk();
  const out = async () => {
    try {
      await remove("/v1/session");
    } finally {
      onOut();
    }
  };
  return html`<div class="who"><span><b>${session.name || "no name"}</b><span class="muted">${session.role}</span></span>
    ${session.until && html`<button type="button" class="quiet small" onClick=${out}>Sign out</button>`}</div>`;
}

export function Shell({ here, zone, onZone, onOut, doubt, children }) {
  const skip = (event) => {
    event.preventDefault();
    document.getElementById("title")?.focus();
  };
  return html`<a class="skip" href="#title" onClick=${skip}>Skip to the page</a>
    <div class="shell"><${Nav} here=${here} doubt=${doubt} />
    <div class="body"><header class="bar"><${Search} /><${Clock} zone=${zone} onZone=${onZone} /><${Who}
      onOut=${onOut} /></header>
    <main>${children}</main></div></div>`;
}
