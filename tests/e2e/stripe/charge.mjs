// Makes charges with Stripe's own client and prints what each call ended with, one JSON line a call:
//   node charge.mjs PORT CALLS CONCURRENCY RETRIES
// Call n charges 1000 + n, so that the amount names it at the other side. Even calls leave the key to the client; odd
// ones choose it and are made twice at once, as by a user who clicks twice.
import Stripe from 'stripe';

const [port, calls, concurrency, retries] = process.argv.slice(2).map(Number);
const stripe = new Stripe('sk_test_semel', {
  host: '127.0.0.1',
  port,
  protocol: 'http',
  maxNetworkRetries: retries,
  timeout: 20000,
  telemetry: false,
});

async function charge(n, options) {
  const started = Date.now();
  const record = { n, amount: 1000 + n };
  try {
    const made = await stripe.charges.create({ amount: 1000 + n, currency: 'usd', source: 'tok_visa' }, options);
    Object.assign(record, { id: made.id, charged: made.amount });
  } catch (error) {
    Object.assign(record, { error: error.constructor.name, code: error.code, status: error.statusCode ?? null });
  }
  console.log(JSON.stringify({ ...record, ms: Date.now() - started }));
}

async function make(n) {
  if (n % 2 === 0) return charge(n, {});
  const options = { idempotencyKey: `order-${n}` };
  return Promise.all([charge(n, options), charge(n, options)]);
}

let next = 0;
async function worker() {
  while (next < calls) await make(next++);
}
await Promise.all(Array.from({ length: concurrency }, worker));
process.exit(0); // the client's timers would keep the process for the rest of its time-out
