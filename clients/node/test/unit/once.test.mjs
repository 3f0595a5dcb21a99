// The client's own logic, on an API in memory that loses answers and refuses on command.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallRefused, ClaimLost, InFlight, KeyReused, NothingDone, OutcomeUnknown, Semel, StoreUnavailable } from '../../lib/index.js';
import { FakeApi } from '../support/fake_api.mjs';

let api;
let semel;

beforeEach(async () => {
  api = await new FakeApi().start();
  semel = new Semel({ url: api.url, timeoutMs: 500 });
});
afterEach(() => {
  semel.close();
  api.close();
});

const paths = () => api.calls.map(({ path }) => path);

test('runs once, then replays', async () => {
  let runs = 0;
  const work = () => ({ id: ++runs, at: new Date(0) });
  const first = await semel.once('k', work);
  assert.deepEqual(first, { id: 1, at: '1970-01-01T00:00:00.000Z' }, 'the first caller gets what later ones get');
  assert.deepEqual(await semel.once('k', work), first);
  assert.equal((await semel.run('k', work)).outcome, 'replayed');
  assert.equal(runs, 1);
});

test('a function without a value has none when it is replayed', async () => {
  assert.equal(await semel.once('k', () => {}), undefined);
  assert.equal(await semel.once('k', () => 1), undefined);
});

test('a claim whose answer was lost is repeated by the same owner, and runs', async () => {
  api.faults = ['lose'];
  assert.equal(await semel.once('k', ({ attempt }) => attempt), 1);
  const owners = api.calls.filter(({ path }) => path === '').map(({ items }) => items[0].owner);
  assert.equal(owners.length, 2);
  assert.equal(owners[0], owners[1]);
});

test('without a store the function never runs', async () => {
  for (const faults of [['refuse', 'refuse', 'refuse'], [503, 503, 503]]) {
    api.faults = faults;
    await assert.rejects(semel.once('k', () => assert.fail('it ran')), (error) => {
      assert.ok(error instanceof StoreUnavailable);
      assert.equal(error.retry, 'same-key');
      return true;
    });
  }
});

test('a claim that may have been granted is given back', async () => {
  api.faults = ['lose', 'refuse', 'refuse'];
  await assert.rejects(semel.once('k', () => 1), StoreUnavailable);
  await sleep(1300);
  assert.deepEqual(paths().slice(-2), ['', '/release']);
  assert.equal(await semel.once('k', () => 2), 2);
});

test('another payload under the key is refused', async () => {
  await semel.once('k', () => 1, { payload: { a: 1 } });
  await assert.rejects(semel.once('k', () => 2, { payload: { a: 2 } }), KeyReused);
});

test('while one runs, another is in flight', async () => {
  let end;
  const first = semel.once('k', () => new Promise((resolve) => { end = resolve; }));
  await sleep(50);
  await assert.rejects(semel.once('k', () => 2), (error) => error instanceof InFlight && error.retryAfterMs === 800);
  end('done');
  assert.equal(await first, 'done');
});

test('a function that throws leaves an unknown outcome, which is held or tried again', async () => {
  const broken = new Error('after the effect, perhaps');
  await assert.rejects(semel.once('k', () => { throw broken; }), broken);
  await assert.rejects(semel.once('k', () => 1), OutcomeUnknown);
  assert.equal(await semel.once('k', ({ attempt }) => attempt, { onUnknown: 'retry' }), 2);
});

test('a function that says that nothing was done frees the key', async () => {
  const why = new Error('no connection');
  await assert.rejects(semel.once('k', () => { throw new NothingDone(why); }), why);
  assert.equal(await semel.once('k', ({ attempt }) => attempt), 2);
});

test('renews three times a lease', async () => {
  await semel.once('k', () => sleep(700), { leaseMs: 600 });
  const renewals = paths().filter((path) => path === '/renew').length;
  assert.ok(renewals >= 2 && renewals <= 4, `${renewals} renewals`);
  await sleep(300);
  assert.equal(paths().filter((path) => path === '/renew').length, renewals, 'none after the end');
});

test('a lost claim aborts the function, and its result is dropped', async () => {
  let reason;
  const work = ({ signal }) => new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      reason = signal.reason;
      resolve('too late');
    });
    for (const record of api.records.values()) record.fence = 'of another';
  });
  await assert.rejects(semel.once('k', work, { leaseMs: 300 }), ClaimLost);
  assert.ok(reason instanceof ClaimLost);
});

test('a claim that cannot be renewed for a whole lease is lost', async () => {
  let aborted = false;
  const work = async ({ signal }) => {
    api.close();
    await new Promise((resolve) => { signal.addEventListener('abort', resolve); });
    aborted = true;
  };
  await assert.rejects(semel.once('k', work, { leaseMs: 300 }), OutcomeUnknown);
  assert.ok(aborted);
});

test('a result whose answer was lost is stored again', async () => {
  const work = () => {
    api.faults = ['lose', 503];
    return 'kept';
  };
  assert.equal(await semel.once('k', work), 'kept');
  assert.equal(await semel.once('k', () => 'again'), 'kept');
});

test('a claim is renewed until its end has been told', async () => {
  const work = () => {
    api.held = '/complete'; // answered only after two leases
  };
  setTimeout(() => {
    api.held = null;
  }, 450);
  await semel.once('k', work, { leaseMs: 200 });
  assert.ok(paths().filter((path) => path === '/renew').length >= 3);
  assert.equal((await semel.run('k', () => 1)).outcome, 'replayed');
});

test('what cannot be stored is unknown', async () => {
  const loop = {};
  loop.self = loop;
  await assert.rejects(semel.once('k', () => loop), TypeError);
  await assert.rejects(semel.once('k', () => 1), OutcomeUnknown);
});

test('many keys are claimed in one call, and a key that is there twice runs once', async () => {
  const ran = [];
  const keys = [...Array.from({ length: 40 }, (_, i) => `k${i}`), 'k0'];
  const results = await semel.onceMany(keys, (key) => ran.push(key) && key.toUpperCase(), { concurrency: 50 });
  assert.equal(ran.length, 40);
  assert.deepEqual(results.map(({ value }) => value), keys.map((key) => key.toUpperCase()));
  assert.equal(results[40].outcome, 'replayed');
  assert.equal(api.calls[0].items.length, 40);
  assert.ok(paths().filter((path) => path === '/complete').length < 10, 'ends are gathered');
});

test('one of many that fails is told by itself', async () => {
  const results = await semel.onceMany(['a', 'b'], (key) => {
    if (key === 'a') throw new Error('no');
    return key;
  });
  assert.deepEqual(results.map(({ outcome }) => outcome), ['failed', 'ran']);
});

test('a wrong call is refused before anything is sent', async () => {
  await assert.rejects(semel.once('k', () => 1, { lease: 5 }), /there is no option "lease"/);
  await assert.rejects(semel.claim({ key: 'k', colour: 'red' }), /no member "colour"/);
  assert.throws(() => new Semel({ url: 'localhost:9070' }), /http/);
  api.faults = [403];
  await assert.rejects(semel.once('k', () => assert.fail('it ran')), CallRefused);
});
