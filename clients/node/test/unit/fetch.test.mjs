// The fetch wrapper: one key per operation, kept over retries and reloads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onceFetch, UnknownOutcome } from '../../lib/fetch.js';

class Memory {
  items = new Map();
  getItem = (name) => this.items.get(name) ?? null;
  setItem = (name, value) => this.items.set(name, value);
  removeItem = (name) => this.items.delete(name);
}

function problem(status, retry, headers = {}) {
  const body = JSON.stringify({ type: 'urn:semel:problem:x', status, retry });
  return () => new Response(body, { status, headers: { 'Content-Type': 'application/problem+json', ...headers } });
}

// A server that answers like this, in turn; `keys` are those that it saw.
function server(...answers) {
  const keys = [];
  const fetch = async (_url, { headers }) => {
    keys.push(headers.get('Idempotency-Key'));
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer() : new Response(String(answer), { status: answer });
  };
  return { keys, fetch };
}

const options = { operation: 'pay-1', pauseMs: 1 };

test('keeps its key over lost answers and refusals, and forgets it at the end', async () => {
  const store = new Memory();
  const { keys, fetch } = server(new Error('reset'), 503, problem(409, 'same-key'), 201);
  const response = await onceFetch('/x', { method: 'POST' }, { ...options, store, fetch });
  assert.equal(response.status, 201);
  assert.equal(new Set(keys).size, 1);
  assert.equal(keys.length, 4);
  assert.equal(store.items.size, 0);
});

test('a reload goes on with the key of before', async () => {
  const store = new Memory();
  const before = server(new Error('gone'));
  await assert.rejects(onceFetch('/x', {}, { ...options, store, fetch: before.fetch, tries: 1 }), UnknownOutcome);
  const after = server(200);
  await onceFetch('/x', {}, { ...options, store, fetch: after.fetch });
  assert.equal(after.keys[0], before.keys[0]);
});

test('waits as Retry-After says', async () => {
  const { fetch } = server(problem(409, 'same-key', { 'Retry-After': '1' }), 200);
  const begun = performance.now();
  await onceFetch('/x', {}, { ...options, store: null, fetch });
  assert.ok(performance.now() - begun >= 990);
});

test('an unknown outcome is told, not retried, and its key stays', async () => {
  const store = new Memory();
  const { keys, fetch } = server(problem(409, 'never'));
  await assert.rejects(onceFetch('/x', {}, { ...options, store, fetch }), (error) => error instanceof UnknownOutcome && error.response.status === 409);
  assert.equal(keys.length, 1);
  assert.equal(store.items.size, 1);
});

test('a final refusal is the answer', async () => {
  const { fetch, keys } = server(problem(422, 'new-key'));
  assert.equal((await onceFetch('/x', {}, { ...options, store: null, fetch })).status, 422);
  assert.equal(keys.length, 1);
  await assert.rejects(onceFetch('/x', {}, { store: null, fetch }), /operation/);
});
