// What both queues have in common: an HTTP server that takes an event, keeps it in the queue, and answers 200 when it is
// durable; and a handler that is called over kept connections.
//
// While one insert is under way, events gather and go together in the next one. Neither signatures nor duplicates are looked
// at. GET /left says how many events have not ended.
import { createServer } from "node:http";
import { Pool } from "undici";

export function handler(originPort) {
  const upstream = new Pool(`http://127.0.0.1:${originPort}`, { connections: 64 });
  return async (body) => {
    const answer = await upstream.request({ path: "/handler", method: "POST", body,
      headers: { "content-type": "application/json" } });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`the handler said ${answer.statusCode}`);
  };
}

export function gathered(insert) {
  let waiting = [];
  let busy = false;
  async function work() {
    busy = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, 500);
      try {
        await insert(batch.map((one) => one.body));
        for (const one of batch) one.done();
      } catch (problem) {
        for (const one of batch) one.failed(problem);
      }
    }
    busy = false;
  }
  return (body) => new Promise((done, failed) => {
    waiting.push({ body, done, failed });
    if (!busy) work();
  });
}

export function listen(port, keep, left) {
  createServer(async (request, response) => {
    if (request.url === "/ready") return response.end();
    if (request.url === "/left") return response.end(String(await left()));
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    try {
      await keep(Buffer.concat(pieces).toString());
    } catch (problem) {
      console.error(problem);
      response.statusCode = 503;
    }
    response.end();
  }).listen(Number(port), "127.0.0.1");
}
