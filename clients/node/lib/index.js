// npm: semel. Effects that happen once: for queue consumers, jobs and services, on the claims API of `semel serve`.
export { Semel } from './once.js';
export { CallRefused, ClaimLost, InFlight, KeyReused, NothingDone, OutcomeUnknown, RateLimited, SemelError,
  StoreUnavailable } from './errors.js';
export { fingerprint } from './fingerprint.js';
