// Which request it is: the gateway's own hashes, byte for byte (include/semel/fingerprint.h).
import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical.js';

// SHA-256 over a tag and parts, each behind its length as 64 bits. Texts are UTF-8.
export function hashParts(tag, parts) {
  const all = [tag, ...parts];
  let size = 0;
  for (const part of all) size += 8 + Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of all) {
    const begin = at + 8;
    at = begin + (typeof part === 'string' ? bytes.write(part, begin, 'utf8') : part.copy(bytes, begin));
    bytes.writeUInt32BE(0, begin - 8); // no part has 4 GiB
    bytes.writeUInt32BE(at - begin, begin - 4);
  }
  return createHash('sha256').update(bytes).digest('hex');
}

// `form`: "json" compares a body by its meaning if it has one, "raw" byte by byte. `ignore`: of parsePointers().
export function fingerprint({ method, target, body }, form = 'raw', ignore = []) {
  const canonical = form === 'json' ? canonicalJson(body, ignore) : null;
  const asked = Buffer.from(target, 'latin1');
  return canonical === null
    ? hashParts('semel fingerprint v1', [method, asked, 'raw', body])
    : hashParts('semel fingerprint v1', [method, asked, 'json', canonical]);
}
