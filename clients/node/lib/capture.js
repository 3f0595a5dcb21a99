// Holds an answer back until it is known what becomes of its key: however the handler answers (json, send, end, write, pipe,
// redirect), it does so through a handful of functions of the response, and those are ours meanwhile.
//
//   gathering ──end()──▶ settled: send(), or replace() by another answer
//       │ ──destroy()──▶ settled, broken
//       └── more bytes than are kept ──▶ settled, large: send(), and what still comes goes straight through
//
// A client that goes away does not end the work: `close` is told when all is over.

const METHODS = ['writeHead', 'write', 'end', 'flushHeaders', 'destroy', 'emit', 'setHeader', 'appendHeader', 'removeHeader'];

function headersSent() {
  return Object.assign(new Error('Cannot set headers after they are sent to the client'), { code: 'ERR_HTTP_HEADERS_SENT' });
}

export function fieldsOf(res) {
  const names = res.getRawHeaderNames?.() ?? res.getHeaderNames();
  return names.flatMap((name) => [res.getHeader(name)].flat().map((value) => [name, String(value)]));
}

export class Capture {
  constructor(res, bytesMax) {
    this.res = res;
    this.bytesMax = bytesMax;
    this.pieces = [];
    this.size = 0;
    this.head = null; // { status, fields } once it can no longer change
    this.ended = false;
    this.closed = false;
    this.over = false;
    this.outer = fieldsOf(res); // of whoever saw the response before us
    this.before = new Map(METHODS.map((name) => [name, Object.getOwnPropertyDescriptor(res, name)]));
    this.settled = new Promise((resolve) => {
      this.settle = resolve;
    });
    this.install();
  }

  install() {
    const { res } = this;
    const real = Object.fromEntries(METHODS.map((name) => [name, res[name]?.bind(res)]));
    const own = {
      writeHead: (...words) => this.writeHead(...words),
      write: (piece, encoding, told) => this.write(piece, encoding, told),
      end: (piece, encoding, told) => this.end(piece, encoding, told),
      flushHeaders: () => this.fixHead(),
      destroy: (error) => this.destroy(error),
      emit: (name, ...rest) => {
        if (name !== 'close' || this.over) return real.emit(name, ...rest);
        this.closed = true;
        return false;
      },
    };
    for (const name of ['setHeader', 'appendHeader', 'removeHeader']) {
      own[name] = (...words) => {
        if (this.head !== null) throw headersSent();
        return real[name](...words);
      };
    }
    for (const name of METHODS) Object.defineProperty(res, name, { value: own[name], configurable: true, writable: true });
    const getters = { headersSent: () => this.head !== null, writableEnded: () => this.ended, finished: () => this.ended };
    for (const [name, get] of Object.entries(getters)) Object.defineProperty(res, name, { get, configurable: true });
  }

  restore() {
    for (const [name, descriptor] of this.before) {
      delete this.res[name];
      if (descriptor) Object.defineProperty(this.res, name, descriptor);
    }
    for (const name of ['headersSent', 'writableEnded']) delete this.res[name];
    delete this.res.finished;
    this.res.finished = false;
  }

  writeHead(status, reason, headers) {
    const { res } = this;
    const fields = typeof reason === 'string' ? headers : reason;
    if (this.head !== null) throw headersSent();
    res.statusCode = status;
    if (typeof reason === 'string') res.statusMessage = reason;
    if (Array.isArray(fields)) {
      const pairs = Array.isArray(fields[0]) ? fields : fields.flatMap((_, i) => (i % 2 ? [] : [[fields[i], fields[i + 1]]]));
      const values = new Map();
      for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value].flat());
      for (const [name, value] of values) res.setHeader(name, value.length === 1 ? value[0] : value);
    } else {
      for (const [name, value] of Object.entries(fields ?? {})) if (value !== undefined) res.setHeader(name, value);
    }
    this.fixHead();
    return res;
  }

  fixHead() {
    this.head ??= { status: this.res.statusCode, fields: fieldsOf(this.res) };
  }

  add(piece, encoding) {
    this.fixHead();
    if (piece === undefined || piece === null || piece.length === 0) return;
    const bytes = typeof piece === 'string' ? Buffer.from(piece, encoding) : Buffer.from(piece);
    this.pieces.push(bytes);
    this.size += bytes.length;
    if (this.size > this.bytesMax) this.settle({ ...this.head, large: true });
  }

  write(piece, encoding, told) {
    const tell = typeof encoding === 'function' ? encoding : told;
    if (this.ended) return false;
    this.add(piece, typeof encoding === 'string' ? encoding : undefined);
    if (tell) process.nextTick(tell);
    return this.size <= this.bytesMax; // false: `drain` follows
  }

  end(piece, encoding, told) {
    const { res } = this;
    if (this.ended) return res;
    const tell = [piece, encoding, told].find((word) => typeof word === 'function');
    this.add(typeof piece === 'function' ? undefined : piece, typeof encoding === 'string' ? encoding : undefined);
    if (tell) res.once('finish', tell);
    this.ended = true;
    this.settle({ ...this.head, body: Buffer.concat(this.pieces, this.size) });
    return res;
  }

  destroy(error) {
    this.ended = true;
    this.settle({ broken: true, error });
    return this.res;
  }

  // The handler's own answer goes out, with these fields and without those.
  send(added, isDropped) {
    const { res, ended, pieces, closed } = this;
    this.over = true;
    this.restore();
    if (closed) return res.emit('close');
    for (const name of res.getHeaderNames()) if (isDropped(name) || name === 'trailer') res.removeHeader(name);
    for (const [name, value] of added) res.setHeader(name, value);
    const framed = res.statusCode === 204 || res.statusCode === 304 || res.hasHeader('Transfer-Encoding');
    if (ended && !framed) res.setHeader('Content-Length', this.size);
    if (!ended) {
      for (const piece of pieces) res.write(piece);
      return res.emit('drain');
    }
    return res.end(Buffer.concat(pieces));
  }

  // Another answer goes out instead.
  replace(reply) {
    this.over = true;
    this.restore();
    if (this.closed) return this.res.emit('close');
    for (const name of this.res.getHeaderNames()) this.res.removeHeader(name);
    return write(this.res, { ...reply, fields: [...this.outer.filter(([name]) => !has(reply.fields, name)), ...reply.fields] });
  }
}

function has(fields, name) {
  return fields.some(([own]) => own.toLowerCase() === name.toLowerCase());
}

// Fields that are set already stay, unless the reply has its own.
export function write(res, { status, fields, body }) {
  const values = new Map();
  for (const [name, value] of fields) {
    const low = name.toLowerCase();
    values.set(low, { name, list: [...(values.get(low)?.list ?? []), value] });
  }
  res.statusCode = status;
  res.statusMessage = '';
  for (const { name, list } of values.values()) res.setHeader(name, list.length === 1 ? list[0] : list);
  if (status !== 204 && status !== 304) res.setHeader('Content-Length', body.length);
  return res.end(body);
}

// For a request that is not guarded: its answer goes out as it is made, but for the fields that are not the handler's to set.
export function without(res, isDropped) {
  const { writeHead } = res;
  res.writeHead = function writeHeadWithout(...words) {
    for (const name of res.getHeaderNames()) if (isDropped(name)) res.removeHeader(name);
    const fields = words.at(-1);
    if (fields !== null && typeof fields === 'object' && !Array.isArray(fields)) {
      words[words.length - 1] = Object.fromEntries(Object.entries(fields).filter(([name]) => !isDropped(name)));
    }
    return writeHead.apply(res, words);
  };
}
