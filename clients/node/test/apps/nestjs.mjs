// An app as tests/clients/README.md describes it, on NestJS. Decorators are called as the functions that they are, so that no
// compiler is needed.
import 'reflect-metadata';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { All, Catch, Controller, Get, HttpException, Module, NotFoundException, Post, Redirect, Req, Res, StreamableFile } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SemelModule } from '../../lib/nestjs.js';
import { endOnSignal, forward, HOOKS, port, ROUTES } from './business.mjs';

const bytesOf = (req) => req.rawBody ?? Buffer.alloc(0);

// A method of a controller with its decorators: the route, and what its arguments are.
function method(controller, name, route, ...parameters) {
  parameters.forEach((parameter, i) => parameter(controller.prototype, name, i));
  for (const decorate of [route].flat()) {
    decorate(controller.prototype, name, Object.getOwnPropertyDescriptor(controller.prototype, name));
  }
}

class Ways {
  async json(req, res) {
    await forward(req, bytesOf(req));
    res.location('/things/7');
    return { id: 7, name: 'é' };
  }

  async text(req, res) {
    await forward(req, bytesOf(req));
    res.status(200).type('text/plain');
    return 'plain text';
  }

  async bytes(req, res) {
    await forward(req, bytesOf(req));
    res.status(200);
    return new StreamableFile(Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
  }

  async stream(req, res) {
    await forward(req, bytesOf(req));
    res.status(200).type('text/plain');
    for (const word of ['one ', 'two ', 'three']) {
      res.write(word);
      await sleep(20);
    }
    res.end();
  }

  async empty(req, res) {
    await forward(req, bytesOf(req));
    res.status(204);
  }

  async redirect(req) {
    await forward(req, bytesOf(req));
  }

  async cookie(req, res) {
    await forward(req, bytesOf(req));
    res.status(200).set('X-Two', ['1', '2']).cookie('a', '1').type('text/plain');
    return 'cookie';
  }

  async notFound(req) {
    await forward(req, bytesOf(req));
    throw new NotFoundException();
  }

  async throws(req) {
    await forward(req, bytesOf(req));
    throw new Error('the handler fails');
  }

  async breaks(req, res) {
    await forward(req, bytesOf(req));
    res.status(200);
    pipeline(Readable.from((async function* half() {
      yield 'half';
      throw new Error('the source broke');
    })()), res, () => {});
  }

  async large(req, res) {
    await forward(req, bytesOf(req));
    res.status(200);
    return new StreamableFile(Readable.from(Array.from({ length: 32 }, () => Buffer.alloc(65536, 'x'))));
  }
}
const through = [Req(), Res({ passthrough: true })];
for (const way of ['json', 'text', 'bytes', 'empty', 'cookie', 'large']) method(Ways, way, Post(way), ...through);
for (const [way, name] of [['stream', 'stream'], ['break', 'breaks']]) method(Ways, name, Post(way), Req(), Res());
method(Ways, 'redirect', [Post('redirect'), Redirect('/things/7', 303)], Req());
method(Ways, 'notFound', Post('not-found'), Req());
method(Ways, 'throws', Post('throw'), Req());
Controller('ways')(Ways);

class Business {
  ready() {
    return 'ready';
  }

  async handle(req, res) {
    const said = await forward(req, bytesOf(req));
    res.status(said.status);
    for (const [name, value] of said.fields) res.setHeader(name, value);
    res.end(said.body);
  }
}
method(Business, 'ready', Get('ready'));
method(Business, 'handle', All('*any'), Req(), Res());
Controller()(Business);

class Failures {
  catch(error, host) {
    const res = host.switchToHttp().getResponse();
    if (error instanceof HttpException) res.status(error.getStatus()).json(error.getResponse());
    else if (!res.headersSent) res.status(500).type('text/plain').send('failed');
  }
}
Catch()(Failures);

const guards = Object.entries(ROUTES).map(([path, options]) => SemelModule.guard(options, `${path}/*any`));
if (HOOKS) guards.push(SemelModule.guard(HOOKS, 'hooks'));
class App {}
Module({ imports: guards, controllers: [Ways, Business] })(App);

const app = await NestFactory.create(App, { rawBody: true, logger: ['error'] });
app.useBodyParser('json', { limit: '20mb', strict: false });
app.useBodyParser('raw', { limit: '20mb', type: () => true });
app.disable?.('x-powered-by');
app.set('etag', false);
app.useGlobalFilters(new Failures());
await app.listen(port, '127.0.0.1');
endOnSignal(() => {
  app.getHttpServer().closeIdleConnections();
  return app.close();
});
