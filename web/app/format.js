// Values as people read them. Pure: the time of now and the zone are parameters.
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

// "3 h 12 min", "45 s", "0.4 s": at most two units.
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  const sign = ms < 0 ? "−" : "";
  let left = Math.abs(ms);
  if (left < 1000) return `${sign}${Math.round(left)} ms`;
  if (left < 10_000) return `${sign}${(left / 1000).toFixed(1)} s`;
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    if (count === 0 && parts.length === 0) continue;
    if (count > 0) parts.push(`${count} ${unit}`);
    left -= count * size;
    if (parts.length === 2 || (parts.length === 1 && unit === "min" && left < 1000)) break;
  }
  return sign + parts.slice(0, 2).join(" ");
}

export const ago = (at, now) => `${duration(Math.max(0, now - at))} ago`;

// A date and time of a zone: `zone` is "UTC" or undefined for the reader's own.
export function clock(at, zone, { date = false, seconds = true } = {}) {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone };
  if (seconds) options.second = "2-digit";
  if (date) Object.assign(options, { day: "numeric", month: "short", year: "numeric" });
  return new Intl.DateTimeFormat("en-GB", options).format(at);
}

// "17 Nov 2026, 14:02:11"; the day is left out if it is today.
export function moment(at, now, zone) {
  const day = (time) => new Intl.DateTimeFormat("en-GB", { dateStyle: "short", timeZone: zone }).format(time);
  return clock(at, zone, { date: day(at) !== day(now) });
}

export const zoneName = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "local";
export const cityName = () => zoneName().split("/").pop().replaceAll("_", " ");

export function count(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  return new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }).format(number);
}

// A rate or a measure with three digits that matter: 0.04, 3.2, 41, 1,250.
export function figure(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  if (number === 0) return "0";
  const size = Math.abs(number);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return new Intl.NumberFormat("en-US", { maximumFractionDigits: digits }).format(number);
}

export function bytes(number) {
  if (number === null || number === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (number >= 1024 && at < units.length - 1) {
    number /= 1024;
    at += 1;
  }
  return `${figure(number)} ${units[at]}`;
}

export const share = (part, whole) => (whole > 0 ? `${figure((100 * part) / whole)} %` : "–");

export const short = (id, digits = 12) => (id && id.length > digits ? `${id.slice(0, digits)}…` : id || "–");

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

// JSON with line breaks. Only white space changes: a number keeps every digit, and a member that is there twice stays.
export function laidOut(json) {
  let out = "";
  let depth = 0;
  let before = "";
  const breakLine = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of json.matchAll(TOKENS)) {
    const closes = token === "}" || token === "]";
    const opened = before === "{" || before === "[";
    if (closes) depth -= 1;
    if (closes ? !opened : opened || before === ",") out += breakLine();
    if (token === "{" || token === "[") depth += 1;
    out += token === ":" ? ": " : token;
    before = token;
  }
  return out;
}

// What a body is: text if it is UTF-8, JSON laid out, or bytes in hexadecimal.
export function bodyText(base64) {
  const raw = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(raw);
    try {
      JSON.parse(text);
      return { kind: "JSON", text: laidOut(text) };
    } catch {
      return { kind: "text", text };
    }
  } catch {
    const lines = [];
    for (let at = 0; at < Math.min(raw.length, 4096); at += 16) {
      const piece = [...raw.slice(at, at + 16)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
      lines.push(`${at.toString(16).padStart(6, "0")}  ${piece}`);
    }
    return { kind: "bytes", text: lines.join("\n") };
  }
}

// Older gateways wrote what others sent as \u00xx, byte by byte, and it is in the audit log and the history since. Bytes that
// are UTF-8 are read as such.
export function utf8(text) {
  if (!/[\x80-\xff]/.test(text) || /[^\x00-\xff]/.test(text)) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(text, (c) => c.charCodeAt(0)));
  } catch {
    return text;
  }
}

export const parse = (text) => JSON.parse(text, (_, value) => (typeof value === "string" ? utf8(value) : value));

// What stands on a page, with characters that turn the direction of writing around as escapes.
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
export function upright(child) {
  if (Array.isArray(child)) return child.map(upright);
  return typeof child === "string" ? child.replace(TURNS, escaped) : child;
}
