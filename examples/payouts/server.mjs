// A payout service: it charges a fee of 0.5 % when a payout is announced, and sends a receipt. It knows two ways to do it.
//
//   node server.mjs            the fee and the receipt are one transaction
//   node server.mjs --naive    the fee first, and then the receipt, as most services do it
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { promisify } from "node:util";

const database = process.env.PAYOUTS_DATABASE ?? "postgres://payouts_app@127.0.0.1/payouts";
const receipts = process.env.RECEIPTS ?? "http://127.0.0.1:3001/receipts";
const run = promisify(execFile);

// The statements go to psql, so that the example needs no driver. :'name' is a value of `values`, as SQL.
async function sql(text, values = {}) {
  const words = Object.entries(values).flatMap(([name, value]) => ["-v", `${name}=${value}`]);
  const asked = run("psql", [database, "-qAtX", "-v", "ON_ERROR_STOP=1", ...words]);
  asked.child.stdin.end(text);
  return (await asked).stdout;
}

const CHARGE = "INSERT INTO fees (event, payout, amount) VALUES (:'event', :'payout', :'fee');";
const RECEIPT = `SELECT semel.send(destination => 'receipts', key => 'payout:' || :'payout' || '/receipt',
                                   body => jsonb_build_object('payout', :'payout', 'fee', :'fee'::numeric), object => :'payout');`;

// Both, or neither. When the receipt arrives is no matter of this service.
async function charge(payout) {
  await sql(`BEGIN; ${CHARGE} ${RECEIPT} COMMIT;`, payout);
}

// If the receipt is not taken, the announcement counts as not handled, and comes again. The fee is there already.
async function chargeNaively(payout) {
  await sql(CHARGE, payout);
  const taken = await fetch(receipts, { method: "POST", body: JSON.stringify({ payout: payout.payout, fee: payout.fee }) });
  if (!taken.ok) throw new Error(`the receipt was not taken: ${taken.status}`);
}

const handle = process.argv.includes("--naive") ? chargeNaively : charge;

async function answer(request) {
  if (request.method === "GET") {
    return sql("SELECT coalesce(json_agg(json_build_object('payout', payout, 'fee', amount) ORDER BY id), '[]') FROM fees");
  }
  let body = "";
  for await (const piece of request) body += piece;
  const event = JSON.parse(body);
  const payout = event.data.object;
  await handle({ event: event.id, payout: payout.id, fee: payout.amount * 0.005 });
  return "charged";
}

createServer(async (request, response) => {
  try {
    response.end(await answer(request));
  } catch (error) {
    console.error(error.message);
    response.writeHead(500).end("not charged");
  }
}).listen(Number(process.env.PORT ?? 3000), "127.0.0.1", function () {
  console.log(`listening on ${this.address().port}`);
});
