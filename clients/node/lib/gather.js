// Sends single calls together: while two are under way, those that come wait for one of them to end, and go in the next as one
// batch. A lone call never waits. Two calls for one key are never in one batch, which would refuse the second.
import { CallRefused } from './errors.js';

const UNDER_WAY_MAX = 2;
const ITEMS_MAX = 100;
const BYTES_MAX = 512 * 1024;

function keyOf(item) {
  return JSON.stringify([item.namespace, item.scope, item.key]);
}

function sizeOf(item) {
  return 512 + (item.result?.body_base64?.length ?? 0);
}

export class Gatherer {
  // `post` sends a list of items and returns the answer: that of the item if there is one, { items } if there are several.
  constructor(post) {
    this.post = post;
    this.waiting = [];
    this.underWay = 0;
  }

  add(item) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.underWay < UNDER_WAY_MAX) this.send();
    });
  }

  // The first of those that wait, and those that can go with it.
  take() {
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
    if (this.waiting.length > 0) this.send();
  }

  sendAlone(one) {
    return this.post([one.item]).then(one.resolve, one.reject);
  }
}
