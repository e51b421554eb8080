// Runs named flows one after the other and writes {"flow": "passed" | error} as JSON.
// Arguments: the gateway's URL, the node's URL, WETH9, a funded private key.

export const [gateway, node, weth, key] = process.argv.slice(2);

// What a client leaves unhandled must be seen, not end the process.
const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(String(reason?.stack ?? reason)));

export async function run(flows) {
  const outcomes = {};
  for (const [name, flow] of Object.entries(flows)) {
    try {
      await withDeadline(flow());
      outcomes[name] = "passed";
    } catch (error) {
      outcomes[name] = String(error?.stack ?? error);
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  outcomes["nothing unhandled"] = unhandled.length ? unhandled.join("\n") : "passed";
  process.stdout.write(JSON.stringify(outcomes), () => process.exit(0));
}

async function withDeadline(promise, seconds = 60) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export async function until(condition, seconds = 50) {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("the condition was not met in time");
}

export async function rpc(url, method, params = []) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = await response.json();
  if (answer.error) throw new Error(JSON.stringify(answer.error));
  return answer.result;
}
