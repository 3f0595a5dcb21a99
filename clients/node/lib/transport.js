// One POST of JSON to the claims API, over connections that are kept. Any failure is StoreUnavailable: every call can be
// repeated, so whether it arrived does not matter.
import { Connection } from './connection.js';
import { errorOfProblem, StoreUnavailable } from './errors.js';

function unavailable(what, cause) {
  return new StoreUnavailable(what, { retry: 'same-key', retryAfterMs: 1000, cause });
}

function parsed(status, text) {
  try {
    const answer = JSON.parse(text);
    if (answer !== null && typeof answer === 'object') return answer;
  } catch {
    // below
  }
  throw unavailable(`the claims API answered ${status} with something that is not JSON`);
}

function secondsOf(field) {
  const seconds = Number(field ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : 0;
}

export class Transport {
  constructor({ url, token = '', timeoutMs, connections = 64, tls = {} }) {
    this.base = new URL(url);
    if (!/^https?:$/.test(this.base.protocol)) throw new TypeError(`url: "${url}" begins with neither http:// nor https://`);
    if (!/^[\u0020-\u007e]*$/.test(token)) throw new TypeError('token: it has characters that no token has');
    const secure = this.base.protocol === 'https:';
    this.place = { secure, host: this.base.hostname.replace(/^\[|\]$/g, ''), port: Number(this.base.port || (secure ? 443 : 80)), tls };
    this.timeoutMs = timeoutMs;
    this.connectionsMax = connections;
    this.head = ` HTTP/1.1\r\nHost: ${this.base.host}\r\nContent-Type: application/json\r\n` +
      `${token ? `Authorization: Bearer ${token}\r\n` : ''}Content-Length: `;
    this.prefix = this.base.pathname.replace(/\/$/, '');
    this.open = new Set();
    this.idle = [];
    this.waiting = []; // for a connection, when there are as many as there may be
  }

  // The answer's JSON. An answer to a claim that is no success (409, 422) has an outcome and is returned; any other problem
  // is thrown. `patienceMs` is added to the time-out.
  async post(path, content, patienceMs = 0) {
    const { status, fields, body } = await this.exchange(path, JSON.stringify(content), this.timeoutMs + patienceMs);
    const text = body.toString('utf8');
    if (status >= 500) {
      let problem = null;
      try {
        problem = JSON.parse(text);
      } catch {
        // a proxy in between may say what it likes
      }
      throw errorOfProblem(status, problem, secondsOf(fields.get('retry-after')));
    }
    const answer = parsed(status, text);
    if (status < 300 || typeof answer.outcome === 'string') return answer;
    throw errorOfProblem(status, answer, secondsOf(fields.get('retry-after')));
  }

  async exchange(path, content, timeoutMs) {
    const text = `POST ${this.prefix}${path}${this.head}${Buffer.byteLength(content)}\r\n\r\n${content}`;
    for (let attempt = 1; ; ++attempt) {
      const connection = this.free() ?? await this.turn();
      try {
        return await connection.ask(text, timeoutMs);
      } catch (error) {
        // The other side had closed it meanwhile, as it may.
        if (error.stale && attempt <= this.connectionsMax) continue;
        throw unavailable(`the claims API at ${this.base.origin} did not answer: ${error.message}`, error);
      } finally {
        this.giveBack(connection);
      }
    }
  }

  // One that is idle, or a new one; null if all are in use.
  free() {
    const idle = this.idle.pop();
    if (idle) return idle;
    if (this.open.size >= this.connectionsMax) return null;
    const connection = new Connection(this.place, (gone) => this.forget(gone));
    this.open.add(connection);
    return connection;
  }

  turn() {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
    });
  }

  giveBack(connection) {
    if (connection.isIdle) this.idle.push(connection);
    if (this.waiting.length === 0) return;
    const next = this.free();
    if (next) this.waiting.shift().resolve(next);
  }

  forget(connection) {
    this.open.delete(connection);
    const place = this.idle.indexOf(connection);
    if (place >= 0) this.idle.splice(place, 1);
  }

  close() {
    for (const { reject } of this.waiting.splice(0)) reject(unavailable('the client was closed'));
    for (const connection of this.open) connection.fail(new Error('the client was closed'));
  }
}
