// The five calls of the claims API. Each takes one item, or a list of up to 500 (docs/claims.md says what their members
// mean); a list is answered item by item, in order. Calls can be repeated: the owner of a claim, or its fence, says whose it is.
import { randomUUID } from 'node:crypto';
import { errorOf, errorOfProblem } from './errors.js';
import { Gatherer } from './gather.js';
import { Transport } from './transport.js';

const NAMES = {
  namespace: 'namespace', key: 'key', scope: 'scope', owner: 'owner', fence: 'fence', payload: 'payload',
  fingerprint: 'fingerprint', leaseMs: 'lease_ms', ttlMs: 'ttl_ms', onUnknown: 'on_unknown', waitMs: 'wait_ms', order: 'order',
  result: 'result', outcome: 'outcome',
};
const RESULT_NAMES = { status: 'status', contentType: 'content_type', headers: 'headers', body: 'body', bodyBase64: 'body_base64' };
export const ITEMS_MAX = 500;

function renamed(names, from, what) {
  const to = {};
  for (const name of Object.keys(from)) {
    const value = from[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(names, name)) throw new TypeError(`${what}: there is no member "${name}"`);
    to[names[name]] = value;
  }
  return to;
}

function wireItem(item, space) {
  const wire = renamed(NAMES, item, 'a claim');
  if (typeof item.key !== 'string') throw new TypeError('key is a string');
  wire.namespace ??= space;
  if (item.result) wire.result = renamed(RESULT_NAMES, item.result, 'a result');
  return wire;
}

// An answer as our callers see it.
function answerOf(wire) {
  const problem = wire.problem ?? (wire.outcome ? undefined : wire);
  if (!wire.outcome) {
    const status = problem.status ?? 500;
    return { outcome: 'refused', error: errorOfProblem(status, problem, problem.retry_after_ms ?? 0), problem };
  }
  const own = wire.type ? { type: wire.type, title: wire.title, status: wire.status, detail: wire.detail } : problem;
  return {
    outcome: wire.outcome,
    fence: wire.fence,
    attempt: wire.attempt,
    expiresAt: wire.expires_at === undefined ? undefined : new Date(wire.expires_at),
    result: wire.result && resultOf(wire.result),
    retry: wire.retry,
    retryAfterMs: wire.retry_after_ms,
    problem: own,
  };
}

function resultOf(wire) {
  return {
    status: wire.status,
    contentType: wire.content_type,
    headers: wire.headers ?? {},
    body: wire.body,
    bodyBase64: wire.body_base64,
    bodyKept: wire.body_kept,
  };
}

export class Semel {
  // url and token are taken from SEMEL_URL and SEMEL_TOKEN unless they are given.
  constructor({ url = process.env.SEMEL_URL, token = process.env.SEMEL_TOKEN, namespace = 'default', timeoutMs = 5000,
    connections, tls } = {}) {
    if (!url) throw new TypeError('url is missing: where the claims API of semel serve is, such as http://127.0.0.1:9070');
    this.namespace = namespace;
    this.transport = new Transport({ url, token, timeoutMs, connections, tls });
    this.gatherers = new Map();
  }

  // `owner` names the attempt; unless it is given, this call is an attempt of its own.
  claim(item) {
    const owned = (one) => (one.owner === undefined ? { ...one, owner: randomUUID() } : one);
    return this.call('', Array.isArray(item) ? item.map(owned) : owned(item));
  }

  renew(item) {
    return this.call('/renew', item);
  }

  complete(item) {
    return this.call('/complete', item);
  }

  release(item) {
    return this.call('/release', item);
  }

  get(item) {
    return this.call('/get', item);
  }

  async call(path, item) {
    if (Array.isArray(item)) return this.callMany(path, item.map((one) => wireItem(one, this.namespace)));
    const wire = wireItem(item, this.namespace);
    if (wire.wait_ms > 0) return answerOf(await this.transport.post(`/v1/claims${path}`, wire, wire.wait_ms));
    const answer = answerOf(await this.gatherer(path).add(wire));
    if (answer.error) throw answer.error;
    return answer;
  }

  async callMany(path, items) {
    const answers = [];
    for (let begin = 0; begin < items.length; begin += ITEMS_MAX) {
      const some = items.slice(begin, begin + ITEMS_MAX);
      const patience = Math.max(0, ...some.map((one) => one.wait_ms ?? 0));
      const said = await this.transport.post(`/v1/claims${path}`, { items: some }, patience);
      answers.push(...said.items.map(answerOf));
    }
    return answers;
  }

  // Calls that are made while others are under way go together in the next one.
  gatherer(path) {
    let found = this.gatherers.get(path);
    if (!found) {
      found = new Gatherer((items) => this.transport.post(`/v1/claims${path}`, items.length === 1 ? items[0] : { items }));
      this.gatherers.set(path, found);
    }
    return found;
  }

  // Closes the connections; calls that are under way fail.
  close() {
    this.transport.close();
  }
}

export { errorOf };
