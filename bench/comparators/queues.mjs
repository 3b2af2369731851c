/**
 * Delivers webhooks by a job queue, 64 at a time, with the same signed POST and history row as Keyshelf. Prints `ready`. For each
 * line on standard input, a number, it stores that many jobs, then works until all outcomes are stored. Then it prints
 * `done <number of lines> at <milliseconds since 1970>`. Usage: node queues.mjs pg-boss|graphile-worker
 */
import { createHmac, randomUUID } from "node:crypto"
import { Logger, makeWorkerUtils, run } from "graphile-worker"
import http from "node:http"
import { createInterface } from "node:readline"
import { Pool } from "pg"
import { PgBoss } from "pg-boss"

const { BENCH_DATABASE_URL: url, BENCH_ENDPOINTS: endpoints, BENCH_RECEIVER: receiver } = process.env
const CONCURRENCY = 64
const secret = Buffer.alloc(32, 5)
const pool = new Pool({ connectionString: url, max: 8 })
const agent = new http.Agent({ keepAlive: true, maxSockets: CONCURRENCY })

await pool.query(`CREATE TABLE IF NOT EXISTS bench_attempts (id uuid PRIMARY KEY, at timestamptz NOT NULL, event_id uuid NOT NULL,
  endpoint text NOT NULL, state text NOT NULL, status smallint, response_body text, duration_ms integer NOT NULL)`)

const post = (path, headers, body) =>
  new Promise((resolve, reject) => {
    const request = http.request(receiver + path, { method: "POST", agent, headers, timeout: 30_000 }, (response) => {
      const chunks = []
      response.on("data", (chunk) => chunks.push(chunk))
      response.on("end", () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString("utf8") }))
    })
    request.on("error", reject)
    request.end(body)
  })

let left = 0
let allDone = () => {}

const deliver = async ({ endpoint, event }) => {
  const body = JSON.stringify(event)
  const at = new Date()
  const seconds = Math.floor(at.getTime() / 1000)
  const signature = createHmac("sha256", secret).update(`${event.id}.${seconds}.${body}`).digest("base64")
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "webhook-id": event.id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${signature}`,
  }
  const { status, text } = await post(`/${endpoint}`, headers, body)
  await pool.query({
    name: "attempt",
    text: "INSERT INTO bench_attempts VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    values: [
      randomUUID(),
      at,
      event.id,
      String(endpoint),
      status < 300 ? "Success" : "Failure",
      status,
      text,
      Date.now() - at.getTime(),
    ],
  })
  if (--left === 0) allDone()
  return status < 300
}

const payloads = (count) =>
  Array.from({ length: count }, (_, n) => ({
    endpoint: n % Number(endpoints),
    event: {
      id: randomUUID(),
      type: "CUSTOMER_CREATION",
      timestamp: new Date().toISOString(),
      organizationId: randomUUID(),
      actor: { id: randomUUID(), name: "bench" },
      data: { id: randomUUID(), name: `Customer ${n}`, slug: `customer-${n}` },
    },
  }))

const pgBoss = async () => {
  const boss = new PgBoss({ connectionString: url, schema: "bench_pgboss", max: 8 })
  await boss.start()
  const queue = `deliveries-${process.pid}`
  await boss.createQueue(queue)
  return {
    store: (jobs) =>
      boss.insert(
        queue,
        jobs.map((data) => ({ data })),
      ),
    work: async () => {
      // Workers share the concurrency. Each delivery has a separate outcome, so that a failed one is retried alone.
      const options = {
        batchSize: 1000,
        localConcurrency: 4,
        pollingIntervalSeconds: 0.5,
        burstWhenBatchFull: true,
        perJobResults: true,
      }
      await boss.work(queue, options, async (batch) => {
        const waiting = batch.values()
        const results = []
        const work = async () => {
          for (const { data, id } of waiting)
            results.push({ id, status: (await deliver(data)) ? "completed" : "failed" })
        }
        await Promise.all(Array.from({ length: CONCURRENCY / options.localConcurrency }, work))
        return results
      })
      return () => boss.offWork(queue)
    },
  }
}

const graphileWorker = async () => {
  const utils = await makeWorkerUtils({ connectionString: url, schema: "bench_graphile" })
  await utils.migrate()
  return {
    store: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: "deliver", payload }))),
    work: async () => {
      const runner = await run({
        connectionString: url,
        schema: "bench_graphile",
        concurrency: CONCURRENCY,
        maxPoolSize: 16,
        noHandleSignals: true,
        logger: new Logger(() => () => {}),
        preset: { worker: { localQueue: { size: 200 } } },
        taskList: { deliver },
      })
      return () => runner.stop()
    },
  }
}

const { store, work } = await (process.argv[2] === "pg-boss" ? pgBoss() : graphileWorker())
process.once("SIGTERM", () => process.exit(0))
console.log("ready")

let lines = 0
for await (const line of createInterface({ input: process.stdin })) {
  const jobs = payloads(Number(line))
  for (let from = 0; from < jobs.length; from += 1000) await store(jobs.slice(from, from + 1000))
  left = jobs.length
  const done = new Promise((resolve) => (allDone = resolve))
  const stop = await work()
  await done
  // A stopped queue has stored all outcomes.
  await stop()
  console.log(`done ${++lines} at ${Date.now()}`)
}
