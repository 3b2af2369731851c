/** Calls of the client of a product: retries, times, policies, seats and flags. */
import { assert, describe, it } from "@effect/vitest"
import {
  ConnectionError,
  createProductClient,
  isProblem,
  isServiceAway,
} from "../../../clients/typescript/src/product/index.ts"
import type { ProductClientOptions, Renewed } from "../../../clients/typescript/src/product/index.ts"
import { failureOf, withServer } from "./answering.ts"
import type { Reply } from "./answering.ts"

const TOKEN = "ksh_0123456789"

const clientAt = (baseUrl: string, options: Partial<ProductClientOptions> = {}) =>
  createProductClient({ baseUrl, token: TOKEN, mode: "remote", retries: 2, ...options })

const allowedReply = (allowed: boolean): Reply => ({
  status: 200,
  body: JSON.stringify({
    instance: "globex-prod",
    license: "pro",
    at: "2026-11-25T08:50:23.476Z",
    graceEndsAt: null,
    checks: [{ entitlement: "exports", allowed, reason: allowed ? "GRANTED" : "LIMIT_REACHED", limit: 10 }],
  }),
})

const inTurn =
  (...replies: ReadonlyArray<Reply>) =>
  (_: unknown, number: number): Reply =>
    replies[Math.min(number, replies.length - 1)] ?? "lost"

const lease = (id: string): Reply => ({
  status: 201,
  body: JSON.stringify({ id, holder: "anna", expiresAt: "2026-11-25T08:50:23.476Z" }),
})

const problem = (status: number, code: string): Reply => ({ status, body: JSON.stringify({ code, detail: "d" }) })

const flagsReply = (value: unknown): Reply => ({
  status: 200,
  headers: { etag: '"1"' },
  body: JSON.stringify({ flags: [{ key: "new-search", value, reason: "STATIC" }] }),
})

describe("calls of the client of a product", () => {
  it.live("a consumption is repeated with its key when the response is lost", () =>
    withServer(
      inTurn("lost", problem(409, "IdempotencyKey.InFlight"), allowedReply(true)),
      async ({ requests, url }) => {
        const answer = await clientAt(url).consume("globex-prod", "exports", { requested: 3, idempotencyKey: "job-1" })
        assert.deepStrictEqual([answer.allowed, answer.limit, answer.source], [true, "10", "service"])
        assert.deepStrictEqual(
          requests.map(({ headers }) => headers["idempotency-key"]),
          ["job-1", "job-1", "job-1"],
        )
      },
    ),
  )

  it.live("a consumption without a key, an empty slug and a wrong amount are errors of the program", () =>
    withServer(inTurn(allowedReply(true)), async ({ requests, url }) => {
      const client = clientAt(url)
      const without = { requested: 1 } as unknown as { readonly idempotencyKey: string }
      assert.instanceOf(await failureOf(client.consume("globex-prod", "exports", without)), TypeError)
      assert.instanceOf(await failureOf(client.check("", "exports")), TypeError)
      assert.instanceOf(await failureOf(client.check("globex-prod", "exports", { requested: "1e3" })), RangeError)
      assert.lengthOf(requests, 0)
    }),
  )

  it.live("a report has one transaction, whatever is lost", () =>
    withServer(inTurn("lost", { status: 200, body: '{"usageValue":{"value":0.1}}' }), async ({ requests, url }) => {
      const usage = await clientAt(url).report("globex-prod", "rows", "0.123456789012345678")
      assert.deepStrictEqual(usage, { usageValue: { value: "0.1" } })
      const [first, second] = requests.map(({ body }) => body)
      assert.strictEqual(first, second)
      assert.include(first ?? "", '"value":0.123456789012345678,')
    }),
  )

  it.live("no redirect is followed, and the token is in no error", () =>
    withServer(inTurn({ status: 302, headers: { location: "/other" } }), async ({ requests, url }) => {
      const error = await failureOf(clientAt(url).check("globex-prod", "sso"))
      assert.isTrue(isProblem(error, "HTTP.302"))
      assert.lengthOf(requests, 1)
      const stopped = await failureOf(clientAt("http://127.0.0.1:1", { retries: 0 }).check("globex-prod", "sso"))
      assert.instanceOf(stopped, ConnectionError)
      assert.notInclude(`${String(stopped)} ${String(stopped.cause)}`, TOKEN)
    }),
  )

  it.live("a call ends by its deadline, and an attempt by its timeout", () =>
    withServer(inTurn("never"), async ({ requests, url }) => {
      // The server never responds, so each of these calls would end only with its other limit.
      const brief = clientAt(url, { timeoutMs: 600_000, deadlineMs: 100, retries: 100 })
      assert.isTrue(isServiceAway(await failureOf(brief.check("globex-prod", "sso"))))
      assert.isBelow(requests.length, 2)
      const twice = clientAt(url, { timeoutMs: 500, deadlineMs: 600_000, retries: 1 })
      assert.isTrue(isServiceAway(await failureOf(twice.check("globex-prod", "sso"))))
      assert.isAbove(requests.length, 1)
      const reason = new Error("The user left")
      const canceled = clientAt(url).check("globex-prod", "sso", {
        signal: AbortSignal.abort(reason),
        whenAway: "open",
      })
      assert.strictEqual(await failureOf(canceled), reason)
    }),
  )

  it.live("the caller decides what answers while the service is away; a rejection is not away", () =>
    withServer(
      inTurn(allowedReply(true), { status: 503 }, { status: 200, body: "<html>" }, problem(404, "Instance.NotFound")),
      async ({ url }) => {
        const client = clientAt(url, { retries: 0 })
        const ask = (whenAway: Parameters<typeof client.check>[2]) =>
          client.check("globex-prod", "exports", { requested: 1, ...whenAway })
        assert.strictEqual((await ask({})).source, "service")
        const closed = await ask({ whenAway: "closed" })
        assert.deepStrictEqual([closed.allowed, closed.source, closed.reason], [false, "policy", "SERVICE_AWAY"])
        // The sign-in page of a network is no answer.
        const open = await ask({ whenAway: "open" })
        assert.deepStrictEqual([open.allowed, open.source, open.ageMs], [true, "policy", null])
        assert.isTrue(isProblem(await failureOf(ask({ whenAway: "open" })), "Instance.NotFound"))
      },
    ),
  )

  it.live("each renewal of a seat has a key of its own, and a lost release is a release", () =>
    withServer(
      inTurn(lease("1"), "lost", lease("1"), { status: 204 }, problem(404, "Lease.NotFound")),
      async ({ requests, url }) => {
        const seat = await clientAt(url).acquireSeat("globex-prod", "editors", { holder: "anna", ttlSeconds: 60 })
        await seat.renew()
        assert.isTrue(seat.isHeld)
        assert.isAtMost(seat.remainingMs, 60_000)
        await seat.release()
        await seat.release()
        assert.isFalse(seat.isHeld)
        assert.instanceOf(await failureOf(seat.renew()), TypeError)
        const keys = requests.map(({ headers }) => headers["idempotency-key"])
        assert.strictEqual(keys[1], keys[2])
        assert.notStrictEqual(keys[0], keys[1])
        assert.deepStrictEqual([requests[3]?.method, requests.length], ["DELETE", 4])
      },
    ),
  )

  it.live("a seat that is kept is renewed until others took it", () =>
    withServer(
      inTurn(lease("1"), lease("1"), { status: 503 }, problem(409, "AcquireLease.LimitReached"), { status: 204 }),
      async ({ requests, url }) => {
        const client = clientAt(url, { retries: 0 })
        const seat = await client.acquireSeat("globex-prod", "editors", { holder: "anna", ttlSeconds: 0.06 })
        const outcomes: Array<Renewed> = []
        await new Promise<void>((done) => {
          seat.keep((outcome) => {
            outcomes.push(outcome)
            if (!outcome.renewed && isProblem(outcome.error, "AcquireLease.LimitReached")) done()
          })
        })
        await seat.release()
        assert.deepStrictEqual(
          outcomes.map(({ renewed }) => renewed),
          [true, false, false],
        )
        assert.strictEqual(requests.at(-1)?.method, "DELETE")
      },
    ),
  )

  it.live(
    "flags that have not changed are not sent again, and have the defaults of the code while the service is away",
    () =>
      withServer(inTurn(flagsReply(true), { status: 304 }, { status: 503 }), async ({ requests, url }) => {
        const client = clientAt(url, { retries: 0 })
        const context = { targetingKey: "globex-prod", plan: "pro" }
        const first = await client.flags(context)
        assert.isTrue(first.boolean("new-search", false))
        assert.strictEqual(first.string("new-search", "default"), "default")
        assert.strictEqual(first.number("missing", 7), 7)
        const second = await client.flags({ plan: "pro", targetingKey: "globex-prod" })
        assert.isTrue(second.boolean("new-search", false))
        assert.strictEqual(requests[1]?.headers["if-none-match"], '"1"')
        assert.isTrue(isServiceAway(await failureOf(client.flags(context))))
        const unknown = await client.flags(context, { whenAway: "closed" })
        assert.deepStrictEqual(
          [unknown.source, unknown.ageMs, unknown.boolean("new-search", false)],
          ["policy", null, false],
        )
      }),
  )
})
