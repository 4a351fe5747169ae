// A relay between a client and the server that passes every byte on and keeps what went each way.

import { connect, createServer } from "node:net";

export async function relayTo(url) {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  let sent = [], received = [];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to, kept] of [[client, upstream, () => sent], [upstream, client, () => received]]) {
      sockets.add(from);
      from.on("data", (bytes) => { kept().push(bytes); to.write(bytes); });
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => { to.destroy(); sockets.delete(from); });
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const text = (chunks) => Buffer.concat(chunks).toString("latin1");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    forget() { sent = []; received = []; },
    sent: () => text(sent),
    received: () => text(received),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
