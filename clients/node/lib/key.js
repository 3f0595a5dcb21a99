// Reads the field of a key, as strictly as the gateway (src/core/key.cc): two programs that read one field differently
// would disagree on what is a retry.

export class KeyInvalid extends Error {}

const BYTES_MAX = 255;
const GOOD_KEY =
  ' Send one line with 1 to 255 visible ASCII characters, such as a UUID: ' +
  'Idempotency-Key: "6f3c2e1a-8d54-4b7e-9c11-0a5f2d7b3e90".';

function refuse(what) {
  throw new KeyInvalid(what + GOOD_KEY);
}

function quotedText(value) {
  let text = '';
  for (let i = 1; i < value.length; ++i) {
    if (value[i] === '"') {
      if (i + 1 === value.length) return text;
      if (value[i + 1] === ';') refuse('The key is followed by parameters (`;`), which would not be part of it.');
      refuse('There is text after the closing quote of the key.');
    }
    if (value[i] === '\\') {
      i += 1;
      if (i < value.length && value[i] !== '"' && value[i] !== '\\') {
        refuse('Inside a quoted key a backslash may stand only before a quote or another backslash.');
      }
      if (i === value.length) break;
    }
    text += value[i];
  }
  return refuse('The key opens with a quote that is never closed.');
}

function bareText(value) {
  switch (/[ ",;\\]/.exec(value)?.[0]) {
    case undefined:
      return value;
    case ',':
      return refuse('The key looks like a list (`,`); quote it if the comma is part of it.');
    case ';':
      return refuse('The key looks as if it had parameters (`;`); quote it if the semicolon is part of it.');
    case ' ':
      return refuse('The key has a space in it; quote it if the space is part of it.');
    default:
      return refuse('A key with a quote or a backslash in it must be quoted, with a backslash before each of them.');
  }
}

// The text of the key in these lines of the field. Throws KeyInvalid, which never repeats the key.
export function parseKeyText(lines) {
  if (lines.length > 1) refuse('There are several Idempotency-Key lines, and they may differ.');
  const value = lines[0].replace(/^ +| +$/g, '');
  if (value === '') refuse('The key is empty.');
  if (!/^[ -~]*$/.test(value)) refuse('The key holds a control character, a tab or a byte outside ASCII.');
  const text = value[0] === '"' ? quotedText(value) : bareText(value);
  if (text === '') refuse('The key is empty between its quotes.');
  if (text.length > BYTES_MAX) refuse('The key is longer than 255 bytes.');
  return text;
}
