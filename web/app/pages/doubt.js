// In doubt: keys whose outcome nobody knows, oldest first.
import { html } from "../html.js";
import { get, withQuery } from "../api.js";
import { usePieces } from "../load.js";
import { Empty, GoOn, Head } from "../parts.js";
import { KeyTable } from "./keys.js";

export function Doubt() {
  const list = usePieces((cursor, signal) => get(withQuery("/v1/keys", { state: "unknown", cursor, limit: 100 }), signal));
  return html`<${Head} title="In doubt"
    lead="An attempt was cut off after it may have taken effect. Until somebody says what happened, retries hear 409. Oldest first.">
      <button type="button" onClick=${list.reload}>Look again</button><//>
    ${
      list.items.length > 0 &&
      html`<${KeyTable} items=${list.items} label="Keys in doubt, oldest first" />
      <p class="muted">Open one, look at the service whether it happened, then settle it.</p>`
    }
    ${list.complete && !list.items.length && html`<${Empty}
      title="Nothing is in doubt">Every request that ran has an outcome. If a customer still hears 409, search for their key: it may be running.<//>`}
    <${GoOn} list=${list} what="keys" />`;
}
