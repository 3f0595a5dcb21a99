// fetch for callers of an API with idempotency keys, in browsers and in Node: one key for one operation, kept over retries and
// reloads; retries when the server says so, not before Retry-After, and never under a new key while the outcome is open.
//
//   const response = await onceFetch('/charges', { method: 'POST', body }, { operation: `pay-order-${order.id}` });

const PREFIX = 'semel:key:';
const TRIES = 5;
const PAUSE_MS = 500;
const RETRIED = new Set([408, 425, 429, 502, 503, 504]);

// All tries were cut off, or the server says that nobody knows: ask it what happened before the operation is started again.
export class UnknownOutcome extends Error {
  constructor(message, response, cause) {
    super(message, { cause });
    this.name = 'UnknownOutcome';
    this.response = response;
  }
}

function defaultStore() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null; // a page that may not keep anything
  }
}

// Node 18 has no global crypto; browsers have no node:crypto, and bundlers need not look for it.
async function randomKey() {
  const name = 'node:crypto';
  return (globalThis.crypto ?? (await import(name))).randomUUID();
}

async function adviceOf(response) {
  if (!(response.headers.get('Content-Type') ?? '').startsWith('application/problem+json')) return null;
  try {
    return (await response.clone().json()).retry ?? null;
  } catch {
    return null;
  }
}

function pauseOf(response, usualMs) {
  const said = response?.headers.get('Retry-After') ?? '';
  if (/^[0-9]+$/.test(said)) return Number(said) * 1000;
  const until = Date.parse(said);
  return Number.isNaN(until) ? usualMs : Math.max(0, until - Date.now());
}

export async function onceFetch(url, init = {}, options = {}) {
  const { operation, store = defaultStore(), tries = TRIES, pauseMs = PAUSE_MS, fetch = globalThis.fetch } = options;
  if (!operation) throw new TypeError('operation is missing: what names this operation, such as "pay-order-17"');
  const name = PREFIX + operation;
  const key = store?.getItem(name) ?? (await randomKey());
  store?.setItem(name, key);
  const headers = new Headers(init.headers);
  headers.set('Idempotency-Key', `"${key}"`);
  let usual = pauseMs;
  let response = null;
  let failure;
  for (let attempt = 1; attempt <= tries; ++attempt) {
    response = null;
    try {
      response = await fetch(url, { ...init, headers });
    } catch (error) {
      if (init.signal?.aborted) throw error; // the key stays: the operation may have begun
      failure = error;
    }
    const advice = response && (await adviceOf(response));
    const again = !response || advice === 'same-key' || (advice === null && RETRIED.has(response.status));
    if (!again) break;
    if (attempt === tries) throw new UnknownOutcome(`no final answer after ${tries} tries`, response, failure);
    await new Promise((resolve) => {
      setTimeout(resolve, pauseOf(response, usual));
    });
    usual *= 2;
  }
  const problem = await adviceOf(response);
  if (problem === 'never' && response.status !== 401 && response.status !== 413) {
    throw new UnknownOutcome('the outcome of this operation is not known', response); // its key stays
  }
  store?.removeItem(name);
  return response;
}
