// Who is asking for what: the key, the scope and the fingerprint of a request, as in the gateway (src/policy/identify.cc).
// Each step returns { refusal } with a reply, { pass } if the request is not guarded, or what it found.
import { createHash } from 'node:crypto';
import { evaluate, PartError } from './expression.js';
import { fingerprint, hashParts } from './fingerprint.js';
import { KeyInvalid, parseKeyText } from './key.js';
import { plainReply, problemReply } from './problem.js';
import { doubtOf, readAhead } from './request.js';

const SCOPE_BYTES_MAX = 4096; // of the claims API
const SIGNED_ID = createHash('sha256').update('semel event with a signed id v1').digest('hex');
const MISSPELLED = 'The method is not written in capital letters, which programs read in different ways.';

function refuse(slug, rules, why = '') {
  return { refusal: problemReply(slug, rules, { why }) };
}

function keyText(expression, view) {
  const [part] = expression.parts;
  if (expression.parts.length === 1 && part.kind === 'header') {
    const lines = view.lines(part.name.toLowerCase());
    return lines.length === 0 ? null : parseKeyText(lines);
  }
  const joined = evaluate(expression, view);
  if (expression.parts.length > 1) return `\x01${hashParts('semel composed key v1', [joined])}`;
  if (joined.length > 255 || !/^[ -~]+$/.test(joined)) {
    throw new KeyInvalid(`${expression.text} is not 1 to 255 printable ASCII characters.`);
  }
  return joined;
}

function findKey(rules, view) {
  let key;
  let missing = '';
  try {
    key = keyText(rules.keyFrom, view);
  } catch (error) {
    if (error instanceof KeyInvalid) return refuse('key-invalid', rules, error.message);
    if (!(error instanceof PartError)) throw error;
    if (!error.missing) return refuse('key-invalid', rules, error.message);
    key = null;
    missing = error.message;
  }
  if (key === null) return rules.key === 'optional' ? { pass: true } : refuse('key-missing', rules, missing);
  return { key };
}

function findScope(rules, view) {
  try {
    const scope = evaluate(rules.scope, view);
    const fits = Buffer.byteLength(scope) <= SCOPE_BYTES_MAX;
    return { scope: fits ? scope : `parts:#${hashParts('semel long scope v1', [scope])}` };
  } catch (error) {
    if (error instanceof PartError) return refuse('scope-missing', rules, error.message);
    throw error;
  }
}

// Sets view.body. The key and the scope may be in it; otherwise they are refused before it is read.
async function addBody(rules, view) {
  view.body ??= await readAhead(view.req, rules.bodyBytesMax);
  return view.body === null ? { refusal: { ...problemReply('body-too-large', rules), hangUp: true } } : {};
}

export async function identify(rules, view) {
  if (rules.webhook) return identifyEvent(rules, view);
  if (rules.key === 'off') return { pass: true };
  if (!rules.methods.includes(view.method)) {
    const misspelled = rules.methods.includes(view.method.toUpperCase());
    return misspelled ? { refusal: plainReply(400, 'Bad Request', MISSPELLED) } : { pass: true };
  }
  const doubt = doubtOf(view.path);
  if (doubt) {
    const why = `The path holds ${doubt}, which programs read in different ways.`;
    return { refusal: plainReply(400, 'Bad Request', why) };
  }
  if (rules.keyFrom.needsBody || rules.scope.needsBody) {
    const read = await addBody(rules, view);
    if (read.refusal) return read;
  }
  const found = findKey(rules, view);
  if (found.refusal || found.pass) return found;
  const owner = findScope(rules, view);
  if (owner.refusal) return owner;
  const read = await addBody(rules, view);
  if (read.refusal) return read;
  // In a text, 100 and 1e2 are two texts.
  const form = view.isJson ? rules.fingerprint : 'raw';
  return { ...found, ...owner, fingerprint: fingerprint(view, form, rules.ignore) };
}

// An event is named by its id. If the signature covers the id, another body under it is the same event; otherwise the body is
// compared, so that nobody can have a genuine event taken for handled.
async function identifyEvent(rules, view) {
  const read = await addBody(rules, view);
  if (read.refusal) return read;
  const event = await rules.webhook.verify({ method: view.method, target: view.target, headers: view.req.headers, body: view.body });
  if (!event) return refuse('signature-invalid', rules);
  if (typeof event.id !== 'string' || event.id === '') return refuse('key-missing', rules, 'The event has no id.');
  const plain = event.id.length <= 255 && /^[ -~]+$/.test(event.id);
  const key = plain ? event.id : `composed:${hashParts('semel event key v1', ['id', event.id])}`;
  const body = { method: '', target: '', body: view.body };
  return { key, ...findScope(rules, view), fingerprint: event.signsId ? SIGNED_ID : fingerprint(body, 'raw') };
}
