import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "../support/http.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const EVENTS = Number(process.env["KEYSHELF_USAGE_EVENTS"] ?? 5_000)
const BATCH = 50
const CLIENTS = 8
/** One event in this many is sent again, in another batch of another client. */
const DUPLICATED = 10

interface Event {
  readonly id: string
  readonly value: number
}

const events: ReadonlyArray<Event> = Array.from({ length: EVENTS }, (_, index) => ({
  id: `event-${index}`,
  value: (index % 7) + 1,
}))
const repeated = events.filter((_, index) => index % DUPLICATED === 0)
const sent = [...events, ...repeated]
// Distributes neighbours over different batches, so that duplicates overlap in time.
const batches = Array.from(
  { length: Math.ceil(sent.length / BATCH) },
  (_, batch, count = Math.ceil(sent.length / BATCH)) => sent.filter((_, index) => index % count === batch),
)

describe("kill -9 during usage events", { timeout: 120_000 }, () => {
  it.live("after kill -9 and retries of batches without a response every event is counted exactly once", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const operator = randomCredential()
      const env = yield* settings(directory, operator)
      const service = yield* start(["serve"], env)
      yield* service.ready
      const setUp = async () => {
        const organizations = `${service.platform}/api/platform/organizations`
        const organization = await request("POST", organizations, { token: operator, body: { name: "Acme" } })
        const tokens = `${organizations}/${organization.body.id}/tokens`
        const minted = await request("POST", tokens, { token: operator, body: { name: "all" } })
        const token = String(minted.body.token)
        const create = async (path: string, body: object) => {
          const response = await request("POST", `${service.core}/api${path}`, { token, body })
          if (response.status !== 201) throw new Error(response.text)
        }
        await create("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
        for (const [slug, aggregationMethod] of [
          ["sum", "SUM"],
          ["count", "COUNT"],
        ]) {
          await create("/entitlements", { name: slug, slug, type: "NUMBER", aggregationMethod })
          await create("/licenses/pro/entitlements", { entitlementSlug: slug, value: -1 })
        }
        await create("/customers", { name: "Acme", slug: "acme" })
        const dates = { startLicenseDate: "2025-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
        await create("/instances", { name: "Prod", slug: "prod", customerSlug: "acme", licenseSlug: "pro", ...dates })
        return token
      }
      const token = yield* Effect.promise(setUp)
      const cloudEvent = ({ id, value }: Event) => ({
        specversion: "1.0",
        id,
        source: "/gateways/eu-1",
        subject: "prod",
        type: Number(id.slice(6)) % 2 === 0 ? "sum" : "count",
        data: { value },
      })
      const waiting = [...batches]
      const counts = { accepted: 0, duplicate: 0, completed: 0, cut: 0 }
      const failures: Array<string> = []
      let up = Promise.resolve()
      const deadline = Date.now() + 90_000
      const client = async () => {
        for (let batch = waiting.shift(); batch !== undefined && Date.now() < deadline;) {
          await up
          const response = await request("POST", `${service.core}/api/usage-events`, {
            token,
            body: batch.map(cloudEvent),
            headers: { "content-type": "application/cloudevents-batch+json" },
          }).catch(() => undefined)
          if (response === undefined) {
            // The connection was cut and the batch may have been counted, so it is retried.
            counts.cut += 1
            await new Promise((resolve) => setTimeout(resolve, 20))
            continue
          }
          if (response.status !== 200) failures.push(response.text)
          for (const { status } of response.body.results) {
            if (status === "accepted") counts.accepted += 1
            else if (status === "duplicate") counts.duplicate += 1
            else failures.push(response.text)
          }
          counts.completed += 1
          batch = waiting.shift()
        }
      }
      const clients = Array.from({ length: CLIENTS }, client)
      while (counts.completed < batches.length / 3) yield* Effect.sleep(1)
      let restarted = () => {}
      up = new Promise((resolve) => (restarted = resolve))
      service.process.kill("SIGKILL")
      yield* service.ended
      const unsentAtKill = waiting.length
      const again = yield* start(["serve"], env)
      yield* again.ready
      restarted()
      yield* Effect.promise(() => Promise.all(clients))
      assert.deepStrictEqual(failures, [])
      assert.isAbove(unsentAtKill, 0)
      assert.isAbove(counts.cut, 0)
      assert.strictEqual(counts.accepted + counts.duplicate, sent.length)

      const usage = (slug: string) =>
        Effect.map(
          Effect.promise(() =>
            request("GET", `${again.core}/api/instances/prod/entitlements/${slug}/usage`, { token }),
          ),
          ({ body }) => [body.usageValue.value, body.usageValue.event_count],
        )
      const even = events.filter((_, index) => index % 2 === 0)
      const odd = events.length - even.length
      const total = even.reduce((sum, { value }) => sum + value, 0)
      assert.deepStrictEqual(
        [yield* usage("sum"), yield* usage("count")],
        [
          [total, even.length],
          [odd, odd],
        ],
      )
    }),
  )
})
