// A handler behind an inbox that believes nothing but the signature of each attempt, checked by two libraries that nobody
// here wrote: handler.mjs SECRET. It fails the first attempt of what Stripe sent. GET / lists what it was called with.
import { createServer } from "node:http";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const secret = process.argv[2];
const calls = [];

function check(body, headers) {
  // The provider's own fields are kept, and Svix would look at its own first.
  const ours = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("webhook-")));
  new StandardWebhook(secret).verify(body, headers);
  new Svix(secret).verify(body, ours);
}

function judge(body, headers) {
  try {
    check(body, headers);
  } catch (problem) {
    if (!(problem instanceof SyntaxError)) return String(problem); // a body that is a form is signed, and is no JSON
  }
  return "";
}

createServer(async (request, response) => {
  if (request.method === "GET") return response.end(JSON.stringify(calls));
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces).toString();
  const attempt = Number(request.headers["idempotency-attempt"]);
  const problem = judge(body, request.headers);
  const forged = judge(body + " ", request.headers);
  calls.push({ path: request.url, attempt, problem, forged, body, headers: request.headers });
  response.statusCode = problem ? 401 : attempt === 1 && "stripe-signature" in request.headers ? 500 : 200;
  response.end();
}).listen(0, "127.0.0.1", function () {
  console.log(`listening on ${this.address().port}`);
});
