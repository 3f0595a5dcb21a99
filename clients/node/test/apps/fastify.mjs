// An app as tests/clients/README.md describes it, on Fastify.
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { semel } from '../../lib/fastify.js';
import { endOnSignal, forward, HOOKS, port, ROUTES } from './business.mjs';

const app = Fastify({ bodyLimit: 20 * 1024 * 1024, forceCloseConnections: 'idle' });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body)); // behind semel
app.setErrorHandler((_error, _request, reply) => reply.code(500).type('text/plain').send('failed'));

async function* pieces(words, ms = 0) {
  for (const word of words) {
    if (word instanceof Error) throw word;
    yield word;
    await sleep(ms);
  }
}

const WAYS = {
  json: (reply) => reply.code(201).header('Location', '/things/7').send({ id: 7, name: 'é' }),
  text: (reply) => reply.type('text/plain').send('plain text'),
  bytes: (reply) => reply.type('application/octet-stream').send(Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
  stream: (reply) => reply.type('text/plain').send(Readable.from(pieces(['one ', 'two ', 'three'], 20))),
  empty: (reply) => reply.code(204).send(),
  redirect: (reply) => reply.redirect('/things/7', 303),
  cookie: (reply) => reply.header('X-Two', ['1', '2']).header('Set-Cookie', 'a=1').type('text/plain').send('cookie'),
  'not-found': (reply) => reply.callNotFound(),
  throw() {
    throw new Error('the handler fails');
  },
  break: (reply) => reply.send(Readable.from(pieces(['half', new Error('the source broke')], 20))),
  large: (reply) => reply.send(Readable.from(Array.from({ length: 32 }, () => 'x'.repeat(65536)))),
};

const bytesOf = (request) => request.body ?? Buffer.alloc(0);

async function handle(request, reply) {
  const said = await forward(request.raw, bytesOf(request));
  for (const [name, value] of said.fields) reply.header(name, value);
  return reply.code(said.status).send(said.body.length > 0 ? said.body : undefined);
}

async function answerInItsWay(request, reply) {
  await forward(request.raw, bytesOf(request));
  await WAYS[request.params.way](reply);
  return reply;
}

app.get('/ready', async () => 'ready');
app.register(async (guarded) => {
  guarded.register(semel, ROUTES['/hold']);
  for (const [path, options] of Object.entries(ROUTES)) {
    if (path === '/ways') guarded.post('/ways/:way', { config: { semel: options } }, answerInItsWay);
    else guarded.all(`${path}/*`, { config: { semel: options } }, handle);
  }
  if (HOOKS) guarded.all('/hooks', { config: { semel: HOOKS } }, handle);
});
await app.listen({ port, host: '127.0.0.1' });
endOnSignal(() => app.close());
