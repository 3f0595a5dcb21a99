// NestJS: a module that guards routes, on Express, which is Nest's default.
//
//   @Module({ imports: [SemelModule.guard({ url: 'http://127.0.0.1:9070', token: process.env.SEMEL_TOKEN }, 'charges')] })
//   const app = await NestFactory.create(AppModule, { rawBody: true });
//
// rawBody keeps the bytes that Nest's own parser has read: requests are compared by those. In a handler, req.semel has the
// attempt's number and signal.
import { semel } from './express.js';

export class SemelModule {
  // `routes` are what forRoutes() of a middleware takes: paths, { path, method }, controllers.
  static guard(options, ...routes) {
    if (routes.length === 0) throw new TypeError('SemelModule.guard: name the routes to guard after the options');
    const middleware = semel(options);
    class GuardedRoutes {
      configure(consumer) {
        consumer.apply(middleware).forRoutes(...routes);
      }
    }
    return { module: GuardedRoutes };
  }
}

export { semel };
