// The options of a guarded route: those of a [[route]] in conf/semel.toml, in the spelling of JavaScript. What is wrong is told
// when the middleware is made, not with the first request.
import { parsePointers } from './canonical.js';
import { parseExpression } from './expression.js';
import { KEEP_SUCCESSES, parseKeep } from './keep.js';
import { Semel } from './once.js';

const DEFAULTS = {
  namespace: 'default',
  methods: ['POST', 'PATCH'],
  key: 'required',
  keyFrom: '{header:Idempotency-Key}',
  scope: '{header:Authorization}',
  fingerprint: 'json',
  ignore: [],
  ttlMs: 86_400_000,
  leaseMs: 30_000,
  inFlight: 'conflict',
  waitMaxMs: 10_000,
  onUnknown: 'hold',
  keep: {},
  bodyBytesMax: 1024 * 1024,
  storeBodyMax: 704 * 1024, // in base64, and with its fields, it fits into a call of 1 MiB
  timeoutMs: 30_000,
  problemBase: 'urn:semel:problem:',
  replayedHeader: 'Idempotent-Replayed',
  docsUrl: 'https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header',
};

const CHOICES = {
  key: ['required', 'optional', 'off'],
  fingerprint: ['json', 'raw'],
  inFlight: ['conflict', 'wait'],
  onUnknown: ['hold', 'retry'],
};
const NUMBERS = ['ttlMs', 'leaseMs', 'waitMaxMs', 'bodyBytesMax', 'storeBodyMax', 'timeoutMs'];
const CONNECTION = ['semel', 'url', 'token', 'tls'];

function check(rules) {
  for (const [name, choices] of Object.entries(CHOICES)) {
    if (!choices.includes(rules[name])) {
      throw new TypeError(`${name}: "${rules[name]}" is none of ${choices.map((one) => `"${one}"`).join(', ')}`);
    }
  }
  for (const name of NUMBERS) {
    if (!Number.isInteger(rules[name]) || rules[name] < 0) throw new TypeError(`${name}: a whole number that is not negative`);
  }
  if (rules.leaseMs < 100) throw new TypeError('leaseMs: at least 100, or it lapses before it can be renewed');
  if (rules.waitMaxMs > 30_000) throw new TypeError('waitMaxMs: at most 30000');
}

// `webhook` has a function verify(request), which returns the event's id, or null if the signature is not right.
export function parseRules(options = {}) {
  const known = [...Object.keys(DEFAULTS), ...CONNECTION, 'webhook'];
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`there is no option "${name}"; there are ${known.join(', ')}`);
  }
  const events = options.webhook ? { namespace: 'webhooks', scope: '{path}', onUnknown: 'retry' } : {};
  const rules = { ...DEFAULTS, ...events, ...options };
  check(rules);
  return {
    ...rules,
    semel: options.semel ?? new Semel({ url: options.url, token: options.token, tls: options.tls }),
    keyFrom: parseExpression(rules.keyFrom, 'keyFrom'),
    scope: parseExpression(rules.scope, 'scope'),
    ignore: parsePointers(rules.ignore),
    keep: { ...(options.webhook ? KEEP_SUCCESSES : {}), ...parseKeep(rules.keep) },
  };
}
