// Talks to origin.mjs by way of a gateway: clients.mjs PORT. Prints what it saw as JSON.
import { once } from "node:events";
import { EventSource } from "eventsource";
import { WebSocket } from "ws";

const host = `127.0.0.1:${process.argv[2]}`;

async function socket() {
  const client = new WebSocket(`ws://${host}/v1/socket?a=b`, ["chat.v1", "chat.v2"], { perMessageDeflate: true });
  await once(client, "open");
  const ask = async (data, options) => {
    client.send(data, options);
    return (await once(client, "message"))[0];
  };
  const echoed = [];
  for (const size of [0, 1, 125, 126, 65535, 65536, 1 << 20]) {
    const sent = Buffer.alloc(size, "0123456789");
    echoed.push(sent.equals(await ask(sent)));
  }
  const pieces = once(client, "message");
  client.send("one, ", { fin: false });
  client.send("two", { fin: true });
  const joined = String((await pieces)[0]);
  client.ping("are you there");
  const pong = String((await once(client, "pong"))[0]);
  const who = String(await ask("who"));
  const result = { echoed, joined, pong, who, protocol: client.protocol, extensions: client.extensions };
  client.send("bye");
  const [code, reason] = await once(client, "close");
  return { ...result, code, reason: String(reason) };
}

function events() {
  return new Promise((resolve) => {
    const seen = [];
    let errors = 0;
    const source = new EventSource(`http://${host}/v1/events`);
    source.addEventListener("error", () => errors++);
    source.addEventListener("tick", (event) => {
      seen.push([event.lastEventId, event.data]);
      if (seen.length === 7) {
        source.close();
        resolve({ seen, errors });
      }
    });
  });
}

console.log(JSON.stringify({ socket: await socket(), events: await events() }));
