// A service with a WebSocket that echoes and a stream of events. Prints its port.
import http from "node:http";
import { WebSocketServer } from "ws";

const server = http.createServer((request, response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const from = Number(request.headers["last-event-id"] ?? 0);
  response.write(`retry: 50\n\n`);
  let next = from + 1;
  const timer = setInterval(() => {
    response.write(`id: ${next}\nevent: tick\ndata: ${next}\ndata: of ${from}\n\n`);
    if (next++ % 3 === 0) {  // then the client has to come back
      clearInterval(timer);
      response.end();
    }
  }, 20);
  response.on("close", () => clearInterval(timer));
});

const sockets = new WebSocketServer({
  server, perMessageDeflate: true, handleProtocols: (offered) => (offered.has("chat.v2") ? "chat.v2" : false),
});
sockets.on("connection", (socket, request) => {
  socket.on("message", (data, binary) => {
    if (String(data) === "bye") socket.close(4001, "as you wish");
    else if (String(data) === "who") socket.send(`${request.url} ${request.headers["via"]}`);
    else socket.send(data, { binary });
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
