// A page whose files are fetched when it is first shown.
import { html, useEffect, useState } from "./html.js";
import { ProblemBox, Wait } from "./parts.js";

const SILENCE_MS = 10_000;
const LATE = { title: "No answer", detail: `The gateway has not answered for ${SILENCE_MS / 1000} seconds. The page comes when it does.` };
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
      const timer = setTimeout(() => setState("late"), SILENCE_MS); // an import cannot be given up, only not waited for
      const ends = (how) => () => {
        clearTimeout(timer);
        setState(how);
      };
      once().then(ends("there"), ends("gone"));
    };
    useEffect(() => {
      if (!Page) fetchIt();
    }, []);
    if (Page) return html`<${Page} ...${props} />`;
    if (state === "late") return html`<${ProblemBox} problem=${LATE} />`;
    return state === "gone" ? html`<${ProblemBox} problem=${GONE} retry=${fetchIt} />` : html`<${Wait} />`;
  }
  Lazy.load = once;
  return Lazy;
}
