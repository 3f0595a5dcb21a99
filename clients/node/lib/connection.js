// One connection to the claims API: a request at a time, HTTP/1.1, kept open. Node's own client costs five times as much for
// such small calls, because it makes streams of them.
//
//   idle ──ask()──▶ waiting for the answer ──▶ idle, or closed if the other side says so
//
// An answer has a length, comes in chunks, or ends with the connection (RFC 9112, 6.3). What is none of these is refused.
import net from 'node:net';
import tls from 'node:tls';

const HEAD_BYTES_MAX = 64 * 1024;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const HEAD_END = '\r\n\r\n';

function headOf(text) {
  const [line, ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(line)?.[1];
  if (!status) throw new Error('the answer is not HTTP/1.1');
  const fields = new Map();
  for (const one of lines) {
    const colon = one.indexOf(':');
    if (colon < 1) throw new Error('a field of the answer has no name');
    const name = one.slice(0, colon).toLowerCase();
    const value = one.slice(colon + 1).trim();
    fields.set(name, fields.has(name) ? `${fields.get(name)}, ${value}` : value);
  }
  const stays = line.startsWith('HTTP/1.1') && !/\bclose\b/i.test(fields.get('connection') ?? '');
  return { status: Number(status), fields, stays };
}

// The body that stands in `bytes` in chunks, and where it ends; null if more has to come.
function chunksOf(bytes) {
  const pieces = [];
  for (let place = 0; ;) {
    const line = bytes.indexOf('\r\n', place);
    if (line < 0) return null;
    const size = /^([0-9a-f]{1,8})[ \t]*(?:;|$)/i.exec(bytes.latin1Slice(place, line))?.[1];
    if (!size) throw new Error('a chunk of the answer has no size');
    const begin = line + 2;
    const end = begin + Number.parseInt(size, 16);
    if (end === begin) {
      const last = bytes.indexOf(HEAD_END, line); // behind the trailers, if there are any
      return last < 0 ? null : { end: last + 4, body: Buffer.concat(pieces) };
    }
    if (end + 2 > bytes.length) return null;
    pieces.push(bytes.subarray(begin, end));
    place = end + 2;
  }
}

function lengthOf(fields) {
  const text = fields.get('content-length');
  if (text === undefined) return null;
  if (!/^[0-9]{1,9}$/.test(text)) throw new Error('the length of the answer is not a number');
  return Number(text);
}

export class Connection {
  // `place`: { secure, host, port, tls }. `left(connection)` is told when it can no longer be used.
  constructor(place, left) {
    this.left = left;
    this.pieces = []; // of the answer, as they come
    this.size = 0;
    this.needed = 0; // so many bytes must be there before it is worth a look
    this.head = null; // { status, fields, stays, end }
    this.asker = null; // { resolve, reject, timer }
    this.used = false; // it has carried an answer
    const to = { host: place.host, port: place.port };
    const name = net.isIP(place.host) ? {} : { servername: place.host };
    this.socket = place.secure ? tls.connect({ ...to, ...name, ...place.tls }) : net.connect(to);
    this.socket.setNoDelay(true);
    this.socket.on('data', (piece) => this.take(piece));
    this.socket.on('error', (error) => this.fail(error, true));
    this.socket.on('close', () => this.close());
  }

  // `text` is the whole request. Resolves with { status, fields, body }; rejects if there is no whole answer in time. `stale` in
  // the error says that it was closed before a byte of the answer had come, and had been used before.
  ask(text, timeoutMs) {
    this.socket.ref();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      this.asker = { resolve, reject, timer };
      this.socket.write(text);
    });
  }

  take(piece) {
    if (this.asker === null) return this.fail(new Error('an answer without a question'));
    this.pieces.push(piece);
    this.size += piece.length;
    if (this.size < this.needed) return undefined;
    try {
      return this.read(false);
    } catch (error) {
      return this.fail(error);
    }
  }

  read(closed) {
    let bytes = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces);
    if (bytes.length > ANSWER_BYTES_MAX) throw new Error('the answer is too long');
    while (this.head === null) {
      const end = bytes.indexOf(HEAD_END);
      if (end < 0 && bytes.length > HEAD_BYTES_MAX) throw new Error('the head of the answer is too long');
      this.pieces = [bytes];
      this.size = bytes.length;
      if (end < 0) return;
      this.head = headOf(bytes.latin1Slice(0, end));
      bytes = bytes.subarray(end + 4);
      if (this.head.status < 200) this.head = null; // an interim answer; the real one follows
    }
    this.pieces = [bytes];
    this.size = bytes.length;
    this.readBody(bytes, closed);
  }

  // `bytes`: what stands behind the head.
  readBody(bytes, closed) {
    const { status, fields, stays } = this.head;
    if (fields.has('transfer-encoding')) {
      if (fields.get('transfer-encoding').toLowerCase() !== 'chunked') throw new Error('the answer is encoded in an unknown way');
      const found = chunksOf(bytes);
      if (found) this.answered({ status, fields, body: found.body }, stays && found.end === bytes.length);
      return;
    }
    const length = status === 204 || status === 304 ? 0 : lengthOf(fields);
    if (length !== null && bytes.length >= length) {
      this.answered({ status, fields, body: bytes.subarray(0, length) }, stays && bytes.length === length);
    } else if (length === null && closed) {
      this.answered({ status, fields, body: bytes }, false);
    } else {
      this.needed = Math.min(length ?? ANSWER_BYTES_MAX, ANSWER_BYTES_MAX);
    }
  }

  answered(answer, stays) {
    const { asker } = this;
    clearTimeout(asker.timer);
    this.asker = null;
    this.pieces = [];
    this.size = 0;
    this.needed = 0;
    this.head = null;
    this.used = true;
    if (stays) this.socket.unref(); // an idle connection keeps no process alive
    else this.destroy();
    asker.resolve(answer);
  }

  close() {
    if (this.asker !== null && this.head !== null) {
      try {
        this.read(true);
      } catch {
        // below
      }
    }
    this.fail(new Error('the connection was closed before the answer was whole'), true);
  }

  fail(error, gone = false) {
    const { asker } = this;
    const stale = gone && this.used && this.size === 0 && this.head === null;
    this.asker = null;
    this.destroy();
    if (asker === null) return;
    clearTimeout(asker.timer);
    asker.reject(Object.assign(error, { stale }));
  }

  get isIdle() {
    return this.asker === null && !this.socket.destroyed;
  }

  destroy() {
    this.left(this);
    this.socket.destroy();
  }
}
