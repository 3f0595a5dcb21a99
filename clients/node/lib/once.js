// once(key, fn): however often it is called, fn takes effect once and every caller gets the same value.
import { errorOf, ITEMS_MAX, Semel as Calls } from './client.js';
import { CallRefused, ClaimLost, NothingDone, OutcomeUnknown, StoreUnavailable } from './errors.js';
import { take, takeMany } from './holding.js';

const LEASE_MS = 30_000;
const TTL_MS = 86_400_000;
const OPTIONS = new Set(['namespace', 'scope', 'payload', 'fingerprint', 'leaseMs', 'ttlMs', 'onUnknown', 'waitMs', 'order',
  'concurrency']);

function itemOf(key, options) {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.has(name)) throw new TypeError(`once: there is no option "${name}"; there are ${[...OPTIONS].join(', ')}`);
  }
  const { concurrency, ...terms } = options;
  return { leaseMs: LEASE_MS, ttlMs: TTL_MS, onUnknown: 'hold', ...terms, key };
}

// A value as it is stored. `undefined` is an answer without a body.
function encoded(value) {
  if (value === undefined) return { status: 204 };
  const body = JSON.parse(JSON.stringify(value) ?? 'null');
  return { status: 200, contentType: 'application/json', body };
}

// What once() returns for a stored answer: JSON as a value, text as a string, other bytes as a Buffer.
export function decoded(result) {
  if (result.body !== undefined) return result.body;
  if (result.bodyBase64 === undefined) return undefined;
  const bytes = Buffer.from(result.bodyBase64, 'base64');
  const type = (result.contentType ?? '').split(';')[0].trim().toLowerCase();
  if (bytes.length === 0) return undefined;
  if (type === 'application/json' || type.endsWith('+json')) return JSON.parse(bytes.toString('utf8'));
  return type.startsWith('text/') ? bytes.toString('utf8') : bytes;
}

function unknown(cause, onUnknown) {
  const retry = onUnknown === 'retry' ? 'same-key' : 'never';
  return new OutcomeUnknown('The function ran, and its result could not be stored.', { cause, retry });
}

// Runs `fn` under a claim that was granted.
async function perform(holding, fn, onUnknown) {
  let value;
  try {
    value = await fn({ signal: holding.signal, fence: holding.fence, attempt: holding.attempt });
  } catch (error) {
    const nothing = error instanceof NothingDone;
    try {
      await holding.finish(nothing ? 'release' : 'unknown');
    } catch {
      // The caller gets what the function said; when the lease is over, the key is unknown.
    }
    throw nothing ? error.cause : error;
  }
  let result;
  try {
    result = encoded(value);
    await holding.finish('store', result);
  } catch (error) {
    if (error instanceof ClaimLost) throw error;
    if (error instanceof StoreUnavailable) throw unknown(error, onUnknown);
    await holding.finish('unknown').catch(() => {}); // it cannot be stored: not JSON, or too large
    throw error;
  }
  return { outcome: 'ran', value: result.body, attempt: holding.attempt, expiresAt: holding.expiresAt };
}

async function conclude(answer, fn, onUnknown) {
  if (answer.holding) return perform(answer.holding, fn, onUnknown);
  if (answer.error) throw answer.error;
  if (answer.outcome === 'done') {
    return { outcome: 'replayed', value: decoded(answer.result), attempt: answer.attempt, expiresAt: answer.expiresAt };
  }
  if (answer.outcome === 'superseded') return { outcome: 'superseded', value: undefined };
  throw errorOf(answer) ?? new CallRefused(`the claims API answered "${answer.outcome}", which this client does not know`);
}

export class Semel extends Calls {
  // The value of fn, now or from the run before.
  async once(key, fn, options = {}) {
    return (await this.run(key, fn, options)).value;
  }

  // The same, with what happened: { outcome: "ran" | "replayed" | "superseded", value, attempt, expiresAt }.
  async run(key, fn, options = {}) {
    const item = itemOf(key, options);
    return conclude(await take(this, item), fn, item.onUnknown);
  }

  // once() for a list: items are keys, or objects with a `key` and perhaps `options` of their own. fn gets the item first. The
  // claims are made in batches, then up to `concurrency` items run at a time. Returns what came of each, in order: as run()
  // does, or { outcome: "failed", error }.
  async onceMany(items, fn, options = {}) {
    const { concurrency = 16, ...shared } = options;
    const list = items.map((item) => {
      const { key, options: own = {} } = typeof item === 'string' ? { key: item } : item;
      return itemOf(key, { ...shared, ...own });
    });
    const results = new Array(list.length);
    const settle = async (i, conclusion) => {
      results[i] = await conclusion.catch((error) => ({ outcome: 'failed', error }));
    };
    const call = (i) => (claim) => fn(items[i], claim);
    const { first, again } = byKey(list);
    for (let begin = 0; begin < first.length; begin += ITEMS_MAX) {
      const some = first.slice(begin, begin + ITEMS_MAX);
      const taken = takeMany(this, some.map((i) => list[i]));
      const answers = await taken.catch((error) => some.map(() => ({ error })));
      await inTurns(some.map((i, at) => () => settle(i, conclude(answers[at], call(i), list[i].onUnknown))), concurrency);
    }
    // A key that is in the list twice: its first item has ended by now.
    const late = async (i) => conclude(await take(this, list[i]), call(i), list[i].onUnknown);
    await inTurns(again.map((i) => () => settle(i, late(i))), concurrency);
    return results;
  }
}

function byKey(list) {
  const seen = new Set();
  const found = { first: [], again: [] };
  list.forEach(({ namespace, scope, key }, i) => {
    const name = JSON.stringify([namespace, scope, key]);
    (seen.has(name) ? found.again : found.first).push(i);
    seen.add(name);
  });
  return found;
}

// At most `count` at a time.
async function inTurns(work, count) {
  let next = 0;
  const runner = async () => {
    while (next < work.length) await work[next++]();
  };
  await Promise.all(Array.from({ length: Math.min(count, work.length) }, runner));
}
