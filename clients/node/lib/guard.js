// The gateway's rules around a handler of Node's http server: what Express, Fastify and NestJS have in common.
//
//   request ──▶ key, scope, fingerprint ──▶ claim ──▶ the handler, its answer held back ──▶ kept, released or unknown ──▶ reply
//
// The claim is durable before the handler runs, and the answer before its first byte goes out.
import { Capture, without, write } from './capture.js';
import { CallRefused, RateLimited, StoreUnavailable } from './errors.js';
import { fieldText } from './expression.js';
import { take } from './holding.js';
import { identify } from './identify.js';
import { isSound, judge, oursOf, toKeep } from './keep.js';
import { problemReply, tombstone } from './problem.js';
import { ClientGone, RequestView } from './request.js';
import { parseRules } from './rules.js';

const RETRY_AFTER_MS = 1000;
const UNTYPED = ['Content-Type', 'application/octet-stream']; // what is kept has a type, so the first answer has it too

function expiresField(expiresAt) {
  return ['Idempotency-Expires', `${expiresAt.toISOString().slice(0, 19)}Z`];
}

function isType(name) {
  return name.length === 12 && name.toLowerCase() === 'content-type';
}

function typeOf(fields) {
  return fields.find(([name]) => isType(name))?.[1];
}

// An answer in the form of the API, and back. Names come back in small letters.
function toResult({ status, fields, body }) {
  const headers = {};
  for (const [name, value] of fields) {
    if (!isType(name)) (headers[name] ??= []).push(fieldText(value));
  }
  const bodyBase64 = body.length > 0 ? body.toString('base64') : undefined;
  return { status, contentType: typeOf(fields), headers, bodyBase64 };
}

function fromResult({ status, contentType, headers, body, bodyBase64, bodyKept }, rules) {
  const fields = [];
  for (const name of Object.keys(headers)) for (const value of [headers[name]].flat()) fields.push([name, value]);
  if (bodyKept === false) return tombstone(status, fields, rules);
  if (contentType !== undefined) fields.unshift(['Content-Type', contentType]);
  const bytes = bodyBase64 === undefined ? JSON.stringify(body) ?? '' : bodyBase64;
  return { status, fields, body: Buffer.from(bytes, bodyBase64 === undefined ? 'utf8' : 'base64') };
}

// For the caller whose own attempt ended so, with the status of a gateway; for later ones the API says it, with 409.
function unknownReply(rules, status = 502) {
  const again = rules.onUnknown === 'retry' ? { retry: 'same-key', retryAfterMs: RETRY_AFTER_MS } : {};
  return problemReply('outcome-unknown', rules, { status, ...again });
}

// The reply to an answer of the API that grants nothing.
function replyTo(answer, rules) {
  switch (answer.outcome) {
    case 'done': {
      const stored = fromResult(answer.result, rules);
      if (!isSound(stored)) return problemReply('record-corrupt', rules);
      const marks = [[rules.replayedHeader, 'true'], expiresField(answer.expiresAt)];
      return { ...stored, fields: [...stored.fields, ...marks] };
    }
    case 'running':
    case 'busy':
      return problemReply('in-flight', rules, { retryAfterMs: answer.retryAfterMs ?? RETRY_AFTER_MS });
    case 'unknown':
      return unknownReply(rules, 409);
    case 'key-reused':
      return problemReply('key-reused', rules);
    case 'superseded':
      return { status: 200, fields: [], body: Buffer.alloc(0) };
    default:
      return problemReply(answer.problem?.type?.endsWith('record-corrupt') ? 'record-corrupt' : 'store-unavailable', rules);
  }
}

function replyToError(error, rules) {
  if (error instanceof RateLimited) return problemReply('rate-limited', rules, { retryAfterMs: error.retryAfterMs });
  if (error.problem?.type?.endsWith(':record-corrupt')) return problemReply('record-corrupt', rules);
  return problemReply('store-unavailable', rules, { retryAfterMs: error.retryAfterMs });
}

// What a handler is told of its attempt, as req.semel.
class Attempt {
  #holding;

  constructor(holding) {
    this.#holding = holding;
    this.fence = holding.fence;
    this.attempt = holding.attempt;
    this.expiresAt = holding.expiresAt;
  }

  get signal() {
    return this.#holding.signal;
  }
}

export class Guard {
  constructor(options) {
    this.rules = parseRules(options);
    this.ours = oursOf(this.rules.replayedHeader);
    this.waitMs = this.rules.inFlight === 'wait' && this.rules.waitMaxMs > 0 ? this.rules.waitMaxMs : undefined;
  }

  // Calls `run` if the request is to be handled: because it is not guarded, or because its key is free. Otherwise it is
  // answered here. Resolves when that is settled, not when the handler has ended. Throws what is wrong with the server.
  async handle(req, res, run) {
    const { rules } = this;
    const view = new RequestView(req);
    let found;
    try {
      found = await identify(rules, view);
    } catch (error) {
      if (error instanceof ClientGone) return res.destroy();
      throw error;
    }
    if (found.pass) {
      if (rules.key !== 'off') without(res, this.ours);
      return run();
    }
    if (found.refusal) return this.refuse(req, res, found.refusal);
    let answer;
    try {
      answer = await take(rules.semel, this.itemOf(found));
    } catch (error) {
      if (error instanceof CallRefused) throw error; // the token, the namespace or the lease: nobody's request is at fault
      return write(res, replyToError(error, rules));
    }
    if (!answer.holding) return write(res, replyTo(answer, rules));
    this.attempt(req, res, answer.holding);
    return run();
  }

  itemOf({ key, scope, fingerprint }) {
    const { namespace, ttlMs, leaseMs, onUnknown } = this.rules;
    return { namespace, scope, key, fingerprint, ttlMs, leaseMs, onUnknown, waitMs: this.waitMs };
  }

  refuse(req, res, { hangUp, ...reply }) {
    if (hangUp) res.setHeader('Connection', 'close'); // the rest of the body is not read
    write(res, reply);
    if (hangUp) req.resume();
  }

  // Until the handler has answered, broken its answer off, or has taken too long.
  attempt(req, res, holding) {
    const { rules } = this;
    let timer = null;
    let settled = false;
    const settle = (said) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      this.conclude(capture, holding, said)
        .catch(() => capture.replace(unknownReply(rules)))
        .catch(() => res.destroy());
    };
    const capture = new Capture(res, rules.storeBodyMax, settle);
    req.semel = new Attempt(holding);
    if (rules.timeoutMs > 0) timer = setTimeout(settle, rules.timeoutMs, { broken: true, late: true });
  }

  async conclude(capture, holding, said) {
    const { rules } = this;
    if (said.broken) {
      await holding.finish('unknown').catch(() => {});
      return capture.replace(unknownReply(rules, said.late ? 504 : 502));
    }
    const added = said.body?.length > 0 && typeOf(said.fields) === undefined ? [UNTYPED] : [];
    const verdict = judge(said.status, said.fields, rules.keep);
    if (verdict !== 'store') {
      await holding.finish(verdict).catch(() => {}); // the caller gets the answer even so
      return capture.send([], this.ours);
    }
    try {
      await this.store(holding, said, added);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) await holding.finish('unknown').catch(() => {});
      return capture.replace(unknownReply(rules)); // it is withheld, because it could not be repeated
    }
    return capture.send([...added, expiresField(holding.expiresAt)], this.ours);
  }

  // An answer that is too large for us or for the API is kept without its body.
  async store(holding, said, added) {
    const { rules } = this;
    const fields = [...toKeep(said.fields, this.ours), ...added];
    const stone = () => toResult(tombstone(said.status, fields, rules));
    if (said.large) return holding.finish('store', stone());
    try {
      return await holding.finish('store', toResult({ status: said.status, fields, body: said.body }));
    } catch (error) {
      if (error instanceof CallRefused && error.problem?.status === 413) return holding.finish('store', stone());
      throw error;
    }
  }
}

