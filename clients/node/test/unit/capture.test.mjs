// An answer is held back, kept and repeated however the handler makes it. What goes over the wire is looked at, byte by byte.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { semel } from '../../lib/express.js';
import { Semel } from '../../lib/index.js';
import { FakeApi } from '../support/fake_api.mjs';

let api;
let client;
let server;
let handler; // of the test that runs
let runs;
let failed;

before(async () => {
  api = await new FakeApi().start();
  client = new Semel({ url: api.url });
  const guard = semel({ semel: client, scope: '', timeoutMs: 2000, storeBodyMax: 4096 });
  server = http.createServer((req, res) => {
    guard(req, res, (error) => {
      if (error) failed = error;
      runs += 1;
      handler(req, res);
    });
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
after(() => {
  client.close();
  server.closeAllConnections();
  server.close();
  api.close();
});
beforeEach(() => {
  runs = 0;
  failed = undefined;
});

// All bytes of the answer to one request, on a connection of its own.
function ask(key, { method = 'POST', leaveAfterMs = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const pieces = [];
    const socket = net.connect(server.address().port, '127.0.0.1');
    socket.on('data', (piece) => pieces.push(piece));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(pieces).toString('latin1')));
    socket.write(`${method} /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIdempotency-Key: ${key}\r\nContent-Length: 2\r\n\r\n{}`);
    if (leaveAfterMs > 0) setTimeout(() => socket.destroy(), leaveAfterMs);
  });
}

function parsed(text) {
  const end = text.indexOf('\r\n\r\n');
  const [line, ...lines] = text.slice(0, end).split('\r\n');
  const fields = lines.map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 2)]);
  return { status: Number(line.split(' ')[1]), fields, body: text.slice(end + 4), get: (name) => fields.find(([own]) => own === name)?.[1] };
}

const WAYS = {
  'end without a body': [(req, res) => res.end(), 200, ''],
  'end with null': [(req, res) => res.end(null), 200, ''],
  'end with a callback': [(req, res) => res.end('text', () => {}), 200, 'text'],
  'only a callback': [(req, res) => res.end(() => {}), 200, ''],
  'pieces in several encodings': [(req, res) => {
    res.write('é', 'latin1');
    res.write('6162', 'hex', () => {});
    res.write(new Uint8Array([99]));
    res.end('ZA==', 'base64');
  }, 200, '\xe9abcd'],
  'a head of its own': [(req, res) => res.writeHead(202, 'Fine', { 'X-One': ['a', 'b'] }).end('ok'), 202, 'ok'],
  'a head as pairs': [(req, res) => res.writeHead(202, [['X-One', 'a'], ['X-One', 'b']]).end('ok'), 202, 'ok'],
  'a head as a flat list': [(req, res) => res.writeHead(202, ['X-One', 'a', 'X-One', 'b']).end('ok'), 202, 'ok'],
  'a head that is sent early': [(req, res) => {
    res.statusCode = 201;
    res.flushHeaders();
    assert.ok(res.headersSent);
    assert.throws(() => res.setHeader('X-Late', '1'), { code: 'ERR_HTTP_HEADERS_SENT' });
    setTimeout(() => res.end('late'), 20);
  }, 201, 'late'],
  'a stream': [(req, res) => Readable.from(['one ', 'two ', 'three']).pipe(res), 200, 'one two three'],
  'a pipeline': [(req, res) => pipeline(Readable.from([Buffer.alloc(3000, 'x')]), res, () => {}), 200, 'x'.repeat(3000)],
  'two ends': [(req, res) => {
    res.end('first');
    assert.ok(res.writableEnded);
    assert.ok(res.finished);
    res.end('second');
    res.write('third', () => {});
  }, 200, 'first'],
  'a length that is wrong': [(req, res) => {
    res.setHeader('Content-Length', '2');
    res.end('four');
  }, 200, 'four'],
  'trailers': [(req, res) => {
    res.setHeader('Trailer', 'X-Sum');
    res.write('text');
    res.addTrailers({ 'X-Sum': '1' });
    res.end();
  }, 200, 'text'],
  'chunks on request': [(req, res) => {
    res.setHeader('Transfer-Encoding', 'chunked');
    res.end('text');
  }, 200, 'text'],
  'no content': [(req, res) => res.writeHead(204).end('never sent'), 204, ''],
  'not modified': [(req, res) => res.writeHead(304, { ETag: '"1"' }).end('never sent'), 304, ''],
  'a redirect': [(req, res) => res.writeHead(303, { Location: '/there' }).end(), 303, ''],
};

for (const [name, [way, status, body]] of Object.entries(WAYS)) {
  test(`kept and repeated: ${name}`, async () => {
    handler = way;
    const first = parsed(await ask(`way-${name.replaceAll(' ', '-')}`));
    const again = parsed(await ask(`way-${name.replaceAll(' ', '-')}`));
    const text = first.get('transfer-encoding') ? first.body.replace(/^\w+\r\n/, '').replace(/\r\n0\r\n\r\n$/, '') : first.body;
    assert.deepEqual([first.status, text, again.status, again.body], [status, body, status, body]);
    assert.equal(runs, 1);
    assert.equal(again.get('idempotent-replayed'), 'true');
    assert.equal(first.get('trailer'), undefined);
    for (const field of ['x-one', 'location', 'etag']) {
      const of = ({ fields }) => fields.filter(([own]) => own === field).map(([, value]) => value);
      assert.deepEqual(of(again), of(first));
    }
    if (name.includes('head as')) assert.equal(first.fields.filter(([own]) => own === 'x-one').length, 2);
  });
}

test('what stands under the key has no body where the answer had none', async () => {
  handler = (req, res) => res.writeHead(204).end('never sent');
  await ask('bare');
  assert.equal(api.records.get('["default","","bare"]').result.body_base64, undefined);
});

test('a client that goes away does not end the work, and finds its answer later', async () => {
  const heard = [];
  handler = (req, res) => {
    res.on('close', () => heard.push('close'));
    setTimeout(() => {
      heard.push('answers');
      res.end('worth it');
    }, 150);
  };
  assert.equal(await ask('gone', { leaveAfterMs: 50 }), '');
  await sleep(250);
  const again = parsed(await ask('gone'));
  assert.deepEqual([again.status, again.body, runs], [200, 'worth it', 1]);
  assert.deepEqual(heard, ['answers', 'close']);
});

test('an answer that breaks off is unknown, and so is one that never comes', async () => {
  for (const [key, way, status] of [['broken', (req, res) => {
    res.write('half');
    res.destroy(new Error('gone'));
  }, 502], ['never', () => {}, 504]]) {
    handler = way;
    const first = parsed(await ask(key));
    assert.equal(first.status, status);
    assert.match(first.body, /outcome-unknown/);
    assert.equal(parsed(await ask(key)).status, 409);
  }
  assert.equal(runs, 2);
});

test('a body over what is kept goes to its caller, whole', async () => {
  handler = (req, res) => {
    res.setHeader('Location', '/big');
    Readable.from([Buffer.alloc(3000, 'x'), Buffer.alloc(3000, 'y')]).pipe(res);
  };
  const first = await ask('large');
  const body = first.slice(first.indexOf('\r\n\r\n'));
  assert.deepEqual([body.split('x').length - 1, body.split('y').length - 1], [3000, 3000]);
  const again = parsed(await ask('large'));
  assert.equal(again.get('location'), '/big');
  assert.match(again.body, /body-not-kept/);
});

test('a large answer that breaks off while its first part is settled is broken off for its caller', async () => {
  handler = (req, res) => {
    res.setHeader('Transfer-Encoding', 'chunked');
    res.write(Buffer.alloc(6000, 'x')); // more than is kept: it is being settled now
    res.destroy();
  };
  const first = await ask('broken-large').catch(() => '');
  assert.equal(first.endsWith('0\r\n\r\n'), false, 'it has no end, so nobody takes it for whole');
  handler = () => assert.fail('runs again');
  assert.match(parsed(await ask('broken-large')).body, /body-not-kept/);
});

test('what other middleware has put on the response is called, and stays', async () => {
  const called = [];
  handler = (req, res) => res.end('text');
  const own = handler;
  const listeners = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (req, res) => {
    const { end, writeHead } = res;
    res.writeHead = function headOfAnother(...words) {
      called.push('writeHead');
      return writeHead.apply(this, words);
    };
    res.end = function endOfAnother(...words) {
      called.push('end');
      return end.apply(this, words);
    };
    listeners[0](req, res);
  });
  handler = (req, res) => {
    own(req, res);
    assert.deepEqual(called, [], 'not before the answer goes out');
  };
  assert.equal(parsed(await ask('layers')).body, 'text');
  assert.deepEqual(called, ['end', 'writeHead']);
  server.removeAllListeners('request');
  server.on('request', listeners[0]);
});

test('the middleware has no errors of its own', () => assert.equal(failed, undefined));
