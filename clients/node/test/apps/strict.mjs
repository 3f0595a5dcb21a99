// An Express app with the routes of tests/scenarios/standard.toml that a middleware can have: the gateway's own scenarios are
// played against it (tests/clients/strict.py). Its handler forwards; what cannot be forwarded breaks the answer off.
import express from 'express';
import { Semel } from '../../lib/index.js';
import { semel } from '../../lib/express.js';
import { endOnSignal, forward, port } from './business.mjs';

const shared = { semel: new Semel(), bodyBytesMax: 64 * 1024, storeBodyMax: 256 * 1024 };
const ROUTES = [
  ['/v1/', {}],
  ['/optional/', { key: 'optional' }],
  ['/off/', { key: 'off' }],
  ['/everyone/', { scope: '' }],
  ['/perhaps/', { scope: '{header:Authorization?}' }],
  ['/two-part-scope/', { scope: '{header:X-Org}{header:X-User}' }],
  ['/by-query/', { keyFrom: '{query:id}' }],
  ['/by-json/', { keyFrom: '{json:/order/id}' }],
  ['/by-cookie/', { keyFrom: '{cookie:op}' }],
  ['/by-parts/', { keyFrom: '{header:X-Org}/{query:id}' }],
  ['/raw/', { fingerprint: 'raw' }],
  ['/ignore/', { ignore: ['/sent_at', '/meta/try'] }],
  ['/wait/', { inFlight: 'wait', waitMaxMs: 10_000 }],
  ['/wait-little/', { inFlight: 'wait', waitMaxMs: 1000 }],
  ['/retry/', { onUnknown: 'retry' }],
  ['/keep/', { keep: { '4xx': 'release', 404: 'store', 500: 'store', 503: 'unknown', 202: 'release' } }],
  ['/small/', { storeBodyMax: 1024 }],
  ['/own/', { namespace: 'own' }],
  ['/short/', { ttlMs: 2000, leaseMs: 1000 }],
  ['/brief/', { leaseMs: 1000 }],
  ['/all/', { methods: ['POST', 'PUT', 'DELETE'] }],
  ['/exact', {}],
  ['/users/', {}],
  ['/slow/', { timeoutMs: 1500 }],
  ['/slow-retry/', { timeoutMs: 1500, onUnknown: 'retry' }],
].map(([path, options]) => [path, semel({ ...shared, ...options })]);

const app = express();
app.disable('x-powered-by');
app.get('/ready', (_req, res) => res.send('ready'));
app.use((req, res, next) => {
  const guard = ROUTES.find(([path]) => req.url.startsWith(path))?.[1];
  return guard ? guard(req, res, next) : res.status(404).end();
});
app.use(express.raw({ type: () => true, limit: '20mb' }));
app.use(async (req, res) => {
  try {
    const said = await forward(req, Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0));
    res.status(said.status);
    for (const [name, value] of said.fields) res.setHeader(name, value);
    res.end(said.body);
  } catch {
    res.destroy();
  }
});

const server = app.listen(port, '127.0.0.1');
endOnSignal(() => new Promise((resolve) => {
  server.close(resolve);
  server.closeIdleConnections();
}));
