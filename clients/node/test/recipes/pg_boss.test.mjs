// The recipe for pg-boss, on a real PostgreSQL server: DATABASE_URL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import PgBoss from 'pg-boss';
import { Semel } from 'semel';
import { workOn } from '../../recipes/pg_boss.mjs';

test('pg-boss: an order that was sent twice, and one whose worker failed, take effect once', { skip: !process.env.DATABASE_URL }, async () => {
  const semel = new Semel();
  const boss = new PgBoss(process.env.DATABASE_URL);
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('orders', { name: 'orders', retryLimit: 5, retryDelay: 0 });
  const effects = [];
  let failures = 1;
  await workOn(boss, 'orders', semel, async (job, { attempt }) => {
    if (job.data.orderId === 'o-2' && failures-- > 0) throw new Error('before the effect');
    effects.push(job.data.orderId);
    return { attempt };
  });
  const ids = [];
  for (const orderId of ['o-1', 'o-1', 'o-2']) ids.push(await boss.send('orders', { orderId }));
  const states = async () => (await Promise.all(ids.map((id) => boss.getJobById('orders', id)))).map((job) => job.state);
  for (const until = Date.now() + 60_000; Date.now() < until && !(await states()).every((state) => state === 'completed');) await sleep(200);
  assert.deepEqual(await states(), ['completed', 'completed', 'completed']);
  assert.deepEqual(effects.sort(), ['o-1', 'o-2']);
  await boss.stop({ graceful: false });
  semel.close();
});
