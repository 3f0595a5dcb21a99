// A handler behind Restate's ingress, which keeps its answer under the caller's idempotency key: to compare with.
//
//   node restate.mjs PORT ORIGIN_PORT
//
// The handler calls the same upstream as the gateway does and journals nothing of its own: the least that Restate does.
import * as restate from '@restatedev/restate-sdk';
import { Pool as Upstream } from 'undici';

// The SDK is written for Node 22.
Promise.withResolvers ??= function withResolvers() {
  let resolve, reject;
  const promise = new this((one, other) => {
    resolve = one;
    reject = other;
  });
  return { promise, resolve, reject };
};

const [port, originPort] = process.argv.slice(2);
const upstream = new Upstream(`http://127.0.0.1:${originPort}`, { connections: 64 });

const charges = restate.service({
  name: 'charges',
  handlers: {
    create: async (_context, charge) => {
      const answer = await upstream.request({
        method: 'POST',
        path: '/v1/charges',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(charge),
      });
      return answer.body.json();
    },
  },
});

restate.serve({ services: [charges], port: Number(port) });
