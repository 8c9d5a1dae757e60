// The three verdicts of @enqueue through ioredis and node-redis, in RESP2 and RESP3:
//   node enqueue.mjs HOST PORT DIRECTORY_WITH_NODE_MODULES PATH_OF_enqueue.lua
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [host, port, modules, path] = process.argv.slice(2);
const require = createRequire(modules + "/");
const source = readFileSync(path, "utf8");
let n = 0;

async function verdicts(name, evalScript, call) {
  const queue = `emq:{${name}}:`, id = "JOB0JZGkPhnV4B";
  const keys = [`${queue}job:${id}`, `${queue}pending`];
  await call("DEL", ...keys);
  assert.equal(Number(await evalScript(keys, [id, "hello"])), 1);
  assert.equal(Number(await evalScript(keys, [id, "hello"])), 0);
  await assert.rejects(evalScript([`${queue}job:USR0KHTOWnGLuC`, keys[1]], ["USR0KHTOWnGLuC", "hello"]), /^\w*Error: EMQKIND job id must be JOB-namespaced/);
  let row = await call("HGETALL", keys[0]);
  if (Array.isArray(row)) row = Object.fromEntries(row.map((v, i) => [v, row[i + 1]]).filter((_, i) => i % 2 === 0));
  assert.deepEqual({ ...row }, { state: "pending", attempts: "0", payload: "hello" });
  assert.deepEqual(await call("ZRANGE", keys[1], "0", "-1"), [id]);
  console.log(`ok ${++n} ${name}`);
}

const Redis = require("ioredis");
const io = new Redis({ host, port: Number(port) });
io.defineCommand("enqueue", { lua: source, numberOfKeys: 2 }); // EVALSHA first, EVAL on NOSCRIPT
await verdicts("ioredis-resp2", (k, a) => io.enqueue(...k, ...a), (...a) => io.call(...a));
io.disconnect();

const { createClient } = require("redis");
for (const RESP of [2, 3]) {
  const c = createClient({ socket: { host, port: Number(port) }, RESP });
  await c.connect();
  const sha = await c.scriptLoad(source);
  await verdicts(`node-redis-resp${RESP}`, (keys, args) => c.evalSha(sha, { keys, arguments: args }), (...a) => c.sendCommand(a));
  c.destroy();
}
console.log(`${n} passed, 0 failed`);
