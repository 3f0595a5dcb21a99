// An app as tests/clients/README.md describes it, on Express.
import { setTimeout as sleep } from 'node:timers/promises';
import { pipeline, Readable } from 'node:stream';
import express from 'express';
import { semel } from '../../lib/express.js';
import { endOnSignal, forward, HOOKS, port, ROUTES } from './business.mjs';

const app = express();
app.disable('x-powered-by');
app.set('etag', false);

for (const [path, options] of Object.entries(ROUTES)) app.use(path, semel(options));
if (HOOKS) app.use('/hooks', semel(HOOKS));
app.use(express.raw({ type: () => true, limit: '20mb' })); // behind semel, which leaves it the bytes

const bytesOf = (req) => (Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0));

const WAYS = {
  json: (res) => res.status(201).location('/things/7').json({ id: 7, name: 'é' }),
  text: (res) => res.type('text/plain').send('plain text'),
  bytes: (res) => res.end(Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
  async stream(res) {
    res.type('text/plain');
    for (const word of ['one ', 'two ', 'three']) {
      res.write(word);
      await sleep(20);
    }
    res.end();
  },
  empty: (res) => res.status(204).end(),
  redirect: (res) => res.redirect(303, '/things/7'),
  cookie: (res) => res.set('X-Two', ['1', '2']).cookie('a', '1').type('text/plain').send('cookie'),
  'not-found': (res) => res.sendStatus(404),
  throw() {
    throw new Error('the handler fails');
  },
  break(res) {
    pipeline(Readable.from((async function* half() {
      yield 'half';
      throw new Error('the source broke');
    })()), res, () => {});
  },
  large: (res) => pipeline(Readable.from(Array.from({ length: 32 }, () => 'x'.repeat(65536))), res, () => {}),
};

app.post('/ways/:way', async (req, res) => {
  await forward(req, bytesOf(req));
  if (req.params.way === 'bytes') res.set('Content-Type', 'application/octet-stream');
  return WAYS[req.params.way](res);
});
app.get('/ready', (_req, res) => res.send('ready'));
app.use(async (req, res) => {
  const said = await forward(req, bytesOf(req));
  res.status(said.status);
  for (const [name, value] of said.fields) res.setHeader(name, value);
  res.end(said.body);
});
// eslint-disable-next-line no-unused-vars
app.use((error, _req, res, _next) => res.status(500).type('text/plain').send('failed'));

const server = app.listen(port, '127.0.0.1');
endOnSignal(() => new Promise((resolve) => {
  server.close(resolve);
  server.closeIdleConnections();
}));
