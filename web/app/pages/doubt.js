// In doubt: keys whose outcome nobody knows, oldest first.
import { html } from "../html.js";
import { get, withQuery } from "../api.js";
import { useLoad, usePieces } from "../load.js";
import { go } from "../route.js";
import { Empty, GoOn, Head } from "../parts.js";
import { KeyTable, RouteFilter, spacesOf } from "./keys.js";

export function Doubt({ query }) {
  const namespace = query.namespace ?? "";
  const config = useLoad((signal) => get("/v1/config", signal));
  const list = usePieces((cursor, signal) => get(withQuery("/v1/keys", { state: "unknown", namespace, cursor, limit: 100 }), signal), [namespace]);
  const several = spacesOf(config.data).size > 1 || namespace;
  return html`<${Head} title="In doubt"
    lead="An attempt was cut off after it may have taken effect. Until somebody says what happened, retries hear 409. Oldest first.">
      <button type="button" onClick=${list.reload}>Look again</button><//>
    ${several && html`<div class="row filters"><${RouteFilter} id="doubt-namespace" config=${config.data} value=${namespace}
      onChange=${(event) => go(["doubt"], { namespace: event.target.value })} /></div>`}
    ${
      list.items.length > 0 &&
      html`<${KeyTable} items=${list.items} label="Keys in doubt, oldest first" />
      <p class="muted">${list.items.some((item) => item.suggestion)
        ? "Open one: where the resolver has found out what happened, settle it as it says; otherwise look at the service first."
        : "Open one, look at the service whether it happened, then settle it."}</p>`
    }
    ${list.complete && !list.items.length && html`<${Empty}
      title="Nothing is in doubt">Every request that ran has an outcome. If a customer still hears 409, search for their key: it may be running.<//>`}
    <${GoOn} list=${list} what="keys" />`;
}
