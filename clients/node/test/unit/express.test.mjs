// Express gives a response another prototype for each app that is mounted in another: an answer is held back all the same.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import express from 'express';
import { semel } from '../../lib/express.js';
import { Semel } from '../../lib/index.js';
import { FakeApi } from '../support/fake_api.mjs';

let api;
let client;
let server;
let runs = 0;

const WAYS = {
  json: (req, res) => res.status(201).json({ body: req.body }),
  send: (req, res) => res.format({ json: () => res.send({ a: 1 }) }),
  file: (req, res) => res.sendFile(new URL(import.meta.url).pathname),
  redirect: (req, res) => res.redirect(303, '/there'),
  status: (req, res) => res.sendStatus(202),
};

before(async () => {
  api = await new FakeApi().start();
  client = new Semel({ url: api.url });
  const inner = express();
  inner.use(express.json());
  for (const [name, way] of Object.entries(WAYS)) {
    inner.post(`/${name}`, (req, res) => {
      runs += 1;
      return way(req, res);
    });
  }
  const outer = express();
  outer.use(semel({ semel: client, scope: '' }));
  outer.use('/inner', inner);
  await new Promise((resolve) => {
    server = outer.listen(0, '127.0.0.1', resolve);
  });
});
after(() => {
  client.close();
  server.closeAllConnections();
  server.close();
  api.close();
});

for (const name of Object.keys(WAYS)) {
  test(`an app in an app answers once: ${name}`, async () => {
    const ask = async () => {
      const headers = { 'Idempotency-Key': name, 'Content-Type': 'application/json' };
      const url = `http://127.0.0.1:${server.address().port}/inner/${name}`;
      const reply = await fetch(url, { method: 'POST', redirect: 'manual', headers, body: '{"a": 1}' });
      return { status: reply.status, body: await reply.text(), replayed: reply.headers.get('Idempotent-Replayed') };
    };
    runs = 0;
    const first = await ask();
    const again = await ask();
    assert.deepEqual(again, { ...first, replayed: 'true' });
    assert.equal(first.replayed, null);
    assert.ok(first.status < 400 && first.body !== '');
    assert.equal(runs, 1);
  });
}
