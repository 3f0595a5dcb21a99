// Types of `semel/fetch`.

export interface KeyStore {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

export interface OnceFetchOptions {
  /** Names the operation: as long as it has not ended, its key is the same, after a reload too. */
  operation: string;
  /** Where keys outlive the page: localStorage where there is one; null for nowhere. */
  store?: KeyStore | null;
  /** 5 */
  tries?: number;
  /** For the first pause where the server names none; doubled after each: 500. */
  pauseMs?: number;
  fetch?: typeof fetch;
}

export class UnknownOutcome extends Error {
  response: Response | null;
}

export function onceFetch(url: string | URL, init: RequestInit | undefined, options: OnceFetchOptions): Promise<Response>;
