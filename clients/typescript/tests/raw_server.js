// A server on a real socket whose every answer a test writes, byte by byte.
import { once } from "node:events";
import net from "node:net";

const json = (status, value, headers = "") => {
  const body = JSON.stringify(value);
  return `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
};
export const ok = (value) => (socket) => socket.end(json(200, value));
export const text = (bytes) => (socket) => socket.end(bytes);
export const refusal = (status, code, details, headers) => (socket) =>
  socket.end(json(status, { error: { code, message: "What went wrong.", requestId: "r-1", ...(details && { details }) } }, headers));
export const reset = (socket) => socket.resetAndDestroy();
export const silent = () => {};

/** `await serving(t, answer, answer, ...)`: the n-th request gets the n-th answer, the last one all further ones. */
export async function serving(t, ...answers) {
  const requests = [];
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
      const [head, body] = received.split("\r\n\r\n");
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return;
      received = "";
      const [method, path] = head.split(" ");
      const headers = Object.fromEntries(head.split("\r\n").slice(1).map((line) => line.toLowerCase().split(/: (.*)/s).slice(0, 2)));
      requests.push({ method, path, headers, body, at: performance.now() });
      (answers.length > 1 ? answers.shift() : answers[0])(socket, requests.at(-1));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}
