// The app of express.mjs with the middleware of clients/node in place of the articles' own: to compare the two.
//
//   SEMEL_URL=… SEMEL_TOKEN=… node semel.mjs PORT ORIGIN_PORT [CLIENT_FOLDER]
//
// Without a folder there is no middleware: what the app costs by itself.
import express from 'express';
import { Pool as Upstream } from 'undici';

const [port, originPort, client] = process.argv.slice(2);
const upstream = new Upstream(`http://127.0.0.1:${originPort}`, { connections: 64 });
const app = express();
if (client) {
  const { semel } = await import(`${client}/lib/express.js`);
  app.use('/v1/charges', semel({ scope: '' }));
}
app.use(express.json({ limit: '2mb' }));

app.post('/v1/charges', async (request, response) => {
  const answer = await upstream.request({
    method: 'POST',
    path: '/v1/charges',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  response.status(answer.statusCode).json(await answer.body.json());
});

app.get('/ready', (_request, response) => response.send('ready'));

app.listen(Number(port), '127.0.0.1');
