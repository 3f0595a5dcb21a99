// A claim that is ours: taken, kept alive while the work runs, ended. This is once() of the library (src/once/once.cc) with
// calls of the API for those of the store.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallRefused, ClaimLost, StoreUnavailable } from './errors.js';

const RENEWALS_PER_LEASE = 3;
const CLAIM_TRIES = 3; // a repeated claim finds out what became of the first
const FINISH_TRIES = 5; // an outcome is worth more patience than a claim
const FINISH_PAUSE_MS = 50; // doubled after each try
const LATER_PAUSE_MS = 1000;

// Claims `item`. Returns the answer; if it is "granted", `holding` in it is the claim.
export async function take(semel, item) {
  const asked = performance.now();
  const owned = { ...item, owner: randomUUID() };
  const answer = await repeated(semel, [owned], asked, () => semel.claim(owned));
  if (answer.outcome !== 'granted') return answer;
  const held = await hold(semel, owned, answer, asked);
  if (held.error) throw held.error;
  return held;
}

// The same for a list of different keys, in as few calls as there can be. An item that was refused has its `error`.
export async function takeMany(semel, items) {
  const asked = performance.now();
  const owned = items.map((item) => ({ ...item, owner: randomUUID() }));
  const answers = await repeated(semel, owned, asked, () => semel.claim(owned));
  return Promise.all(answers.map((answer, i) => (answer.outcome === 'granted' ? hold(semel, owned[i], answer, asked) : answer)));
}

async function repeated(semel, owned, asked, claim) {
  for (let attempt = 1; ; ++attempt) {
    try {
      return await claim();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (attempt < CLAIM_TRIES) continue;
      for (const one of owned) giveBackLater(semel, one, asked); // it may have been granted, and nothing will run under it
      throw error;
    }
  }
}

async function hold(semel, owned, answer, asked) {
  const holding = new Holding(semel, owned, answer, asked);
  if (performance.now() - asked > owned.leaseMs / RENEWALS_PER_LEASE) {
    try {
      await holding.confirm();
    } catch (error) {
      return { outcome: 'refused', error };
    }
  }
  holding.keepAlive();
  answer.holding = holding;
  return answer;
}

// The owner is random, so only this very claim can be hit. If its lease is over, there is nothing to give back.
async function giveBackLater(semel, owned, asked) {
  while (performance.now() - asked < owned.leaseMs) {
    await sleep(LATER_PAUSE_MS, undefined, { ref: false });
    try {
      const { outcome, fence } = await semel.claim({ ...owned, waitMs: undefined });
      if (outcome === 'granted') await semel.release(nameOf(owned, fence));
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return;
    }
  }
}

function nameOf({ namespace, scope, key }, fence) {
  return { namespace, scope, key, fence };
}

export class Holding {
  constructor(semel, item, answer, asked) {
    this.semel = semel;
    this.name = nameOf(item, answer.fence);
    this.leaseMs = item.leaseMs;
    this.fence = answer.fence;
    this.attempt = answer.attempt;
    this.expiresAt = answer.expiresAt;
    this.aliveUntil = asked + item.leaseMs; // at least; by our clock, from before the call
    this.lost = null; // made when somebody looks: it is dear, and most work never does
    this.timer = null;
    this.finishing = false;
    this.ended = false;
  }

  // Aborted when the claim is lost: the work may stop, since its result will be dropped.
  get signal() {
    this.lost ??= new AbortController();
    return this.lost.signal;
  }

  // A grant that came late may have lapsed by now. Nothing has been done yet, so it is renewed first, or given up.
  async confirm() {
    try {
      const asked = performance.now();
      const { outcome } = await this.renew();
      if (outcome === 'renewed' && performance.now() - asked <= this.leaseMs / RENEWALS_PER_LEASE) return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
    this.finishLater('release', {});
    throw new StoreUnavailable('the store answers more slowly than the lease lasts', { retry: 'same-key', retryAfterMs: 1000 });
  }

  async renew() {
    const asked = performance.now();
    const answer = await this.semel.renew({ ...this.name, leaseMs: this.leaseMs });
    if (answer.outcome === 'renewed') this.aliveUntil = asked + this.leaseMs;
    return answer;
  }

  keepAlive() {
    const pause = this.leaseMs / RENEWALS_PER_LEASE;
    const again = (delay) => {
      this.timer = setTimeout(() => this.beat(again, pause), delay);
    };
    again(pause);
  }

  async beat(again, pause) {
    let delay = pause;
    try {
      const { outcome } = await this.renew();
      if (outcome !== 'renewed') return this.lose();
    } catch {
      if (performance.now() >= this.aliveUntil) return this.lose();
      delay = pause / 4;
    }
    if (!this.ended) again(delay);
    return undefined;
  }

  lose() {
    if (this.finishing || this.ended) return;
    this.lost ??= new AbortController();
    this.lost.abort(new ClaimLost('The claim was lost while the function ran; its result will be dropped.'));
  }

  stop() {
    this.ended = true;
    clearTimeout(this.timer);
  }

  // `verdict`: "store" with a result, "release" or "unknown". Throws ClaimLost if it is no longer ours, StoreUnavailable if the
  // store cannot be told now; it is told later then, as long as the lease can be alive.
  async finish(verdict, result) {
    this.finishing = true; // it is renewed until its end has been told, but can no longer be lost to the work
    try {
      await this.tell(verdict, result);
    } catch (error) {
      if (error instanceof StoreUnavailable) this.finishLater(verdict, result);
      throw error;
    } finally {
      this.stop();
    }
  }

  async tell(verdict, result) {
    let pause = FINISH_PAUSE_MS;
    for (let attempt = 1; ; ++attempt) {
      try {
        return await this.end(verdict, result);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || attempt === FINISH_TRIES) throw error;
      }
      await sleep(pause);
      pause *= 2;
    }
  }

  async end(verdict, result) {
    const how = verdict === 'store' ? { ...this.name, result } : { ...this.name, outcome: 'unknown' };
    const { outcome } = verdict === 'release' ? await this.semel.release(this.name) : await this.semel.complete(how);
    if (outcome === 'fenced') throw new ClaimLost('The claim was lost before the result was stored; it was dropped.');
  }

  async finishLater(verdict, result) {
    this.stop();
    const until = performance.now() + this.leaseMs;
    while (performance.now() < until) {
      await sleep(Math.min(LATER_PAUSE_MS, this.leaseMs / 4), undefined, { ref: false });
      try {
        return await this.end(verdict, result);
      } catch (error) {
        if (error instanceof ClaimLost || error instanceof CallRefused) return undefined;
      }
    }
    return undefined;
  }
}
