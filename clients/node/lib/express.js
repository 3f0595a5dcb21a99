// Express (and every server whose middleware is called with req, res and next, such as NestJS and Connect).
//
//   app.use('/charges', semel({ url: 'http://127.0.0.1:9070', token: process.env.SEMEL_TOKEN }));
//
// It stands before body parsers: it reads the bytes ahead, and leaves them for those.
import { Guard } from './guard.js';

export function semel(options) {
  const guard = new Guard(options);
  return function semelMiddleware(req, res, next) {
    guard.handle(req, res, () => next()).catch(next);
  };
}

export default semel;
