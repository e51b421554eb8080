// Live answers over real sockets: reconnections, refusals, cut bytes, and servers that are no gateway.
import assert from "node:assert/strict";
import test from "node:test";
import { ApiError, Quoteway, TransportError } from "@quoteway/client";
import { refusal, reset, serving, text } from "./raw_server.js";

const OPEN = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\nretry: 10\n\n";
const HEAD = { network: "one", chainId: 1, block: { number: 7, hash: "0x12", timestamp: 0 } };
const event = (name, data, id) => `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const COMPLETE = event("end", { reason: "complete", reconnect: false }, "complete");
const read = async (server, topics = { heads: ["one", "two"] }, options = {}) => {
  const found = [];
  for await (const each of new Quoteway({ baseUrl: server.url, apiKey: "a-key" }).stream(topics, options)) found.push(each);
  return found;
};

test("a stream goes on after its last event until it is complete", async (t) => {
  const lifetime = event("end", { reason: "lifetime", reconnect: true });
  const cut = (socket) => {
    socket.write(`${OPEN}${event("head", HEAD, "p-2")}event: head\ndata: {"net`);
    setTimeout(() => socket.resetAndDestroy(), 20);
  };
  const server = await serving(t, text(OPEN + event("head", HEAD, "p-1") + lifetime), cut, reset, text(`${OPEN}:\n\n${event("new", {})}${event("head", HEAD, "p-3")}${COMPLETE}`));
  assert.deepEqual(await read(server), ["p-1", "p-2", "p-3"].map((id) => ({ name: "head", data: HEAD, id })));
  assert.deepEqual(server.requests.map(({ headers }) => headers["last-event-id"]), [undefined, "p-1", "p-2", "p-2"]);
  assert.equal(server.requests[0].path, "/v2/stream?heads=one%2Ctwo");
  assert.equal(server.requests[0].headers.authorization, "bearer a-key");
});

test("amounts of events are bigint, and what was sent names a transfer", async (t) => {
  const refunded = { txId: "t", hash: "0xab", status: "refunded", refund: { chainId: 1, token: "0x1", address: "0x2", amount: "1000000000000000000" } };
  const server = await serving(t, text(OPEN + event("transfer", refunded, "p-1") + COMPLETE));
  const [told] = await read(server, { transfers: [{ txId: "t", hash: "0xab" }] });
  assert.equal(told.data.refund.amount, 10n ** 18n);
  assert.equal(server.requests[0].path, "/v2/stream?transfers=t%3A0xab");
});

test("204 is the end", async (t) => {
  const server = await serving(t, text("HTTP/1.1 204 No Content\r\n\r\n"));
  assert.deepEqual(await read(server, { quotes: ["q"] }, { lastId: "complete" }), []);
  assert.equal(server.requests[0].headers["last-event-id"], "complete");
});

test("a refusal that passes is waited out, and another one thrown", async (t) => {
  const busy = await serving(t, refusal(503, "provider_unavailable", { retryable: true }), text(OPEN + event("head", HEAD, "p-1") + COMPLETE));
  assert.equal((await read(busy)).length, 1);
  const unknown = await serving(t, refusal(404, "not_found", { reason: "quote_invalid" }));
  await assert.rejects(read(unknown), (error) => error instanceof ApiError && error.status === 404);
  assert.equal(unknown.requests.length, 1);
  const plain = await serving(t, text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"));
  await assert.rejects(read(plain), TransportError);
  const moved = await serving(t, text("HTTP/1.1 302 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"));
  await assert.rejects(read(moved), TransportError);
});

test("a gateway that stays away is told in time", async (t) => {
  const server = await serving(t, reset);
  await assert.rejects(read(server, { heads: ["one"] }, { timeoutMs: 100 }), TransportError);
});

test("a caller ends a stream by its signal, and by leaving the loop", async (t) => {
  const server = await serving(t, (socket) => socket.write(OPEN + event("head", HEAD, "p-1")));
  const ends = new AbortController();
  const client = new Quoteway({ baseUrl: server.url });
  await assert.rejects(async () => {
    for await (const _ of client.stream({ heads: ["one"] }, { signal: ends.signal })) ends.abort(new Error("enough"));
  }, /enough/);
  for await (const _ of client.stream({ heads: ["one"] })) break;
  await assert.rejects(async () => {
    for await (const _ of client.stream({})) assert.fail();
  }, TypeError);
});

test("events are read wherever the bytes are cut", async (t) => {
  const bytes = Buffer.from(`${event("head", { ...HEAD, network: "é" }, "p-1")}event: head\r\ndata: {\r\ndata: }\r\n\r\n${COMPLETE}`);
  for (let at = 0; at < bytes.length; at += 7) {
    const server = await serving(t, (socket) => {
      socket.write(OPEN);
      socket.write(bytes.subarray(0, at), () => setTimeout(() => socket.end(bytes.subarray(at)), 1));
    });
    const found = await read(server);
    assert.deepEqual([found[0].data.network, found[1].data, found.length], ["é", {}, 2]);
  }
});
