// Webhooks: verify → claim → run. A middleware with a `webhook` option verifies the signature over the raw bytes before anything
// is claimed; a delivery that comes twice runs once, and only a success is kept: after any other answer the event comes again.
//
//   app.post('/hooks', semel({ semel: client, webhook: standardWebhooks({ secrets: [process.env.WEBHOOK_SECRET] }) }), handler);
//
// Another scheme is an object with a function verify({ method, target, headers, body }) that returns { id, signsId } or null.
// signsId: whether the signature covers the id. If it does not, a known id with another body is refused (422).
import { createHmac, createPublicKey, timingSafeEqual, verify as verifySignature } from 'node:crypto';

const TOLERANCE_S = 300;
const ED25519_DER = Buffer.from('302a300506032b6570032100', 'hex');

function decoded(text, what) {
  const bytes = Buffer.from(text, 'base64');
  const plain = text.replace(/=+$/, '');
  if (bytes.length === 0 || bytes.toString('base64').replace(/=+$/, '') !== plain) throw new TypeError(`${what} is not base64`);
  return bytes;
}

function lockOf(secret) {
  if (typeof secret !== 'string' || secret === '') throw new TypeError('secrets: a secret is missing');
  if (secret.startsWith('whpk_')) {
    const bytes = decoded(secret.slice('whpk_'.length), 'secrets: a key after whpk_');
    const key = createPublicKey({ key: Buffer.concat([ED25519_DER, bytes]), format: 'der', type: 'spki' });
    return { version: 'v1a', matches: (text, signature) => verifySignature(null, text, key, signature) };
  }
  const key = decoded(secret.replace(/^whsec_/, ''), 'secrets: a secret after whsec_');
  const matches = (text, signature) => {
    const tag = createHmac('sha256', key).update(text).digest();
    return signature.length === tag.length && timingSafeEqual(signature, tag);
  };
  return { version: 'v1', matches };
}

function signaturesOf(field) {
  return field.split(' ').flatMap((item) => {
    const comma = item.indexOf(',');
    return comma < 0 ? [] : [{ version: item.slice(0, comma), bytes: Buffer.from(item.slice(comma + 1), 'base64') }];
  });
}

// Standard Webhooks: v1 (HMAC, whsec_ secrets) and v1a (Ed25519, whpk_ keys). Any secret may match any signature.
export function standardWebhooks({ secrets, toleranceS = TOLERANCE_S, now = () => Date.now() } = {}) {
  if (!Array.isArray(secrets) || secrets.length === 0) throw new TypeError('secrets: without one every delivery would be refused');
  const locks = secrets.map(lockOf);
  return {
    verify({ headers, body }) {
      const id = headers['webhook-id'];
      const timestamp = headers['webhook-timestamp'];
      const field = headers['webhook-signature'];
      if (!id || !field || !/^[0-9]{1,12}$/.test(timestamp ?? '')) return null;
      if (Math.abs(now() / 1000 - Number(timestamp)) > toleranceS) return null;
      const text = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'latin1'), body]);
      const signatures = signaturesOf(field);
      const right = locks.some((lock) =>
        signatures.some(({ version, bytes }) => version === lock.version && lock.matches(text, bytes)));
      return right ? { id, signsId: true } : null;
    },
  };
}
