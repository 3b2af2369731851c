/** The client of a product in TypeScript agrees with all vectors. Those of bundles and ledgers run in `test/offline`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isServiceAway, ProblemError } from "../../../clients/typescript/src/Errors.ts"
import { delayBeforeRetry, isAway } from "../../../clients/typescript/src/Retry.ts"
import type { Attempt } from "../../../clients/typescript/src/Retry.ts"
import type { Answer } from "../../../clients/typescript/src/product/Away.ts"
import { FlushFailed } from "../../../clients/typescript/src/product/UsageErrors.ts"
import type { BufferedReport } from "../../../clients/typescript/src/product/UsageBuffer.ts"
import { createProductClient } from "../../../clients/typescript/src/product/index.ts"
import { verifyWebhook, WebhookRejected } from "../../../clients/typescript/src/product/Webhooks.ts"
import { readVectors } from "../programs.ts"
import { withServer } from "./answering.ts"

const clientOf = (baseUrl: string) =>
  createProductClient({ baseUrl, token: "ksh_0123456789", mode: "remote", retries: 0 })

const AMOUNTS = ["limit", "usage", "remaining", "overage"] as const

const answerOf = (answer: Answer) => ({
  entitlement: answer.entitlement,
  allowed: answer.allowed,
  reason: answer.reason,
  ...Object.fromEntries(AMOUNTS.map((name) => [name, answer[name]])),
  ...(answer.credits === undefined ? {} : { credits: answer.credits }),
  currentPeriodStart: answer.currentPeriodStart,
  currentPeriodEnd: answer.currentPeriodEnd,
})

// eslint-disable-next-line typescript/no-unnecessary-type-parameters -- as readVectors
const casesOf = <A>(name: string) =>
  readVectors<{ readonly cases: ReadonlyArray<{ readonly id: string } & A> }>(name).cases

interface RetryCase extends Omit<Attempt, "now"> {
  readonly now?: number
  readonly expected: { readonly retry: boolean; readonly delayMs: number; readonly isAway: boolean }
}

interface ProblemCase {
  readonly path?: string
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly expected: unknown
}

interface SignatureCase {
  readonly secret: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly now: number
  readonly expected: string
}

interface CheckCase {
  readonly instance: string
  readonly checks: ReadonlyArray<{ readonly entitlement: string; readonly requested?: string }>
  readonly consume: boolean
  readonly at: string | null
  readonly request: { readonly method: string; readonly path: string; readonly body: unknown }
  readonly response: string
  readonly expected: unknown
}

interface Reports {
  readonly source: string
  readonly reports: ReadonlyArray<{
    readonly id: string
    readonly report: {
      readonly instance: string
      readonly entitlement: string
      readonly value: string
    } & BufferedReport
    readonly expected: unknown
  }>
  readonly flushes: ReadonlyArray<{
    readonly id: string
    readonly sent: ReadonlyArray<string>
    readonly status: number
    readonly response: string
    readonly expected: { readonly left: ReadonlyArray<string> } & Readonly<Record<string, unknown>>
  }>
}

describe("the vectors, in TypeScript", () => {
  it("retries", () => {
    for (const { expected, id, now = 0, ...attempt } of casesOf<RetryCase>("retries")) {
      const delay = delayBeforeRetry({ ...attempt, now: now * 1000 })
      assert.strictEqual(delay !== undefined, expected.retry, id)
      if (delay !== undefined) assert.closeTo(delay, expected.delayMs, 1e-6, id)
      assert.strictEqual(isAway(attempt.status, attempt.code), expected.isAway, id)
    }
  })

  it.live("problems, as a response has them", () =>
    Effect.forEach(casesOf<ProblemCase>("problems"), ({ body, contentType, expected, id, path, status }) =>
      withServer(
        () => ({ status, body, headers: { "content-type": contentType } }),
        async ({ url }) => {
          const client = clientOf(url)
          const call = path === undefined ? client.check("globex-prod", "sso") : client.flags({})
          const error = await call.catch((error: unknown) => error)
          assert.instanceOf(error, ProblemError, id)
          const { code, detail, errorId, errors, status } = error
          const withValues = errors.map(({ location, message, value = null }) => ({ location, message, value }))
          assert.deepStrictEqual({ code, status, detail, errorId, errors: withValues }, expected, id)
        },
      ),
    ),
  )

  it("signatures of webhooks", async () => {
    for (const { body, expected, headers, id, now, secret } of casesOf<SignatureCase>("signatures")) {
      const outcome = await verifyWebhook(secret, headers, new TextEncoder().encode(body), now * 1000).then(
        (event) => {
          assert.deepStrictEqual(event, JSON.parse(body), id)
          return "VALID"
        },
        (error: unknown) => (error instanceof WebhookRejected ? error.reason : error),
      )
      assert.strictEqual(outcome, expected, id)
    }
  })

  it.live("checks", () =>
    Effect.forEach(casesOf<CheckCase>("checks"), ({ at, checks, consume, expected, id, instance, request, response }) =>
      withServer(
        () => ({ status: 200, body: response }),
        async ({ requests, url }) => {
          const items = checks.map(({ entitlement, requested }) =>
            requested === undefined ? entitlement : { entitlement, requested },
          )
          const result = await (consume
            ? clientOf(url).consumeAll(instance, items, { idempotencyKey: "key" })
            : clientOf(url).checkAll(instance, items, at === null ? {} : { at }))
          const [sent] = requests
          assert.deepStrictEqual(
            { method: sent?.method, path: sent?.path },
            { method: request.method, path: request.path },
          )
          assert.deepStrictEqual(JSON.parse(sent?.body ?? ""), request.body, id)
          assert.strictEqual(sent?.headers["idempotency-key"], consume ? "key" : undefined, id)
          const { allowed, checks: answers, graceEndsAt, license } = result
          assert.deepStrictEqual(
            { instance: result.instance, license, at: result.at, graceEndsAt, allowed, checks: answers.map(answerOf) },
            expected,
            id,
          )
        },
      ),
    ),
  )

  it.live("reports", () => {
    const { reports, source } = readVectors<Reports>("reports")
    return withServer(
      () => ({ status: 200, body: '{"results":[{"id":"r","status":"accepted"}]}' }),
      async ({ requests, url }) => {
        for (const { expected, id, report } of reports) {
          const { entitlement, instance, value, ...options } = report
          const buffer = await clientOf(url).usageBuffer({ source })
          const taken = await buffer.report(instance, entitlement, value, options).catch((error: unknown) => error)
          if (expected === "INVALID") {
            assert.instanceOf(taken, RangeError, id)
            assert.strictEqual(buffer.size, 0, id)
          } else {
            await buffer.flush()
            assert.deepStrictEqual(JSON.parse(requests.at(-1)?.body ?? ""), [expected], id)
          }
        }
      },
    )
  })

  it.live("flushes", () =>
    Effect.forEach(readVectors<Reports>("reports").flushes, ({ expected, id, response, sent, status }) =>
      withServer(
        (request) =>
          // What is left is shown by the next request.
          request.headers["x-next"] === undefined ? { status, body: response } : { status: 503 },
        async ({ requests, url }) => {
          const headers = new Map<string, string>()
          const buffer = await createProductClient({
            baseUrl: url,
            token: "ksh_0123456789",
            mode: "remote",
            retries: 0,
            fetch: (input, init) =>
              fetch(input, { ...init, headers: { ...(init?.headers as object), ...Object.fromEntries(headers) } }),
          }).usageBuffer()
          for (const one of sent) await buffer.report("globex-prod", "api-calls", 1, { id: one })
          const outcome = await buffer.flush().catch((error: unknown) => error)
          const result = outcome instanceof FlushFailed ? outcome.result : (outcome as FlushFailed["result"])
          headers.set("x-next", "yes")
          const before = requests.length
          await buffer.flush().catch((error: unknown) => assert.isTrue(isServiceAway(error)))
          const next = requests[before]?.body ?? "[]"
          assert.deepStrictEqual(
            {
              accepted: result.accepted,
              duplicates: result.duplicates,
              rejected: result.rejected.map(({ code, event }) => ({ id: event.id, code })),
              left: JSON.parse(next).map((event: { readonly id: string }) => event.id),
              failed: outcome instanceof FlushFailed,
            },
            expected,
            id,
          )
          assert.strictEqual(buffer.size, expected.left.length, id)
        },
      ),
    ),
  )
})
