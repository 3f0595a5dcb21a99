// A payout service that charges a fee of 0.5 % when a payout is announced. It is naive on purpose: whoever calls it twice
// pays twice. Behind Semel nobody can.
import { createServer } from "node:http";

const fees = [];

async function charge(payout) {
  await new Promise((done) => setTimeout(done, 200)); // a bank is not quick
  fees.push({ payout: payout.id, fee: payout.amount * 0.005 });
}

createServer(async (request, response) => {
  if (request.method === "GET") return response.end(JSON.stringify(fees));
  let body = "";
  for await (const piece of request) body += piece;
  await charge(JSON.parse(body).data.object);
  response.end("charged");
}).listen(Number(process.env.PORT ?? 3000), "127.0.0.1", function () {
  console.log(`listening on ${this.address().port}`);
});
