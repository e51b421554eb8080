// What the client makes of a server that misbehaves, over real sockets.
import assert from "node:assert/strict";
import test from "node:test";
import { ApiError, DeadlineExceeded, Quoteway, TransportError } from "@quoteway/client";
import { ok, refusal, reset, serving, silent, text } from "./raw_server.js";

const PAGE = { data: [], nextCursor: null };
const read = (server, settings, options) => new Quoteway({ baseUrl: server.url, ...settings }).call("listPools", {}, options);
const html = (status) => text(`HTTP/1.1 ${status} X\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<h1>Sorry</h1>\n`);

test("each code has its class, with all that the gateway says", async (t) => {
  const classes = {
    invalid_request: [400, "InvalidRequest"],
    validation_error: [422, "ValidationError"],
    unauthorized: [401, "Unauthorized"],
    not_found: [404, "NotFound"],
    rate_limit_exceeded: [429, "RateLimited"],
    provider_unavailable: [503, "ProviderUnavailable"],
    upstream_error: [502, "UpstreamError"],
    code_of_a_newer_gateway: [418, "ApiError"],
    constructor: [418, "ApiError"],
  };
  for (const [code, [status, name]] of Object.entries(classes)) {
    const server = await serving(t, refusal(status, code, { reason: "some_reason", retryable: false, limit: "12" }));
    const error = await read(server).catch((each) => each);
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.name, error.status, error.code, error.reason, error.requestId, error.message], [name, status, code, "some_reason", "r-1", "What went wrong."]);
    assert.equal(error.details.limit, 12n);
    assert.equal(server.requests.length, 1);
  }
});

test("what may pass is asked again", async (t) => {
  const passing = {
    "a reset": reset,
    "an answer cut off": text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"),
    "half of the JSON": text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"data\":[{"),
    "HTML of a proxy, 502": html(502),
    "HTML of a proxy, 503": html(503),
    "HTML of a proxy, 504": html(504),
    "a retryable 502": refusal(502, "upstream_error", { retryable: true }),
    "a retryable 503": refusal(503, "provider_unavailable", { retryable: true }),
    "429 without a time": refusal(429, "rate_limit_exceeded"),
  };
  await Promise.all(
    Object.entries(passing).map(async ([name, answer]) => {
      const server = await serving(t, answer, ok(PAGE));
      assert.deepEqual(await read(server), PAGE, name);
      assert.equal(server.requests.length, 2, name);
    }),
  );
});

test("what will not pass is not", async (t) => {
  const lasting = {
    "a 502 that says so": refusal(502, "upstream_error", { reason: "no_route", retryable: false }),
    "a 502 that says nothing": refusal(502, "upstream_error"),
    "a limit that the request is above": refusal(429, "rate_limit_exceeded", { retryable: false }, "Retry-After: 1\r\n"),
    "HTML, 404": html(404),
    "JSON that is no error, 500": text('HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\n{}'),
    "JSON that is no object": text('HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n12'),
  };
  for (const [name, answer] of Object.entries(lasting)) {
    const server = await serving(t, answer);
    await assert.rejects(read(server), (error) => error instanceof ApiError || error instanceof TransportError, name);
    assert.equal(server.requests.length, 1, name);
  }
});

test("Retry-After is waited for, in seconds and as a date", async (t) => {
  const date = new Date(Date.now() + 3_000).toUTCString(); // whole seconds: at least 2
  await Promise.all(
    ["1", date].map(async (value) => {
      const server = await serving(t, refusal(429, "rate_limit_exceeded", undefined, `Retry-After: ${value}\r\n`), ok(PAGE));
      const began = Date.now();
      await read(server);
      const awaited = value === "1" ? began + 1_000 : Date.parse(date);
      assert.ok(Date.now() >= awaited - 5, `${value}: asked again too early`);
    }),
  );
});

test("a wait that the deadline does not allow is not begun", async (t) => {
  const server = await serving(t, refusal(429, "rate_limit_exceeded", undefined, "Retry-After: 86400\r\n"));
  const began = performance.now();
  await assert.rejects(read(server), { name: "RateLimited", retryAfterMs: 86_400_000 });
  assert.ok(performance.now() - began < 10_000);
  assert.equal(server.requests.length, 1);
});

test("the deadline is for the whole call", async (t) => {
  const slow = await serving(t, silent);
  await assert.rejects(read(slow, { timeoutMs: 200 }), DeadlineExceeded);
  const drip = await serving(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n");
    const timer = setInterval(() => socket.write(" "), 20);
    socket.on("close", () => clearInterval(timer));
  });
  await assert.rejects(read(drip, {}, { timeoutMs: 300 }), DeadlineExceeded);
  const failing = await serving(t, reset);
  const began = performance.now();
  await assert.rejects(read(failing, { timeoutMs: 700, retries: 1_000 }), TransportError);
  assert.ok(performance.now() - began < 5_000);
  assert.ok(failing.requests.length >= 2);
});

test("retries end, with pauses that grow", async (t) => {
  const server = await serving(t, reset);
  await assert.rejects(read(server, { retries: 2 }), { name: "TransportError", status: null });
  const [first, second, third, ...more] = server.requests.map((each) => each.at);
  assert.deepEqual(more, []);
  assert.ok(second - first >= 120, `${second - first} ms`);
  assert.ok(third - second >= 245, `${third - second} ms`);
});

test("a signal ends a call, a pause and a list", async (t) => {
  const reason = new Error("the user left");
  const during = new AbortController();
  const server = await serving(t, () => during.abort(reason));
  await assert.rejects(read(server, {}, { signal: during.signal }), reason);
  await assert.rejects(read(server, {}, { signal: during.signal }), reason);
  assert.equal(server.requests.length, 1);

  const waiting = new AbortController();
  const limited = await serving(t, (socket, request) => {
    refusal(429, "rate_limit_exceeded", undefined, "Retry-After: 30\r\n")(socket, request);
    setTimeout(() => waiting.abort(reason), 100);
  });
  await assert.rejects(read(limited, {}, { signal: waiting.signal }), reason);

  const listing = new AbortController();
  const pages = await serving(t, ok({ data: [1, 2], nextCursor: "a" }));
  const rows = new Quoteway({ baseUrl: pages.url }).pools.list({}, { signal: listing.signal });
  await assert.rejects(async () => {
    for await (const row of rows) if (row === 2) listing.abort(reason);
  }, reason);
});

test("a redirect is never followed, and the key stays", async (t) => {
  const other = await serving(t, ok(PAGE));
  for (const status of [301, 302, 303, 307, 308]) {
    const server = await serving(t, text(`HTTP/1.1 ${status} X\r\nLocation: ${other.url}/v2/pools\r\nContent-Length: 0\r\n\r\n`));
    await assert.rejects(read(server, { apiKey: "secret" }), { name: "TransportError", message: /redirects/ });
    assert.equal(server.requests[0].headers.authorization, "bearer secret");
    assert.equal(server.requests.length, 1);
  }
  assert.equal(other.requests.length, 0);
});

test("errors do not show the key", async (t) => {
  const server = await serving(t, reset);
  const error = await read(server, { apiKey: "very-secret", retries: 0 }).catch((each) => each);
  assert.ok(error instanceof TransportError);
  for (let each = error; each; each = each.cause) assert.ok(!`${each.stack}${JSON.stringify(each)}`.includes("very-secret"));
});

test("a signed transaction is handed over once", async (t) => {
  const input = { path: { txId: "t" }, body: { signedPayload: "0x02" } };
  for (const answer of [reset, html(502), refusal(502, "upstream_error", { retryable: true })]) {
    const server = await serving(t, answer);
    await assert.rejects(new Quoteway({ baseUrl: server.url }).call("submitTransaction", input));
    assert.equal(server.requests.length, 1);
  }
});

test("an answer without an end is not kept", async (t) => {
  const chunk = Buffer.alloc(2 ** 20, 32);
  const server = await serving(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    const more = () => {
      while (!socket.destroyed && socket.write(chunk));
      socket.once("drain", more);
    };
    more();
  });
  await assert.rejects(read(server), { name: "TransportError", message: /more than \d+ bytes/ });
});

test("a list gives the rows of all pages, and ends", async (t) => {
  const server = await serving(t, ok({ data: [1, 2], nextCursor: "a&b" }), ok({ data: [], nextCursor: "c" }), ok({ data: [3], nextCursor: null }));
  const qw = new Quoteway({ baseUrl: `${server.url}/` });
  const rows = [];
  for await (const row of qw.pools.list({ network: "devnet", limit: 2 })) rows.push(row);
  assert.deepEqual(rows, [1, 2, 3]);
  assert.deepEqual(server.requests.map((each) => each.path), ["/v2/pools?network=devnet&limit=2", "/v2/pools?network=devnet&limit=2&cursor=a%26b", "/v2/pools?network=devnet&limit=2&cursor=c"]);
  const turning = await serving(t, ok({ data: [1], nextCursor: "a" }));
  await assert.rejects(drained(new Quoteway({ baseUrl: turning.url }).pools.list()), /a cursor came twice/);
});

async function drained(rows) {
  for await (const _ of rows);
}

test("wrong settings and paths are refused before anything is sent", async (t) => {
  for (const baseUrl of ["", "quoteway", "ftp://a.example", "http://user:pass@a.example", "http://a.example?x=1", "http://a.example/#x"]) {
    assert.throws(() => new Quoteway({ baseUrl }), TypeError, baseUrl);
  }
  assert.throws(() => new Quoteway({ baseUrl: "http://a.example", timeoutMs: 0 }), RangeError);
  assert.throws(() => new Quoteway({ baseUrl: "http://a.example", retries: -1 }), RangeError);
  const server = await serving(t, ok({}));
  const qw = new Quoteway({ baseUrl: server.url });
  for (const id of ["", ".", "..", undefined, 5]) await assert.rejects(qw.pools.get(id), TypeError);
  assert.equal(server.requests.length, 0);
  await qw.pools.get("1:0x/../../x?y#z");
  assert.equal(server.requests[0].path, "/v2/pools/1%3A0x%2F..%2F..%2Fx%3Fy%23z");
});
