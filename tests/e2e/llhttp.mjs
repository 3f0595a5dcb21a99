// Node's own parser (llhttp, strict) as a second opinion. Reads one message a line, in base64, and answers each with a
// line of JSON: the requests that it found in these bytes, up to the end of the stream, and what it did not like.
import http from "node:http";
import readline from "node:readline";
import { Duplex } from "node:stream";

const server = http.createServer({
  insecureHTTPParser: false, maxHeaderSize: 1 << 20, requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0,
});
server.on("request", (request, response) => {
  const seen = { method: request.method, target: request.url, body: "", complete: false };
  request.socket.found.requests.push(seen);
  // What comes behind it would be another protocol. Node reads no further, also if nobody has agreed to that.
  if (request.headers.upgrade && /upgrade/i.test(request.headers.connection ?? "")) request.socket.found.error ??= "UPGRADE";
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("close", () => {
    seen.body = Buffer.concat(pieces).toString("base64");
    seen.complete = request.complete;
  });
  response.end();
});
server.on("clientError", (error, stream) => {
  stream.found.error ??= error.code;
  stream.destroy();
});

function read(bytes) {
  return new Promise((resolve) => {
    const stream = new Duplex({ read() {}, write(piece, encoding, done) { done(); } });
    stream.found = { requests: [], error: null };
    stream.setTimeout = stream.setKeepAlive = stream.setNoDelay = () => stream;
    stream.on("error", () => {});
    stream.on("close", () => setImmediate(() => resolve(stream.found)));
    server.emit("connection", stream);
    stream.push(bytes);
    stream.push(null);
  });
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const found = await read(Buffer.from(line, "base64"));
  process.stdout.write(JSON.stringify(found) + "\n");
}
