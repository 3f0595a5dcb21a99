// Which request it is: the gateway's own hashes, byte for byte (include/semel/fingerprint.h).
import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical.js';

// SHA-256 over a tag and parts, each behind its length.
export function hashParts(tag, parts) {
  const hash = createHash('sha256');
  for (const part of [tag, ...parts]) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part;
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest('hex');
}

// `form`: "json" compares a body by its meaning if it has one, "raw" byte by byte. `ignore`: of parsePointers().
export function fingerprint({ method, target, body }, form = 'raw', ignore = []) {
  const canonical = form === 'json' ? canonicalJson(body, ignore) : null;
  const asked = [Buffer.from(method, 'latin1'), Buffer.from(target, 'latin1')];
  return canonical === null
    ? hashParts('semel fingerprint v1', [...asked, 'raw', body])
    : hashParts('semel fingerprint v1', [...asked, 'json', canonical]);
}
