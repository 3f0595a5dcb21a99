// What can come of a claim besides a result, as errors of their own classes. `retry` says what to do, as in a problem:
// "same-key", "new-key" or "never"; with "same-key" wait for `retryAfterMs` first.

export class SemelError extends Error {
  constructor(message, { retry = 'never', retryAfterMs = 0, problem = null, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.retry = retry;
    this.retryAfterMs = retryAfterMs;
    this.problem = problem;
  }
}

// Semel or its store did not answer, so the function did not run.
export class StoreUnavailable extends SemelError {}
// More calls than the token may make; the function did not run.
export class RateLimited extends SemelError {}
// The call itself is wrong (400, 413), or the token may not make it (401, 403); the function did not run.
export class CallRefused extends SemelError {}
// The key belongs to another payload; the function did not run.
export class KeyReused extends SemelError {}
// Another attempt is running; this one did not.
export class InFlight extends SemelError {}
// An attempt may or may not have taken effect, and nobody can tell.
export class OutcomeUnknown extends SemelError {}
// The lease ran out while the function ran. Its result was dropped, and another attempt may have begun.
export class ClaimLost extends SemelError {}

// For functions to throw: nothing was done, so the key is free again. What it was made with is passed on to the caller.
export class NothingDone extends Error {
  constructor(cause) {
    super('nothing was done', { cause });
    this.name = 'NothingDone';
  }
}

const IN_FLIGHT = 'Another attempt with this key is running.';
const UNKNOWN = 'An attempt with this key may or may not have taken effect.';

// The error that an answer to a claim means, or null if it means none.
export function errorOf(answer) {
  const said = { problem: answer.problem ?? null, retryAfterMs: answer.retryAfterMs ?? 0, retry: answer.retry };
  switch (answer.outcome) {
    case 'running':
    case 'busy':
      return new InFlight(IN_FLIGHT, { ...said, retry: 'same-key' });
    case 'unknown':
      return new OutcomeUnknown(UNKNOWN, said);
    case 'key-reused':
      return new KeyReused('This key belongs to another payload.', { ...said, retry: 'new-key' });
    case 'fenced':
      return new ClaimLost('The claim is no longer ours.', said);
    default:
      return null;
  }
}

// The error that a refused call means.
export function errorOfProblem(status, problem, retryAfterMs) {
  const said = { problem, retryAfterMs, retry: problem?.retry };
  const text = [problem?.title, problem?.detail, problem?.pointer].filter(Boolean).join(': ') || `status ${status}`;
  if (status === 429) return new RateLimited(text, { ...said, retry: 'same-key' });
  if (status >= 500) return new StoreUnavailable(text, { ...said, retry: 'same-key', retryAfterMs: retryAfterMs || 1000 });
  return new CallRefused(text, said);
}
