// Types of `semel`.

export type OnUnknown = 'hold' | 'retry';

export interface ConnectionOptions {
  /** Where the claims API of `semel serve` is; SEMEL_URL unless given. */
  url?: string;
  /** SEMEL_TOKEN unless given. */
  token?: string;
  /** Of items that name none: "default". */
  namespace?: string;
  /** For a call to be answered, beyond its `waitMs`: 5000. */
  timeoutMs?: number;
  /** Kept to the API at most: 64. */
  connections?: number;
  /** Options of node:tls for https, such as `{ ca }`. */
  tls?: object;
}

export interface Order {
  object: string;
  stamp: number | string;
}

/** What names a key, and the terms of a claim. */
export interface Terms {
  namespace?: string;
  scope?: string;
  /** Compared by its meaning as JSON; another payload under the key is refused. */
  payload?: unknown;
  /** 64 hexadecimal digits, instead of a payload. */
  fingerprint?: string;
  leaseMs?: number;
  ttlMs?: number;
  onUnknown?: OnUnknown;
  waitMs?: number;
  order?: Order;
}

export interface ClaimItem extends Terms {
  key: string;
  /** Names the attempt, 16 to 64 characters; a repeated call with the same owner gets the same fence. */
  owner?: string;
}

export interface HeldItem {
  namespace?: string;
  scope?: string;
  key: string;
  fence: string;
}

export interface Result {
  status?: number;
  contentType?: string;
  headers?: Record<string, string | string[]>;
  body?: unknown;
  bodyBase64?: string;
  bodyKept?: boolean;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  pointer?: string;
}

export interface Answer {
  outcome:
    | 'granted' | 'done' | 'running' | 'unknown' | 'key-reused' | 'superseded' | 'busy' | 'free'
    | 'renewed' | 'completed' | 'released' | 'fenced' | 'refused';
  fence?: string;
  attempt?: number;
  expiresAt?: Date;
  result?: Result;
  retry?: Retry;
  retryAfterMs?: number;
  problem?: Problem;
  /** Of an item in a list that was refused. */
  error?: SemelError;
}

export type Retry = 'same-key' | 'new-key' | 'never';

/** What a function that runs under a claim is given. */
export interface Claim {
  /** Aborted when the claim is lost: the result will be dropped. */
  signal: AbortSignal;
  fence: string;
  /** 1 for the first claim of a key; grows with each. */
  attempt: number;
}

export interface Run<Value> {
  outcome: 'ran' | 'replayed' | 'superseded';
  value: Value;
  attempt?: number;
  expiresAt?: Date;
}

export type Conclusion<Value> = Run<Value> | { outcome: 'failed'; error: Error };
export type Work<Value> = (claim: Claim) => Value | Promise<Value>;
export type ManyItem = string | { key: string; options?: Terms };

export class Semel {
  constructor(options?: ConnectionOptions);
  once<Value>(key: string, fn: Work<Value>, options?: Terms): Promise<Value>;
  run<Value>(key: string, fn: Work<Value>, options?: Terms): Promise<Run<Value>>;
  onceMany<Item extends ManyItem, Value>(
    items: Item[],
    fn: (item: Item, claim: Claim) => Value | Promise<Value>,
    options?: Terms & { concurrency?: number },
  ): Promise<Conclusion<Value>[]>;

  claim(item: ClaimItem): Promise<Answer>;
  claim(items: ClaimItem[]): Promise<Answer[]>;
  renew(item: HeldItem & { leaseMs?: number }): Promise<Answer>;
  renew(items: (HeldItem & { leaseMs?: number })[]): Promise<Answer[]>;
  complete(item: HeldItem & { result?: Result; outcome?: 'unknown' }): Promise<Answer>;
  complete(items: (HeldItem & { result?: Result; outcome?: 'unknown' })[]): Promise<Answer[]>;
  release(item: HeldItem): Promise<Answer>;
  release(items: HeldItem[]): Promise<Answer[]>;
  get(item: { namespace?: string; scope?: string; key: string; payload?: unknown; fingerprint?: string }): Promise<Answer>;
  get(items: { namespace?: string; scope?: string; key: string; payload?: unknown; fingerprint?: string }[]): Promise<Answer[]>;
  close(): void;
}

export class SemelError extends Error {
  retry: Retry;
  retryAfterMs: number;
  problem: Problem | null;
}
/** Semel or its store did not answer; the function did not run. */
export class StoreUnavailable extends SemelError {}
export class RateLimited extends SemelError {}
/** The call is wrong, or the token may not make it. */
export class CallRefused extends SemelError {}
export class KeyReused extends SemelError {}
export class InFlight extends SemelError {}
export class OutcomeUnknown extends SemelError {}
export class ClaimLost extends SemelError {}
/** For functions to throw: nothing was done, the key is free again, and the caller gets `cause`. */
export class NothingDone extends Error {
  constructor(cause: unknown);
}

/** The gateway's fingerprint of a request, as 64 hexadecimal digits. */
export function fingerprint(
  request: { method: string; target: string; body: Uint8Array }, form?: 'raw' | 'json', ignore?: string[][],
): string;
