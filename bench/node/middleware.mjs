// The idempotency middleware that articles describe, on Fastify and pg, in its best form: to compare with.
//
//   node middleware.mjs PORT ORIGIN_PORT DATABASE_FOLDER
//
// Before the handler: INSERT … ON CONFLICT DO NOTHING. After it: UPDATE with the answer. Each is one prepared statement
// and one transaction, from a pool of 32 connections. A key that is there already is read, and its answer replayed,
// refused (422) or told to wait (409). The handler calls the same upstream as the gateway does, over kept connections.
import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';
import { Pool as Upstream } from 'undici';

const [port, originPort, folder] = process.argv.slice(2);
const database = new pg.Pool({ host: folder, user: 'postgres', database: 'postgres', max: 32 });
const upstream = new Upstream(`http://127.0.0.1:${originPort}`, { connections: 64 });
const app = Fastify({ logger: false });

const CLAIM = {
  name: 'claim',
  text: `INSERT INTO idempotency_keys (key, fingerprint, state, expires_at)
         VALUES ($1, $2, 'running', now() + interval '24 hours') ON CONFLICT (key) DO NOTHING`,
};
const COMPLETE = {
  name: 'complete',
  text: `UPDATE idempotency_keys SET state = 'done', status = $2, body = $3 WHERE key = $1 AND state = 'running'`,
};
const FIND = { name: 'find', text: 'SELECT fingerprint, state, status, body FROM idempotency_keys WHERE key = $1' };

// The raw body: it is hashed here and passed on as it came.
app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));

app.addHook('preHandler', async (request, reply) => {
  const key = request.headers['idempotency-key'];
  if (request.method !== 'POST') return;
  if (!key) return reply.code(400).send({ error: 'Idempotency-Key is required' });
  const fingerprint = createHash('sha256').update(request.method).update(request.url).update(request.body).digest();
  const claimed = await database.query({ ...CLAIM, values: [key, fingerprint] });
  if (claimed.rowCount === 1) {
    request.claimed = key;
    return;
  }
  const { rows } = await database.query({ ...FIND, values: [key] });
  if (!rows[0] || rows[0].state === 'running') return reply.code(409).send({ error: 'in flight' });
  if (!rows[0].fingerprint.equals(fingerprint)) return reply.code(422).send({ error: 'key reused' });
  return reply.code(rows[0].status).type('application/json').header('Idempotent-Replayed', 'true').send(rows[0].body);
});

// Answers only after the answer is kept.
app.addHook('onSend', async (request, reply, payload) => {
  if (request.claimed) {
    await database.query({ ...COMPLETE, values: [request.claimed, reply.statusCode, payload] });
  }
  return payload;
});

app.post('/v1/charges', async (request, reply) => {
  const answer = await upstream.request({
    method: 'POST',
    path: request.url,
    headers: { 'content-type': 'application/json', 'idempotency-key': request.headers['idempotency-key'] },
    body: request.body,
  });
  const body = await answer.body.text();
  return reply.code(answer.statusCode).type('application/json').send(body);
});

app.get('/ready', async () => 'ready');

await app.listen({ host: '127.0.0.1', port: Number(port) });
