// How much of something, as a bar: what it shows is also said in words beside it.
import { html } from "./html.js";

export function Bar({ part, tone }) {
  return html`<div class="bar-box" aria-hidden="true"><div class="bar-fill ${tone}"
    style=${{ width: `${Math.max(0, Math.min(100, part * 100))}%` }}></div></div>`;
}
