// Compiled, never run: what users write has types.
import { InFlight, NothingDone, Semel } from 'semel';
import { semel as guard } from 'semel/express';
import { semel as plugin } from 'semel/fastify';
import { SemelModule } from 'semel/nestjs';
import { onceFetch } from 'semel/fetch';
import { standardWebhooks } from 'semel/webhook';

const semel = new Semel({ url: 'http://127.0.0.1:9070', token: 'x' });

export async function use(): Promise<string> {
  const value: { id: string } = await semel.once('evt_1', async ({ signal, attempt }) => {
    if (signal.aborted) throw new NothingDone(new Error('too late'));
    return { id: String(attempt) };
  }, { namespace: 'orders', payload: { amount: 5 }, leaseMs: 30_000, onUnknown: 'retry' });
  const many = await semel.onceMany(['a', 'b'], (key) => key.length);
  for (const one of many) if (one.outcome === 'failed' && one.error instanceof InFlight) console.log(one.error.retryAfterMs);
  const granted = await semel.claim({ key: 'k', leaseMs: 1000 });
  if (granted.fence) await semel.complete({ key: 'k', fence: granted.fence, result: { body: { ok: true } } });
  // @ts-expect-error there is no such choice
  await semel.claim({ key: 'k', onUnknown: 'perhaps' });
  const middleware = guard({ semel, inFlight: 'wait', keep: { '404': 'release' } });
  const hooks = guard({ semel, webhook: standardWebhooks({ secrets: ['whsec_x'] }) });
  const nest = SemelModule.guard({ semel }, 'charges', { path: 'refunds', method: 1 });
  const response = await onceFetch('/charges', { method: 'POST' }, { operation: 'pay-1' });
  console.log(middleware, hooks, plugin, nest, response.status);
  return value.id;
}
