// Types of `semel/nestjs`.
import type { GuardOptions } from './express.js';

export { semel } from './express.js';

export class SemelModule {
  /** `routes`: what forRoutes() of a middleware takes. */
  static guard(options: GuardOptions, ...routes: (string | object)[]): { module: new () => object };
}
