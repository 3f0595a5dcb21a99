// Where the reader is: `#/keys/5f1c?state=running` is {path: ["keys", "5f1c"], query: {state: "running"}}. What stands behind
// the hash is never sent to a server, and stands in no log.
import { useState, useEffect, useMemo } from "./html.js";

export function parseHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const decoded = path
    .split("/")
    .filter(Boolean)
    .map((piece) => {
      try {
        return decodeURIComponent(piece);
      } catch {
        return piece;
      }
    });
  return { path: decoded.length ? decoded : ["now"], query: Object.fromEntries(new URLSearchParams(query)) };
}

export function useRoute() {
  const [hash, setHash] = useState(() => location.hash);
  useEffect(() => {
    const moved = () => setHash(location.hash);
    addEventListener("hashchange", moved);
    moved(); // somebody may have followed a link between the first sight of the page and this line
    return () => removeEventListener("hashchange", moved);
  }, []);
  return useMemo(() => parseHash(hash), [hash]);
}

export function href(path, query = {}) {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value !== undefined)).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function go(path, query = {}) {
  location.hash = href(path, query);
}
