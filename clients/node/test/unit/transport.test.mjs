// Calls over the client's own connections, against a server that answers in every way that HTTP/1.1 has, byte by byte.
import assert from 'node:assert/strict';
import net from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { CallRefused, Semel, StoreUnavailable } from '../../lib/index.js';

let server;
let semel;
let script; // one entry per request: a text, a list of texts that are written one after the other, or a function of the socket
let sockets;
let heard;

beforeEach(async () => {
  script = [];
  sockets = [];
  heard = [];
  server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      heard.push(piece.toString());
      answer(socket, script.shift());
    });
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  semel = new Semel({ url: `http://127.0.0.1:${server.address().port}/under/`, token: 't', timeoutMs: 300 });
});
afterEach(() => {
  semel.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

async function answer(socket, said) {
  if (typeof said === 'function') return said(socket);
  for (const piece of [said].flat()) {
    socket.write(piece);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  return undefined;
}

const FREE = '{"outcome":"free"}';
const PLAIN = `HTTP/1.1 200 OK\r\nContent-Length: ${FREE.length}\r\n\r\n${FREE}`;
const look = () => semel.get({ namespace: 'é', key: 'k' });

const FORMS = {
  'with a length': [PLAIN],
  'byte by byte': [[...PLAIN]],
  'in chunks': [['HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5\r\n{"out\r', '\nd;x=y\r\ncome":"free"}\r\n0\r\nX-Sum: 1\r\n', '\r\n']],
  'behind an interim answer': [`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n${PLAIN}`],
};
for (const [name, said] of Object.entries(FORMS)) {
  test(`an answer ${name}, and the connection is used again`, async () => {
    script = [...said, ...said];
    assert.equal((await look()).outcome, 'free');
    assert.equal((await look()).outcome, 'free');
    assert.equal(sockets.length, 1);
    assert.match(heard[0], /^POST \/under\/v1\/claims\/get HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
    const [head, body] = heard[0].split('\r\n\r\n');
    assert.match(head, /\r\nAuthorization: Bearer t\r\nContent-Length: 28$/);
    assert.deepEqual([JSON.parse(body), Buffer.byteLength(body)], [{ namespace: 'é', key: 'k' }, 28]);
  });
}

test('an answer that ends with its connection, and one whose connection is not kept', async () => {
  script = [(socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${FREE}`), PLAIN.replace('OK', 'OK\r\nConnection: close'),
    PLAIN.replace('HTTP/1.1', 'HTTP/1.0'), PLAIN];
  for (let i = 0; i < 4; ++i) assert.equal((await look()).outcome, 'free');
  assert.equal(sockets.length, 4);
});

test('a connection that was closed while it was idle is replaced, and nobody notices', async () => {
  script = [PLAIN, (socket) => socket.destroy(), PLAIN];
  assert.equal((await look()).outcome, 'free');
  assert.equal((await look()).outcome, 'free');
  assert.equal(sockets.length, 2);
});

test('what is no answer is an error of its own class', async () => {
  const wrong = ['HTTP/2 200 OK\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 'HTTP/1.1 200 OK\r\nno name\r\n\r\n', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70000)}`,
    (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"out'), (socket) => socket.destroy(), () => {},
    'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\n<p>no'];
  for (const said of wrong) {
    script = [said];
    await assert.rejects(look(), StoreUnavailable, String(said).slice(0, 70));
  }
  script = ['HTTP/1.1 401 No\r\nContent-Length: 17\r\n\r\n{"retry":"never"}'];
  await assert.rejects(look(), CallRefused);
});

test('two answers to one question are not taken for the next', async () => {
  script = [PLAIN + PLAIN.replace('free', 'done'), PLAIN];
  assert.equal((await look()).outcome, 'free');
  assert.equal((await look()).outcome, 'free');
  assert.equal(sockets.length, 2);
});

test('an answer that is too late is not taken for the next', async () => {
  script = [(socket) => setTimeout(() => socket.write(PLAIN.replace('free', 'done')), 400), PLAIN];
  await assert.rejects(look(), StoreUnavailable);
  assert.equal((await look()).outcome, 'free');
  assert.equal(sockets.length, 2);
});

test('calls beyond the connections wait for one', async () => {
  const two = new Semel({ url: semel.transport.base.href, connections: 2, timeoutMs: 300 });
  script = Array.from({ length: 6 }, () => PLAIN);
  const calls = Array.from({ length: 6 }, (_, i) => two.transport.post('/v1/claims/get', { key: `${i}` }));
  assert.deepEqual((await Promise.all(calls)).map(({ outcome }) => outcome), Array(6).fill('free'));
  assert.equal(sockets.length, 2);
  two.close();
});
