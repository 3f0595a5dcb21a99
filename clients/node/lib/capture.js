// Holds an answer back until it is known what becomes of its key: however the handler answers (json, send, end, write, pipe,
// redirect), it does so through a handful of functions of the response, and those are ours meanwhile.
//
//   gathering ──end()──▶ settled: send(), or replace() by another answer
//       │ ──destroy()──▶ settled, broken
//       └── more bytes than are kept ──▶ settled, large: send(), and what still comes goes straight through
//
// A client that goes away does not end the work: `close` is told when all is over.

const CAPTURE = Symbol('semel capture');

function headersSent() {
  return Object.assign(new Error('Cannot set headers after they are sent to the client'), { code: 'ERR_HTTP_HEADERS_SENT' });
}

export function fieldsOf(res) {
  const fields = [];
  for (const name of res.getRawHeaderNames?.() ?? res.getHeaderNames()) {
    const value = res.getHeader(name);
    if (Array.isArray(value)) for (const one of value) fields.push([name, String(one)]);
    else fields.push([name, String(value)]);
  }
  return fields;
}

// What a response does as long as its answer is held back. These are the same functions for all responses, and they stay: a
// response with functions of its own that come and go is slow ever after.
function instead(name, meanwhile) {
  return function heldBack(...words) {
    const capture = this[CAPTURE];
    return capture.over ? capture.real[name].apply(this, words) : meanwhile(capture, words);
  };
}

function change(name) {
  return instead(name, (capture, words) => {
    if (capture.head !== null) throw headersSent();
    return capture.real[name].apply(capture.res, words);
  });
}

const HELD_BACK = {
  writeHead: instead('writeHead', (capture, words) => capture.writeHead(...words)),
  write: instead('write', (capture, words) => capture.write(...words)),
  end: instead('end', (capture, words) => capture.end(...words)),
  flushHeaders: instead('flushHeaders', (capture) => capture.fixHead()),
  destroy: instead('destroy', (capture, words) => capture.destroy(...words)),
  emit: instead('emit', (capture, words) => {
    if (words[0] !== 'close') return capture.real.emit.apply(capture.res, words);
    capture.closed = true;
    return false;
  }),
  setHeader: change('setHeader'),
  appendHeader: change('appendHeader'),
  removeHeader: change('removeHeader'),
};
const METHODS = Object.keys(HELD_BACK);
const HEADERS_SENT = {
  configurable: true,
  get() {
    const capture = this[CAPTURE];
    return capture.over ? Reflect.get(Object.getPrototypeOf(this), 'headersSent', this) : capture.head !== null;
  },
};

export class Capture {
  // `settle` is called with what the handler has answered: { status, fields } and `body` or `large`, or { broken }.
  constructor(res, bytesMax, settle) {
    this.res = res;
    this.bytesMax = bytesMax;
    this.settle = settle;
    this.pieces = [];
    this.size = 0;
    this.head = null; // { status, fields } once it can no longer change
    this.ended = false;
    this.broken = false;
    this.closed = false;
    this.over = false;
    this.outer = fieldsOf(res); // of whoever saw the response before us
    this.real = {};
    // To V8, a response whose prototype Express has set is a shape of its own after each property that it gets, and each costs
    // microseconds. After a deletion it is a dictionary, which takes them at once.
    delete res.finished;
    res.finished = false;
    for (const name of METHODS) {
      this.real[name] = res[name];
      res[name] = HELD_BACK[name];
    }
    res[CAPTURE] = this;
    Object.defineProperty(res, 'headersSent', HEADERS_SENT);
  }

  // From here on the response does what it did before.
  release() {
    this.over = true;
    this.res.finished = false; // as `ended` has set it
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
    const { status, fields } = this.head;
    const bare = status === 204 || status === 304; // Node sends no body with these
    const body = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces, this.size);
    this.pieces = [body];
    this.setEnded();
    this.settle({ status, fields, body: bare ? body.subarray(0, 0) : body });
    return res;
  }

  setEnded() {
    this.ended = true;
    this.res.finished = true; // writableEnded says the same
  }

  destroy(error) {
    this.broken = true;
    this.setEnded();
    this.settle({ broken: true, error });
    return this.res;
  }

  // The handler's own answer goes out, with these fields and without those.
  send(added, dropped) {
    const { res, ended, pieces } = this;
    this.release();
    if (this.closed) return res.emit('close');
    if (this.broken) return res.destroy(); // while the first part of a large answer was being settled
    for (const name of dropped) if (res.hasHeader(name)) res.removeHeader(name);
    if (res.hasHeader('trailer')) res.removeHeader('trailer');
    for (const [name, value] of added) res.setHeader(name, value);
    const framed = res.statusCode === 204 || res.statusCode === 304 || res.req?.method === 'HEAD' || res.hasHeader('Transfer-Encoding');
    if (ended && !framed) res.setHeader('Content-Length', this.size);
    if (ended) return res.end(pieces[0]);
    for (const piece of pieces) res.write(piece);
    return res.emit('drain');
  }

  // Another answer goes out instead.
  replace(reply) {
    const { res } = this;
    this.release();
    if (this.closed) return res.emit('close');
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    return write(res, { ...reply, fields: [...this.outer.filter(([name]) => !has(reply.fields, name)), ...reply.fields] });
  }
}

function has(fields, name) {
  return fields.some(([own]) => own.toLowerCase() === name.toLowerCase());
}

// Fields that are set already stay, unless the reply has its own.
export function write(res, { status, fields, body }) {
  const written = new Set();
  res.statusCode = status;
  res.statusMessage = '';
  for (const [name, value] of fields) {
    const low = name.toLowerCase();
    res.setHeader(name, written.has(low) ? [res.getHeader(name), value].flat() : value);
    written.add(low);
  }
  if (status !== 204 && status !== 304) res.setHeader('Content-Length', body.length);
  return res.end(body);
}

// For a request that is not guarded: its answer goes out as it is made, but for the fields that are not the handler's to set.
export function without(res, dropped) {
  const { writeHead } = res;
  res.writeHead = function writeHeadWithout(...words) {
    for (const name of dropped) if (res.hasHeader(name)) res.removeHeader(name);
    const fields = words.at(-1);
    if (fields !== null && typeof fields === 'object' && !Array.isArray(fields)) {
      words[words.length - 1] = Object.fromEntries(Object.entries(fields).filter(([name]) => !dropped.includes(name.toLowerCase())));
    }
    return writeHead.apply(res, words);
  };
}
