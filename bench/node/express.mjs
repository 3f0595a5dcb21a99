// The idempotency middleware that articles describe, on Express and pg, as they describe it: to compare with.
//
//   node express.mjs PORT ORIGIN_PORT DATABASE_FOLDER
//
// Before the handler: INSERT … ON CONFLICT DO NOTHING; a key that is there already is read. res.json is replaced by one
// that keeps the answer first. Statements are prepared, and the pool has 32 connections; the articles' ten would be slower.
import { createHash } from 'node:crypto';
import express from 'express';
import pg from 'pg';
import { Pool as Upstream } from 'undici';

const [port, originPort, folder] = process.argv.slice(2);
const database = new pg.Pool({ host: folder, user: 'postgres', database: 'postgres', max: 32 });
const upstream = new Upstream(`http://127.0.0.1:${originPort}`, { connections: 64 });
const app = express();
app.use(express.json({ limit: '2mb' }));

const CLAIM = {
  name: 'claim',
  text: `INSERT INTO express_keys (key, fingerprint, state, expires_at)
         VALUES ($1, $2, 'running', now() + interval '24 hours') ON CONFLICT (key) DO NOTHING`,
};
const COMPLETE = {
  name: 'complete',
  text: `UPDATE express_keys SET state = 'done', status = $2, body = $3 WHERE key = $1 AND state = 'running'`,
};
const FIND = { name: 'find', text: 'SELECT fingerprint, state, status, body FROM express_keys WHERE key = $1' };

async function idempotent(request, response, next) {
  const key = request.get('Idempotency-Key');
  if (!key) return response.status(400).json({ error: 'Idempotency-Key is required' });
  const fingerprint = createHash('sha256').update(request.method + request.path).update(JSON.stringify(request.body)).digest();
  const claimed = await database.query({ ...CLAIM, values: [key, fingerprint] });
  if (claimed.rowCount === 0) {
    const { rows } = await database.query({ ...FIND, values: [key] });
    if (!rows[0] || rows[0].state === 'running') return response.status(409).json({ error: 'in flight' });
    if (!rows[0].fingerprint.equals(fingerprint)) return response.status(422).json({ error: 'key reused' });
    return response.status(rows[0].status).json(JSON.parse(rows[0].body));
  }
  const send = response.json.bind(response);
  response.json = async (body) => {
    await database.query({ ...COMPLETE, values: [key, response.statusCode, JSON.stringify(body)] });
    return send(body);
  };
  next();
}

app.post('/v1/charges', idempotent, async (request, response) => {
  const answer = await upstream.request({
    method: 'POST',
    path: '/v1/charges',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  await response.status(answer.statusCode).json(await answer.body.json());
});

app.get('/ready', (_request, response) => response.send('ready'));

app.listen(Number(port), '127.0.0.1');
