// The refusals, in the words of the gateway (src/core/problem.cc, src/policy/reply.cc), as application/problem+json.

const ROWS = {
  'key-missing': [400, 'new-key', 'Idempotency key missing',
    'This endpoint needs an idempotency key and the request has none; it did not run. Send it again with a fresh key, for ' +
    'example Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324", and reuse that key for every retry of the same ' +
    'operation.'],
  'key-invalid': [400, 'new-key', 'Idempotency key malformed',
    'The idempotency key cannot be read; the request did not run. Send one key of 1 to 255 printable ASCII characters, ' +
    'quoted or bare, on one line and without parameters.'],
  'scope-missing': [401, 'never', 'Caller not identified',
    'Keys belong to a caller, and the part of the request that identifies the caller is missing; the request did not run. ' +
    'Authenticate, then send it again.'],
  'signature-invalid': [401, 'never', 'Signature not valid',
    'The signature is missing, wrong or too old; the request did not run and nothing was stored.'],
  'in-flight': [409, 'same-key', 'Request with this key still running',
    'An earlier request with this key is still running. Wait as Retry-After says, then send the same request with the same ' +
    'key to get its answer.'],
  'outcome-unknown': [409, 'never', 'Outcome of this key unknown',
    'An earlier attempt with this key was cut off after it may have taken effect. It will not run again by itself: find out ' +
    'what happened before you act, and do not send it under a new key until you know.'],
  'body-too-large': [413, 'never', 'Body too large',
    'The body is over the limit for requests that carry an idempotency key; the request did not run.'],
  'key-reused': [422, 'new-key', 'Idempotency key reused with another request',
    'This key belongs to a different request (method, target or body differ); this one did not run. Use a fresh key for a ' +
    'new operation; to repeat the earlier one, send it unchanged.'],
  'rate-limited': [429, 'same-key', 'Too many requests',
    'Too many requests in a short time; this one did not run. Wait as Retry-After says, then send it again with the same ' +
    'key.'],
  'store-unavailable': [503, 'same-key', 'Keys cannot be recorded at the moment',
    'The store that remembers keys is not available, so the request did not run. Wait as Retry-After says, then send it ' +
    'again with the same key.'],
  'record-corrupt': [500, 'never', 'Stored answer damaged',
    'What is stored under this key cannot be trusted, so it is neither replayed nor run again. The operator has to look at ' +
    'it.'],
};

const UNSETTLED =
  'An attempt with this key was cut off after it may have taken effect. Wait as Retry-After says, then send the same request ' +
  'with the same key: it will be settled then.';

const BODY_NOT_KEPT =
  'The request with this key ran once and was answered with this status. The body of that answer was too large to keep, so it ' +
  'is gone; ask for what it described instead of sending the request again.';

const SAYS_WHEN = new Set(['in-flight', 'outcome-unknown', 'rate-limited', 'store-unavailable']);
const CONTENT_TYPE = ['Content-Type', 'application/problem+json'];

function body(type, title, status, detail, retry) {
  return Buffer.from(`${JSON.stringify({ type, title, status, detail, retry })}\n`); // for those who read it in a terminal
}

// A reply: { status, fields, body }. `said` may have its own status, retry, retryAfterMs and why, which is added to the
// detail; it must hold no key, no body and no secret.
export function problemReply(slug, reply, said = {}) {
  const [usualStatus, usualRetry, title, usualDetail] = ROWS[slug];
  const { status = usualStatus, retry = usualRetry, retryAfterMs = 0, why = '' } = said;
  const unsettled = slug === 'outcome-unknown' && retry === 'same-key';
  const own = slug === 'outcome-unknown' && status !== usualStatus;  // the caller's own attempt was cut off
  const words = unsettled ? UNSETTLED : why === '' ? usualDetail : `${usualDetail} ${why}`;
  const detail = own ? words.replace(/^An (earlier )?attempt with this key/, 'This attempt') : words;
  const fields = [CONTENT_TYPE];
  if (retryAfterMs > 0 || (retry === 'same-key' && SAYS_WHEN.has(slug))) {
    fields.push(['Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1000)))]);
  }
  if (slug === 'key-missing' && reply.docsUrl) {
    fields.push(['Link', `<${reply.docsUrl}>; rel="describedby"; type="text/html"`]);
  }
  return { status, fields, body: body(reply.problemBase + slug, title, status, detail, retry) };
}

// For requests that no rule is for.
export function plainReply(status, title, detail) {
  return { status, fields: [CONTENT_TYPE], body: body('about:blank', title, status, detail, 'never') };
}

// What stands for an answer whose body is too large to keep: its status, its Location, and a body that says so.
export function tombstone(status, fields, reply) {
  const kept = fields.filter(([name]) => name.toLowerCase() === 'location');
  const text = body(`${reply.problemBase}body-not-kept`, 'Answer too large to keep', status, BODY_NOT_KEPT, 'never');
  return { status, fields: [...kept, CONTENT_TYPE], body: text };
}

// { status, title, detail } of the gateway's words, for errors that are thrown.
export function wording(slug) {
  const row = ROWS[slug];
  return row && { status: row[0], retry: row[1], title: row[2], detail: row[3] };
}
