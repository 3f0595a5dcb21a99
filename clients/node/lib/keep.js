// What is kept of an answer, and whether one is kept at all: the gateway's rule (src/policy/keep.cc).
//
//   2xx, 3xx, 4xx                "store"     but 401, 403, 408, 409, 425, 429: "release"
//   500, 501, 503                "release"   the handler says that it failed
//   every other 5xx              "unknown"   it speaks for something further back
//
// A route's own rules come first, and the handler's `Semel-Outcome: store | release | unknown` before those.

const RELEASED = new Set([401, 403, 408, 409, 425, 429, 500, 501, 503]);
const VERDICTS = new Set(['store', 'release', 'unknown']);
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'upgrade', 'trailer',
  'proxy-authorization', 'content-length', 'transfer-encoding']);
const PERSONAL = new Set(['set-cookie', 'set-cookie2', 'date', 'www-authenticate', 'proxy-authenticate',
  'authentication-info', 'proxy-authentication-info', 'authentication-control']);
const OURS = new Set(['semel-outcome', 'idempotency-expires']);
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// eslint-disable-next-line no-control-regex
const VALUE = /^(?:[^\u0000-\u0020\u007f](?:[^\u0000-\u0008\u000a-\u001f\u007f]*[^\u0000-\u0020\u007f])?)?$/;

// Checks a route's own rules: { "404": "release", "5xx": "unknown" }.
export function parseKeep(rules = {}) {
  for (const [statuses, verdict] of Object.entries(rules)) {
    if (!/^[2-5](?:xx|[0-9]{2})$/.test(statuses)) {
      throw new TypeError(`keep: "${statuses}" is not a status from 200 to 599 or a class such as "5xx"`);
    }
    if (!VERDICTS.has(verdict)) throw new TypeError(`keep: "${verdict}" is not "store", "release" or "unknown"`);
  }
  return rules;
}

export const KEEP_SUCCESSES = { '3xx': 'release', '4xx': 'release' };

// The only line of a field that speaks about the answer, if there is one.
function verdictOf(fields) {
  let found = null;
  for (const [name, value] of fields) {
    if (name.length !== 13 || name.toLowerCase() !== 'semel-outcome') continue;
    if (found !== null) return null;
    found = value.trim();
  }
  return VERDICTS.has(found) ? found : null;
}

export function judge(status, fields, rules) {
  if (status < 200 || status > 599) return 'unknown';
  const said = verdictOf(fields) ?? rules[status] ?? rules[`${Math.floor(status / 100)}xx`];
  if (said) return said;
  if (RELEASED.has(status)) return 'release';
  return status < 500 ? 'store' : 'unknown';
}

// The fields that `Connection` names end at this hop.
function namedByConnection(fields) {
  const named = [];
  for (const [name, value] of fields) {
    if (name.length === 10 && name.toLowerCase() === 'connection') named.push(...value.split(',').map((one) => one.trim().toLowerCase()));
  }
  return named;
}

// The fields in the form in which they are stored. `ours`: those of oursOf().
export function toKeep(fields, ours) {
  const named = namedByConnection(fields);
  return fields.filter(([name, value]) => {
    const low = name.toLowerCase();
    return !HOP_BY_HOP.has(low) && !PERSONAL.has(low) && !ours.includes(low) && !named.includes(low) && NAME.test(name) && VALUE.test(value);
  });
}

// The fields, in small letters, that are ours to set, so that the first caller does not get them of the handler either.
export function oursOf(replayedHeader) {
  return [...OURS, replayedHeader.toLowerCase()];
}

// Whether a stored answer can be written as a message without becoming another one: what is read is input.
export function isSound({ status, fields }) {
  return Number.isInteger(status) && status >= 200 && status <= 599 &&
    fields.every(([name, value]) => NAME.test(name) && VALUE.test(value) && !HOP_BY_HOP.has(name.toLowerCase()));
}
