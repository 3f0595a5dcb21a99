// Types of `semel/fastify`.
import type { Attempt, GuardOptions } from './express.js';

declare module 'fastify' {
  interface FastifyRequest {
    semel?: Attempt;
  }
  interface FastifyContextConfig {
    semel?: GuardOptions | boolean;
  }
}

export function semel(app: object, options: GuardOptions, done: (error?: Error) => void): void;
export default semel;
