// The recipes for queues, on brokers in memory that do what real ones do: deliver again.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Semel } from 'semel';
import { consume } from '../../recipes/kafka.mjs';
import { work } from '../../recipes/sqs.mjs';

const semel = new Semel();
after(() => semel.close());

// Notes what took effect, and fails where it is told to.
function business(failures = []) {
  const effects = [];
  const handle = async (message) => {
    await sleep(5);
    const fault = failures.shift();
    if (fault === 'before') throw new Error('before the effect');
    effects.push(message.id ?? message.offset);
    return { done: message.id };
  };
  return { effects, handle };
}

class Partition {
  constructor(topic, messages) {
    this.messages = messages.map((message, offset) => ({ topic, partition: 0, offset, ...message }));
    this.committed = 0;
  }

  poll(most = 500) {
    return this.messages.slice(this.committed, this.committed + most);
  }

  commit = async (offset) => {
    this.committed = Math.max(this.committed, offset);
  };
}

test('Kafka: a rebalance gives the same messages to two consumers', async () => {
  const partition = new Partition('rebalanced', Array.from({ length: 200 }, (_, i) => ({ id: `reb-${i}`, value: { n: i } })));
  const { effects, handle } = business();
  const poll = () => consume({ messages: partition.poll(), commit: partition.commit, semel, handle });
  await Promise.all([poll(), poll()]);
  while (partition.poll().length > 0) await poll();
  assert.equal(effects.length, 200);
  assert.equal(new Set(effects).size, 200);
});

test('Kafka: what failed comes again, and what ran does not run again', async () => {
  const partition = new Partition('failing', Array.from({ length: 20 }, (_, i) => ({ id: `fail-${i}`, value: { n: i } })));
  const { effects, handle } = business([undefined, undefined, 'before']);
  await consume({ messages: partition.poll(), commit: partition.commit, semel, handle });
  assert.equal(partition.committed, 2, 'up to the one that failed');
  await consume({ messages: partition.poll(), commit: partition.commit, semel, handle });
  assert.equal(partition.committed, 20);
  assert.deepEqual([...effects].sort(), Array.from({ length: 20 }, (_, i) => `fail-${i}`).sort());
});

test('Kafka: a producer that retried has sent one message twice; without an id of the business, offsets are two messages', async () => {
  const partition = new Partition('retried', [{ id: 'twice', value: 1 }, { id: 'twice', value: 1 }, { value: 2 }, { value: 2 }]);
  const { effects, handle } = business();
  const results = await consume({ messages: partition.poll(), commit: partition.commit, semel, handle });
  assert.deepEqual(results.map(({ outcome }) => outcome), ['ran', 'replayed', 'ran', 'ran']);
  assert.equal(effects.length, 3);
  assert.equal(partition.committed, 4);
});

// Messages that are received are hidden until their visibility timeout is over.
class Queue {
  constructor(messages, visibilityTimeoutMs) {
    this.messages = new Map(messages.map((message) => [message.id, { ...message, visibilityTimeoutMs, visibleAt: 0 }]));
    this.deliveries = 0;
  }

  receive() {
    const now = Date.now();
    const found = [...this.messages.values()].filter(({ visibleAt }) => visibleAt <= now);
    for (const message of found) message.visibleAt = now + message.visibilityTimeoutMs;
    this.deliveries += found.length;
    return found;
  }

  remove = async ({ id }) => this.messages.delete(id);
  changeVisibility = async ({ id }, seconds) => {
    this.messages.get(id).visibleAt = Date.now() + seconds * 1000;
  };
}

test('SQS: a message that is delivered twice while it runs takes effect once', async () => {
  const queue = new Queue([{ id: 'sqs-1', body: 'a' }], 400);
  const effects = [];
  const slow = async (message) => {
    await sleep(900); // longer than it is hidden
    effects.push(message.id);
  };
  const workers = [];
  for (const until = Date.now() + 4000; queue.messages.size > 0 && Date.now() < until; await sleep(50)) {
    workers.push(...queue.receive().map((message) => work({ message, queue, semel, handle: slow })));
  }
  await Promise.all(workers);
  assert.deepEqual(effects, ['sqs-1']);
  assert.ok(queue.deliveries >= 2, `${queue.deliveries} deliveries`);
  assert.equal(queue.messages.size, 0);
});

test('SQS: a message whose worker fails comes again', async () => {
  const queue = new Queue([{ id: 'sqs-2', body: 'a' }], 300);
  const { effects, handle } = business(['before']);
  for (const until = Date.now() + 4000; queue.messages.size > 0 && Date.now() < until; await sleep(50)) {
    await Promise.all(queue.receive().map((message) => work({ message, queue, semel, handle })));
  }
  assert.deepEqual(effects, ['sqs-2']);
});
