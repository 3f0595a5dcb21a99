// Expressions say which parts of a request make up a key or a scope, as in the gateway's configuration:
// {header:X} {cookie:X} {query:x} {json:/pointer} {path} {method} {ip} and literal text (docs/configuration.md). A part that
// is missing or empty is an error; written with a question mark it may be either, as two different values.
import { parsePointers } from './canonical.js';

// Before values that were joined; no value of a request begins with it. The gateway has the same, so such keys are shared.
const JOINED = '\0';
const NAMED = new Set(['header', 'cookie', 'query', 'json']);
const PLAIN = new Set(['path', 'method', 'ip']);

// A part of the request that is not there, is empty, or could be read in two ways. The message never quotes a value.
export class PartError extends Error {
  constructor(part, what, missing) {
    super(`${part.text} ${what}.`);
    this.missing = missing;
  }
}

export function parseExpression(text, option) {
  const fault = (what) => new TypeError(`${option}: ${what} in "${text}"`);
  if (typeof text !== 'string') throw new TypeError(`${option} is an expression such as "{header:Authorization}"`);
  const parts = [];
  for (const [token, brace, inside] of text.matchAll(/(\{\{|\}\})|\{([^{}]*)\}|[^{}]+|[{}]/g)) {
    if (brace || inside === undefined) {
      if (token === '{' || token === '}') throw fault(`a brace is never closed, or closes nothing; {{ and }} are braces`);
      const literal = brace ? token[0] : token;
      if (parts.at(-1)?.kind === 'literal') parts.at(-1).name += literal;
      else parts.push({ kind: 'literal', name: literal, text: literal });
      continue;
    }
    const optional = inside.endsWith('?');
    const [, kind, , name] = /^([^:]*)(:(.*))?$/s.exec(optional ? inside.slice(0, -1) : inside);
    if (!NAMED.has(kind) && !PLAIN.has(kind)) {
      throw fault(`there is no part ${token}; there are {header:X} {cookie:X} {query:x} {json:/x} {path} {method} {ip}`);
    }
    if (NAMED.has(kind) !== Boolean(name)) throw fault(`${token} ${name ? 'takes no name' : 'needs a name'}`);
    if (PLAIN.has(kind) && optional) throw fault(`{${kind}} is always present`);
    parts.push({ kind, name, optional, text: token, pointer: kind === 'json' ? parsePointers([name])[0] : null });
  }
  return { text, parts, needsBody: parts.some((part) => part.kind === 'json') };
}

function only(part, found) {
  if (found.length === 0) {
    if (part.optional) return null;
    throw new PartError(part, 'is missing from the request', true);
  }
  if (found.length > 1) throw new PartError(part, 'occurs more than once in the request', false);
  if (found[0] === '' && !part.optional) throw new PartError(part, 'is empty in the request', false);
  return found[0];
}

function trimmed(text) {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

// The bytes of a field, as text where they are UTF-8. Node reads every byte as one character.
export function fieldText(value) {
  // eslint-disable-next-line no-control-regex
  if (/^[\u0000-\u007f]*$/.test(value)) return value;
  const text = Buffer.from(value, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? value : text;
}

function cookies(request, name) {
  return request.lines('cookie').flatMap((line) => line.split(';')).flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals >= 0 && trimmed(pair.slice(0, equals)) === name ? [fieldText(trimmed(pair.slice(equals + 1)))] : [];
  });
}

function queryValues(part, request) {
  const decoded = (text) => {
    if (/%(?![0-9a-fA-F]{2})/.test(text)) return null;
    const bytes = text.replaceAll('+', ' ').replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    return fieldText(bytes);
  };
  const found = [];
  for (const pair of request.query.split('&')) {
    const [, name, value] = /^([^=]*)=?(.*)$/s.exec(pair);
    if (pair === '' || decoded(name) !== part.name) continue;
    const text = decoded(value);
    if (text === null) throw new PartError(part, 'has a percent sign without two hexadecimal digits after it', false);
    found.push(text);
  }
  return found;
}

// Numbers as they were written: JSON.parse would round them, so their text is taken from the document.
function jsonValues(part, request) {
  const found = request.jsonScalar(part.pointer);
  if (found.ambiguous) throw new PartError(part, 'is ambiguous: a name on its path occurs twice in one object', false);
  if (found.notJson && !part.optional) throw new PartError(part, 'cannot be read: the body is not JSON', true);
  return found.value === undefined ? [] : [found.value];
}

function valueOf(part, request) {
  switch (part.kind) {
    case 'literal':
      return part.name;
    case 'header':
      return only(part, request.lines(part.name.toLowerCase()).map((line) => fieldText(trimmed(line))));
    case 'cookie':
      return only(part, cookies(request, part.name));
    case 'query':
      return only(part, queryValues(part, request));
    case 'json':
      return only(part, jsonValues(part, request));
    default:
      return only(part, [request[part.kind]]);
  }
}

// The values of the parts, joined so that two different lists of values never give the same text. A single value that is
// present is used as it is, which is what the gateway does too. Throws PartError.
export function evaluate(expression, request) {
  const values = expression.parts.map((part) => valueOf(part, request));
  if (values.length === 0) return '';
  if (values.length === 1 && values[0] && !values[0].startsWith(JOINED)) return values[0];
  return JOINED + values.map((value) => (value === null ? '-' : `${Buffer.byteLength(value)}:${value}`)).join('');
}
