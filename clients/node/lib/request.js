// A request as the rules see it: what arrived, nothing decoded. And the bytes of its body, which are read ahead: whoever reads
// the request next (express.json(), multer, Fastify's parsers) finds them as if nobody had.
import { jsonScalar } from './scalar.js';

export class BodyGone extends Error {}
export class ClientGone extends Error {}

export class RequestView {
  constructor(req) {
    const url = req.originalUrl ?? req.url;
    this.req = req;
    this.method = req.method;
    this.target = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url.replace(/^[^/]*\/\/[^/?]*/, '') || '/' : url;
    const mark = this.target.indexOf('?');
    this.path = mark < 0 ? this.target : this.target.slice(0, mark);
    this.query = mark < 0 ? '' : this.target.slice(mark + 1);
    this.ip = (req.socket?.remoteAddress ?? '').replace(/^::ffff:/, '');
    this.body = null;
  }

  // Every line of a field; req.headers would join some and drop others.
  lines(name) {
    const found = [];
    const raw = this.req.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i].length === name.length && raw[i].toLowerCase() === name) found.push(raw[i + 1]);
    }
    return found;
  }

  jsonScalar(pointer) {
    return jsonScalar(this.body, pointer);
  }

  get isJson() {
    const lines = this.lines('content-type');
    return lines.length === 1 && /^(?:application\/json|text\/json|.+\+json)$/i.test(lines[0].split(';')[0].trim());
  }
}

// Why some programs read this path in another way than others; null if none does.
export function doubtOf(path) {
  if (path.includes('\\')) return 'a backslash';
  if (/%2f/i.test(path)) return 'an encoded slash';
  if (/%5c/i.test(path)) return 'an encoded backslash';
  if (path.includes('%00')) return 'an encoded NUL';
  return path.split('/').some((segment) => /^(?:\.|%2e){2}$/i.test(segment)) ? 'a `..` segment' : null;
}

function hasBody(req) {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

// The whole body; null if it is longer than `bytesMax`. A parser that has read it before us must have left it in req.rawBody.
export async function readAhead(req, bytesMax) {
  if (Buffer.isBuffer(req.rawBody)) return req.rawBody.length > bytesMax ? null : req.rawBody;
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) return null;
  if (!hasBody(req)) return Buffer.alloc(0);
  if (req.readableEnded || req.readableDidRead) {
    throw new BodyGone('The body was read before semel saw its bytes. Put semel before the body parser (app.use), or keep the ' +
      'bytes in req.rawBody (NestJS: NestFactory.create(App, { rawBody: true })).');
  }
  return peek(req, bytesMax);
}

function peek(req, bytesMax) {
  return new Promise((resolve, reject) => {
    const pieces = [];
    let size = 0;
    const done = (settle, value) => {
      req.off('readable', look).off('end', look).off('error', gone).off('close', gone);
      settle(value);
    };
    const gone = () => done(reject, new ClientGone('the client went away before its body had arrived'));
    const look = () => {
      for (let piece = req.read(); piece !== null; piece = req.read()) {
        pieces.push(piece);
        size += piece.length;
        if (size > bytesMax) return done(resolve, null);
      }
      if (!req.complete || req.readableLength > 0) return undefined;
      const body = Buffer.concat(pieces, size);
      if (size > 0 && !req.readableEnded) req.unshift(body); // its end has not been told yet
      return done(resolve, body);
    };
    req.on('readable', look).on('end', look).on('error', gone).on('close', gone);
    look();
  });
}
