// One spelling for every way of writing the same JSON document: the gateway's own form (src/core/json), byte for byte, so
// that a service behind the gateway and one with the middleware take a retry for the same request.
//
// Member order, white space and escapes do not matter. Numbers are exact decimals: digits without zeros at their ends, and
// an exponent. A document on whose meaning parsers may disagree has no canonical form.

const DEPTH_MAX = 64;
const EXPONENT_MAX = 9999;
const NUMBER = /(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \n\r\t]*/y;
const MEANINGS = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const SHORT = { '"': '\\"', '\\': '\\\\', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };
export const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const NOWHERE = { ignored: false, paths: [] };

export class NoForm extends Error {}

function escaped(c) {
  return SHORT[c] ?? `\\u00${c.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

// The canonical spelling of a text, without quotes.
export function spelling(text) {
  // eslint-disable-next-line no-control-regex
  return text.replace(/["\\\u0000-\u001f]/g, escaped);
}

function byUnits(a, b) {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

// By the bytes of their UTF-8, which is the order of code points, not of UTF-16.
function byBytes(a, b) {
  return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}

export class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.compare = /[\ud800-\udfff\\]/.test(text) ? byBytes : byUnits; // they differ where there are surrogates
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) throw new NoForm();
    this.at = pattern.lastIndex;
    return found;
  }

  peek() {
    if (this.text.charCodeAt(this.at) <= 0x20) this.match(SPACE);
    return this.text[this.at];
  }

  take(c) {
    if (this.peek() !== c) throw new NoForm();
    this.at += 1;
  }

  // `paths`: those of the ignored members that lead into this value.
  value(paths, depth) {
    switch (this.peek()) {
      case '{':
        return this.object(paths, depth);
      case '[':
        return this.array(paths, depth);
      case '"':
        return `"${this.string()}"`;
      case 't':
        return this.word('true');
      case 'f':
        return this.word('false');
      case 'n':
        return this.word('null');
      default:
        return this.number();
    }
  }

  word(word) {
    if (!this.text.startsWith(word, this.at)) throw new NoForm();
    this.at += word.length;
    return word;
  }

  object(paths, depth) {
    if (depth === DEPTH_MAX) throw new NoForm();
    this.at += 1;
    const members = [];
    if (this.peek() === '}') this.at += 1;
    else {
      do {
        if (this.peek() !== '"') throw new NoForm();
        const name = this.string();
        this.take(':');
        const step = paths.length === 0 ? NOWHERE : into(paths, depth, (token) => spelling(token) === name);
        members.push({ name, ignored: step.ignored, text: this.value(step.paths, depth + 1) });
      } while (this.more('}'));
    }
    members.sort(this.compare);
    if (members.some((member, i) => i > 0 && member.name === members[i - 1].name)) throw new NoForm();
    let text = '';
    for (const one of members) if (!one.ignored) text += `${text === '' ? '' : ','}"${one.name}":${one.text}`;
    return `{${text}}`;
  }

  array(paths, depth) {
    if (depth === DEPTH_MAX) throw new NoForm();
    this.at += 1;
    const elements = [];
    if (this.peek() === ']') this.at += 1;
    else {
      let index = 0;
      do {
        const name = String(index++);
        const step = paths.length === 0 ? NOWHERE : into(paths, depth, (token) => token === name);
        const text = this.value(step.paths, depth + 1);
        if (!step.ignored) elements.push(text);
      } while (this.more(']'));
    }
    return `[${elements.join(',')}]`;
  }

  // Past a comma, or past the end of the container.
  more(bracket) {
    const next = this.peek();
    if (next !== ',' && next !== bracket) throw new NoForm();
    this.at += 1;
    return next === ',';
  }

  // Its canonical spelling, without quotes.
  string() {
    this.at += 1;
    let text = '';
    for (;;) {
      text += this.match(PLAIN)[0];
      const c = this.text[this.at++];
      if (c === '"') return text;
      if (c !== '\\') throw new NoForm();
      text += spelling(this.escape());
    }
  }

  escape() {
    const letter = this.text[this.at++];
    if (letter !== 'u') {
      if (!Object.hasOwn(MEANINGS, letter ?? '')) throw new NoForm();
      return MEANINGS[letter];
    }
    const unit = this.unit();
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    if (unit > 0xdbff || this.text[this.at] !== '\\' || this.text[this.at + 1] !== 'u') throw new NoForm();
    this.at += 2;
    const low = this.unit();
    if (low < 0xdc00 || low > 0xdfff) throw new NoForm();
    return String.fromCharCode(unit, low);
  }

  unit() {
    return Number.parseInt(this.match(/[0-9a-fA-F]{4}/y)[0], 16);
  }

  number() {
    const [, sign, wholeDigits, fractionDigits = '', exponentText = '0'] = this.match(NUMBER);
    // A digit, a point or a letter behind it means that the pattern gave up in the middle: `01`, `1.`, `1e`.
    if (/[0-9.eE]/.test(this.text[this.at] ?? '')) throw new NoForm();
    const fraction = fractionDigits.replace(/0+$/, '');
    let digits = (wholeDigits + fraction).replace(/^0+/, '');
    let exponent = Number(exponentText) - fraction.length;
    if (fraction === '') {
      const short = digits.replace(/0+$/, '');
      exponent += digits.length - short.length;
      digits = short;
    }
    if (digits === '') return `${sign}0`;
    if (Math.abs(exponent) > EXPONENT_MAX) throw new NoForm();
    return `${sign}${digits}${exponent === 0 ? '' : `e${exponent}`}`;
  }
}

export function into(paths, depth, names) {
  const step = { ignored: false, paths: [] };
  for (const path of paths) {
    if (!names(path[depth])) continue;
    if (path.length === depth + 1) step.ignored = true;
    else step.paths.push(path);
  }
  return step;
}

// JSON pointers (RFC 6901) as lists of names. Throws where one is not a pointer.
export function parsePointers(pointers) {
  return pointers.map((pointer) => {
    if (typeof pointer !== 'string' || !/^(?:\/(?:[^/~]|~[01])*)+$/.test(pointer)) {
      throw new TypeError(`ignore: "${pointer}" is not a JSON pointer; write /name or /outer/inner (RFC 6901)`);
    }
    return pointer.slice(1).split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  });
}

// The canonical text of the bytes, or null if they have none. `paths` are those of parsePointers().
export function canonicalJson(bytes, paths = []) {
  try {
    const reader = new Reader(utf8.decode(bytes));
    const text = reader.value(paths, 0);
    return reader.peek() === undefined ? text : null;
  } catch (error) {
    if (error instanceof NoForm || error instanceof TypeError) return null;
    throw error;
  }
}
