// One value out of a JSON document, by pointer: a string decoded; a number, true or false as written.
import { into, NoForm, Reader, utf8 } from './canonical.js';

class Follower extends Reader {
  found = {};

  object(paths, depth) {
    return this.container('}', depth, () => {
      if (this.peek() !== '"') throw new NoForm();
      const name = this.string();
      this.take(':');
      return [into(paths, depth, (token) => JSON.stringify(token) === JSON.stringify(JSON.parse(`"${name}"`))), name];
    });
  }

  array(paths, depth) {
    let index = 0;
    return this.container(']', depth, () => {
      const name = String(index++);
      return [into(paths, depth, (token) => token === name), name];
    });
  }

  container(bracket, depth, member) {
    if (depth === 64) throw new NoForm();
    this.at += 1;
    let led = false;
    if (this.peek() === bracket) {
      this.at += 1;
      return null;
    }
    do {
      const [step] = member();
      const leads = step.ignored || step.paths.length > 0;
      if (leads && led) this.found.ambiguous = true;
      led ||= leads;
      this.peek();
      const begin = this.at;
      this.value(step.paths, depth + 1);
      if (step.ignored) this.note(this.text.slice(begin, this.at));
    } while (this.more(bracket));
    return null;
  }

  note(written) {
    if (written[0] === '"') this.found.value = JSON.parse(written);
    else if (!/^[{[n]/.test(written)) this.found.value = written;
  }
}

// { value } if it is there, { ambiguous } if a name on the way to it occurs twice, { notJson }, or nothing of these.
export function jsonScalar(bytes, pointer) {
  try {
    const follower = new Follower(utf8.decode(bytes));
    follower.value([pointer], 0);
    return follower.peek() === undefined ? follower.found : { notJson: true };
  } catch (error) {
    if (error instanceof NoForm || error instanceof TypeError) return { notJson: true };
    throw error;
  }
}
