// One POST of JSON to the claims API, over connections that are kept. Any failure is StoreUnavailable: every call can be
// repeated, so whether it arrived does not matter.
import http from 'node:http';
import https from 'node:https';
import { errorOfProblem, StoreUnavailable } from './errors.js';

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

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

export class Transport {
  constructor({ url, token, timeoutMs, connections = 64, tls = {} }) {
    this.base = new URL(url);
    if (!/^https?:$/.test(this.base.protocol)) throw new TypeError(`url: "${url}" begins with neither http:// nor https://`);
    this.secure = this.base.protocol === 'https:';
    this.timeoutMs = timeoutMs;
    const options = { keepAlive: true, maxSockets: connections, ...tls };
    this.agent = this.secure ? new https.Agent(options) : new http.Agent(options);
    this.headers = { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    this.prefix = this.base.pathname.replace(/\/$/, '');
  }

  // The answer's JSON. An answer to a claim that is no success (409, 422) has an outcome and is returned; any other problem
  // is thrown. `patienceMs` is added to the time-out.
  async post(path, content, patienceMs = 0) {
    const { status, retryAfterMs, text } = await this.exchange(path, JSON.stringify(content), this.timeoutMs + patienceMs);
    if (status >= 500) {
      let problem = null;
      try {
        problem = JSON.parse(text);
      } catch {
        // a proxy in between may say what it likes
      }
      throw errorOfProblem(status, problem, retryAfterMs);
    }
    const answer = parsed(status, text);
    if (status < 300 || typeof answer.outcome === 'string') return answer;
    throw errorOfProblem(status, answer, retryAfterMs);
  }

  exchange(path, content, timeoutMs) {
    return new Promise((resolve, reject) => {
      const body = Buffer.from(content);
      const request = (this.secure ? https : http).request({
        protocol: this.base.protocol,
        hostname: this.base.hostname.replace(/^\[|\]$/g, ''),
        port: this.base.port,
        path: this.prefix + path,
        method: 'POST',
        agent: this.agent,
        headers: { ...this.headers, 'Content-Length': body.length },
      });
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      const fail = (error) => {
        clearTimeout(timer);
        reject(unavailable(`the claims API at ${this.base.origin} did not answer: ${error.message}`, error));
      };
      request.on('error', fail);
      request.on('response', (response) => {
        const pieces = [];
        let size = 0;
        response.on('data', (piece) => {
          pieces.push(piece);
          size += piece.length;
          if (size > ANSWER_BYTES_MAX) request.destroy(new Error('the answer is too long'));
        });
        response.on('error', fail);
        response.on('aborted', () => fail(new Error('the answer broke off')));
        response.on('end', () => {
          clearTimeout(timer);
          const seconds = Number(response.headers['retry-after']);
          resolve({
            status: response.statusCode,
            retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : 0,
            text: Buffer.concat(pieces).toString('utf8'),
          });
        });
      });
      request.end(body);
    });
  }

  close() {
    this.agent.destroy();
  }
}
