// The world outside of the payout service: it takes receipts, and it wakes people. GET says what it was sent.
import { createServer } from "node:http";

const taken = [];

createServer(async (request, response) => {
  if (request.method === "GET") return response.end(JSON.stringify(taken));
  let body = "";
  for await (const piece of request) body += piece;
  taken.push({ path: request.url, key: request.headers["idempotency-key"] ?? null, body: JSON.parse(body) });
  response.end("taken");
}).listen(Number(process.env.PORT ?? 3001), "127.0.0.1", function () {
  console.log(`listening on ${this.address().port}`);
});
