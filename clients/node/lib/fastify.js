// Fastify: a plugin that guards the routes of the instance it is registered with, and of those inside it.
//
//   app.register(semel, { url: 'http://127.0.0.1:9070', token: process.env.SEMEL_TOKEN });
//
// A route has its own options in `config: { semel: { … } }`, which are added to those of the plugin; `config: { semel: false }`
// leaves it alone. In a handler, request.semel has the attempt's number and signal.
import { Guard } from './guard.js';
import { Semel } from './once.js';

function plugin(app, options, done) {
  const client = options.semel ?? new Semel(options);
  const shared = { ...options, semel: client };
  const guards = new Map();
  const guardOf = (own) => {
    if (!guards.has(own)) guards.set(own, new Guard({ ...shared, ...own }));
    return guards.get(own);
  };
  app.addHook('onRoute', (route) => {
    if (route.config?.semel) guardOf(route.config.semel); // what is wrong with it is told at the start
  });
  guardOf(undefined);
  app.addHook('onRequest', (request, reply, next) => {
    const own = (request.routeOptions ?? request.context).config?.semel;
    if (own === false || request.is404) return next();
    let runs = false;
    const run = () => {
      runs = true;
      if (request.raw.semel) request.semel = request.raw.semel;
      next();
    };
    const stop = (error) => next(error);
    guardOf(own === true ? undefined : own)
      .handle(request.raw, reply.raw, run)
      .then(() => {
        if (!runs) reply.hijack(); // it has been answered
      }, stop);
    return undefined;
  });
  done();
}

plugin[Symbol.for('skip-override')] = true; // for the instance that it is registered with, not for one inside it
plugin[Symbol.for('fastify.display-name')] = 'semel';

export const semel = plugin;
export default plugin;
