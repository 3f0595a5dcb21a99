// Types of `semel/express`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Claim, OnUnknown, Semel } from './index.js';

export interface VerifiableRequest {
  method: string;
  target: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface VerifiedEvent {
  id: string;
  /** Whether the signature covers the id. */
  signsId: boolean;
}

export interface Webhook {
  verify(request: VerifiableRequest): VerifiedEvent | null | Promise<VerifiedEvent | null>;
}

export type Verdict = 'store' | 'release' | 'unknown';

/** Those of a [[route]] in conf/semel.toml. */
export interface GuardOptions {
  semel?: Semel;
  url?: string;
  token?: string;
  tls?: object;
  namespace?: string;
  methods?: string[];
  key?: 'required' | 'optional' | 'off';
  keyFrom?: string;
  scope?: string;
  fingerprint?: 'json' | 'raw';
  ignore?: string[];
  ttlMs?: number;
  leaseMs?: number;
  inFlight?: 'conflict' | 'wait';
  waitMaxMs?: number;
  onUnknown?: OnUnknown;
  keep?: Record<string, Verdict>;
  bodyBytesMax?: number;
  storeBodyMax?: number;
  timeoutMs?: number;
  problemBase?: string;
  replayedHeader?: string;
  docsUrl?: string;
  webhook?: Webhook;
}

/** What a handler finds in `req.semel` if its request is guarded. */
export type Attempt = Claim & { expiresAt: Date };

declare module 'node:http' {
  interface IncomingMessage {
    semel?: Attempt;
  }
}

export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

export function semel(options?: GuardOptions): Middleware;
export default semel;
