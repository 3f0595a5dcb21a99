// Calls of the admin API. An error is always a Problem that says, in the gateway's own words, what is wrong.
import { parse } from "./format.js";

const SILENCE_MS = 10_000;

export class Problem extends Error {
  constructor({ status = 0, title = "", detail = "", key = null }) {
    super(detail || title);
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.key = key;
  }
}

const leaving = new Set();

// Calls `then` whenever an answer says that the session has ended.
export function whenSignedOut(then) {
  leaving.add(then);
  return () => leaving.delete(then);
}

async function problemOf(answer) {
  const text = await answer.text();
  try {
    const body = parse(text);
    return new Problem({ ...body, status: answer.status, title: body.title || answer.statusText });
  } catch {
    return new Problem({ status: answer.status, title: answer.statusText || "Error", detail: text.slice(0, 500) });
  }
}

async function call(method, path, body, signal) {
  const late = AbortSignal.timeout(SILENCE_MS);
  const options = {
    method,
    headers: { "X-Semel": "1", Accept: "application/json" },
    signal: signal ? AbortSignal.any([signal, late]) : late,
    redirect: "error",
  };
  if (method !== "GET") {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body ?? {});
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = late.aborted
      ? `The gateway has not answered for ${SILENCE_MS / 1000} seconds.`
      : "The gateway cannot be reached from this browser. It may have stopped, or the way to it is cut.";
    throw new Problem({ title: "No answer", detail });
  }
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (answer.status === 401 && path !== "/v1/session") for (const then of leaving) then(problem);
  throw problem;
}

export const getText = async (path, signal) => (await call("GET", path, undefined, signal)).text();
export const get = async (path, signal) => parse(await getText(path, signal));
export const post = async (path, body, signal) => parse(await (await call("POST", path, body, signal)).text());
export const remove = async (path, body) => (await call("DELETE", path, body)).json();

// A path with the parameters that are not empty.
export function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}
