// What the apps of every framework have in common (tests/clients/README.md): their routes, and the handler that forwards.
import http from 'node:http';
import { Semel } from '../../lib/index.js';
import { standardWebhooks } from '../../lib/webhook.js';

const { PORT, ORIGIN, LEASE_MS = '30000', WEBHOOK_SECRET } = process.env;
export const port = Number(PORT);
const semel = new Semel();
const leaseMs = Number(LEASE_MS);
const origin = new URL(ORIGIN);
const agent = new http.Agent({ keepAlive: true });

const shared = { semel, leaseMs };
export const ROUTES = {
  '/hold': shared,
  '/v1': { ...shared, scope: '{header:Authorization?}' },
  '/wait': { ...shared, inFlight: 'wait', waitMaxMs: 2000 },
  '/retry': { ...shared, onUnknown: 'retry' },
  '/optional': { ...shared, key: 'optional' },
  '/brief': { ...shared, ttlMs: 2000, leaseMs: 1000 },
  '/own': { ...shared, namespace: 'own' },
  '/ways': shared,
};
export const HOOKS = WEBHOOK_SECRET
  ? { ...shared, namespace: 'hooks', webhook: standardWebhooks({ secrets: [WEBHOOK_SECRET] }) }
  : null;

const LEFT_OUT = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);

// Sends a request to the origin and resolves to what came back. Rejects if nothing did, or if it broke off.
export function forward(raw, body) {
  const headers = {};
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i];
    if (!LEFT_OUT.has(name.toLowerCase())) headers[name] = [...(headers[name] ?? []), raw.rawHeaders[i + 1]];
  }
  if (raw.semel) headers['Idempotency-Attempt'] = String(raw.semel.attempt);
  headers['Content-Length'] = String(body.length);
  return new Promise((resolve, reject) => {
    const path = raw.originalUrl ?? raw.url;
    const request = http.request({ hostname: origin.hostname, port: origin.port, agent, method: raw.method, path, headers });
    request.on('error', reject);
    request.on('response', (response) => {
      const pieces = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('error', reject);
      response.on('aborted', () => reject(new Error('the origin broke off')));
      response.on('end', () => resolve({ status: response.statusCode, fields: pairs(response.rawHeaders), body: Buffer.concat(pieces) }));
    });
    request.end(body);
  });
}

function pairs(raw) {
  const found = new Map();
  for (let i = 0; i < raw.length; i += 2) {
    if (LEFT_OUT.has(raw[i].toLowerCase()) || raw[i].toLowerCase() === 'keep-alive') continue;
    found.set(raw[i], [...(found.get(raw[i]) ?? []), raw[i + 1]]);
  }
  return [...found].map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
}

// Ends in good order: what is under way is answered first.
export function endOnSignal(close) {
  process.on('SIGTERM', async () => {
    await close();
    agent.destroy();
    process.exit(0);
  });
}
