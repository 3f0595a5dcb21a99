// A page whose files are fetched when it is first shown.
import { html, useEffect, useState } from "./html.js";
import { ProblemBox, Wait } from "./parts.js";

const GONE = {
  title: "This page cannot be loaded",
  detail: "The gateway does not answer, or another version of it has taken its place. Load the dashboard again.",
};

// `load` imports a module; the page is what it exports under this name.
export function lazy(load, name) {
  let Page = null;
  let loading = null;
  const once = () =>
    (loading ??= load().then(
      (module) => {
        Page = module[name];
      },
      (error) => {
        loading = null;
        throw error;
      },
    ));
  function Lazy(props) {
    const [state, setState] = useState(Page ? "there" : "coming");
    const fetchIt = () => {
      setState("coming");
      once().then(
        () => setState("there"),
        () => setState("gone"),
      );
    };
    useEffect(() => {
      if (!Page) fetchIt();
    }, []);
    if (Page) return html`<${Page} ...${props} />`;
    return state === "gone" ? html`<${ProblemBox} problem=${GONE} retry=${fetchIt} />` : html`<${Wait} />`;
  }
  Lazy.load = once;
  return Lazy;
}
