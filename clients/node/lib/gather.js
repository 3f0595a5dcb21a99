// Sends single calls together: those that are made in one turn of the event loop, and those that come while two are under way,
// go in one batch. A lone call waits for nobody. Two calls for one key are never in one batch, which would refuse the second.
import { CallRefused } from './errors.js';

const UNDER_WAY_MAX = 2;
const ITEMS_MAX = 100;
const BYTES_MAX = 512 * 1024;

// Two keys may share a text, which only keeps them apart.
function keyOf({ namespace, scope, key }) {
  return `${namespace}\n${scope ?? ''}\n${key}`;
}

function sizeOf({ result }) {
  return 512 + (result?.body_base64?.length ?? 0);
}

export class Gatherer {
  // `post` sends a list of items and returns the answer: that of the item if there is one, { items } if there are several.
  constructor(post) {
    this.post = post;
    this.waiting = [];
    this.underWay = 0;
    this.planned = false;
  }

  add(item) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.plan();
    });
  }

  // At the end of this turn, when all that is ready has made its calls.
  plan() {
    if (this.planned || this.underWay === UNDER_WAY_MAX || this.waiting.length === 0) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      this.send();
      this.plan(); // those that could not go with these
    });
  }

  // The first of those that wait, and those that can go with it.
  take() {
    if (this.waiting.length === 1) return this.waiting.splice(0);
    const taken = [];
    const left = [];
    const keys = new Set();
    let size = 0;
    for (const one of this.waiting) {
      const key = keyOf(one.item);
      const bytes = sizeOf(one.item);
      if (taken.length > 0 && (taken.length === ITEMS_MAX || size + bytes > BYTES_MAX || keys.has(key))) {
        left.push(one);
        continue;
      }
      keys.add(key);
      size += bytes;
      taken.push(one);
    }
    this.waiting = left;
    return taken;
  }

  async send() {
    this.underWay += 1;
    const taken = this.take();
    try {
      const said = await this.post(taken.map((one) => one.item));
      const answers = taken.length === 1 ? [said] : said.items;
      if (!Array.isArray(answers) || answers.length !== taken.length) throw new Error('a batch was not answered item by item');
      taken.forEach((one, i) => one.resolve(answers[i]));
    } catch (error) {
      // One wrong item may be why all were refused: then each is told by itself.
      if (taken.length > 1 && error instanceof CallRefused) await Promise.all(taken.map((one) => this.sendAlone(one)));
      else taken.forEach((one) => one.reject(error));
    }
    this.underWay -= 1;
    this.plan();
  }

  sendAlone(one) {
    return this.post([one.item]).then(one.resolve, one.reject);
  }
}
