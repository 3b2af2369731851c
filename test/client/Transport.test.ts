import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConnectionError, isProblem, ProblemError } from "../../clients/typescript/src/Errors.ts"
import { send } from "../../clients/typescript/src/Transport.ts"
import { scripted } from "./scripted.ts"

const now = { "retry-after": "0" }
const LIST = "GET /api/entitlements"
const CREATE = "POST /api/entitlements"
const token = "ksh_0123456789"

const failureOf = (promise: Promise<unknown>) =>
  Effect.promise(() =>
    promise.then(
      () => assert.fail("The request must fail"),
      (error: unknown) => error,
    ),
  )

describe("requests of the Promise client", () => {
  it.live("a read is retried after 503 and 429", () =>
    Effect.gen(function* () {
      const { calls, url } = yield* scripted([[503, now], [429, now], [200]])
      const page = yield* Effect.promise(() => send({ baseUrl: url, token }, LIST, {}))
      assert.deepStrictEqual(page, { items: [], hasMore: false, nextCursor: "" })
      assert.strictEqual(calls(), 3)
    }),
  )

  it.live("a POST is retried after 503 only with an idempotency key, and always after 429", () =>
    Effect.gen(function* () {
      const callsAfter = Effect.fnUntraced(function* (status: number, request: object) {
        const { calls, url } = yield* scripted([[status, now]])
        const error = yield* failureOf(send({ baseUrl: url, token }, CREATE, request))
        assert.isTrue(isProblem(error))
        return calls()
      })
      assert.strictEqual(yield* callsAfter(503, { body: {} }), 1)
      assert.strictEqual(yield* callsAfter(503, { body: {}, idempotencyKey: "job-1" }), 3)
      assert.strictEqual(yield* callsAfter(429, { body: {} }), 3)
    }),
  )

  it.live("nothing is retried after 404, 500 or a long Retry-After", () =>
    Effect.gen(function* () {
      for (const response of [[404], [500], [503, { "retry-after": "3600" }]] as const) {
        const { calls, url } = yield* scripted([response])
        const error = yield* failureOf(send({ baseUrl: url, token }, LIST, {}))
        assert.instanceOf(error, ProblemError)
        assert.strictEqual(error.code, `HTTP.${response[0]}`)
        assert.strictEqual(calls(), 1)
      }
    }),
  )

  it.live("a service that cannot be reached is a connection error, which does not contain the token", () =>
    Effect.gen(function* () {
      const error = yield* failureOf(send({ baseUrl: "http://127.0.0.1:1", token, retries: 0 }, LIST, {}))
      assert.instanceOf(error, ConnectionError)
      assert.include(String(error), "http://127.0.0.1:1 did not respond")
      assert.notInclude(`${String(error)} ${String((error as Error).cause)}`, token)
    }),
  )

  it.live("a call that takes too long is a connection error, and one that is canceled fails with the reason", () =>
    Effect.gen(function* () {
      const { url } = yield* scripted([["never"]])
      const timedOut = yield* failureOf(send({ baseUrl: url, token, retries: 0, timeoutMs: 20 }, LIST, {}))
      assert.instanceOf(timedOut, ConnectionError)
      const reason = new Error("The user left")
      const canceled = yield* failureOf(send({ baseUrl: url, token }, LIST, { signal: AbortSignal.abort(reason) }))
      assert.strictEqual(canceled, reason)
    }),
  )

  it.live("a path is encoded, a list of a query is repeated, and a path without its parameter is rejected", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* scripted([[200]])
      const target = "GET /api/customers/{customerSlug}"
      const request = { path: { customerSlug: "a/b" }, query: { type: ["A", "B"], since: new Date(0), q: undefined } }
      yield* Effect.promise(() => send({ baseUrl: `${url}/`, token }, target, request))
      assert.deepStrictEqual(requests(), ["/api/customers/a%2Fb?type=A&type=B&since=1970-01-01T00%3A00%3A00.000Z"])
      assert.instanceOf(yield* failureOf(send({ baseUrl: url, token }, target, {})), TypeError)
    }),
  )

  it.live("a page, an empty body or a status that the operation does not promise is no result", () =>
    Effect.gen(function* () {
      const html = { "content-type": "text/html" }
      const responses = [
        [200, html, "<html>Sign in</html>"],
        [200, {}, "<html>"],
        [200, {}, ""],
        [204, {}, ""],
        [206, {}, "{}"],
        [304, {}, ""],
      ] as const
      for (const response of responses) {
        const { calls, url } = yield* scripted([response])
        const error = yield* failureOf(send({ baseUrl: url, token }, LIST, {}))
        assert.instanceOf(error, ConnectionError, JSON.stringify(response))
        assert.strictEqual(calls(), 1)
      }
      const page = yield* scripted([[200, html, "<html>"]])
      assert.instanceOf(
        yield* failureOf(send({ baseUrl: page.url, token }, "DELETE /api/customers/c none", {})),
        ConnectionError,
      )
    }),
  )

  it.live("an operation that promises no body, a text, or either of two results returns what was sent", () =>
    Effect.gen(function* () {
      const bodyOf = Effect.fnUntraced(function* (
        target: string,
        ...response: [number, Record<string, string>, string]
      ) {
        const { url } = yield* scripted([response])
        return yield* Effect.promise(() => send({ baseUrl: url, token }, target, {}))
      })
      const either = "DELETE /api/customers/c application/json|none"
      assert.isUndefined(yield* bodyOf("DELETE /api/customers/c none", 204, {}, ""))
      assert.isUndefined(yield* bodyOf(either, 204, {}, ""))
      assert.deepStrictEqual(yield* bodyOf(either, 200, {}, '{"dryRun":true}'), { dryRun: true })
      const text = { "content-type": "text/plain; charset=utf-8" }
      assert.strictEqual(yield* bodyOf("GET /api/events/checkpoint text/plain", 200, text, "a\nb\n"), "a\nb\n")
    }),
  )

  it.live("a redirect is not followed, and is no problem of the service", () =>
    Effect.gen(function* () {
      const other = yield* scripted([[200]])
      const { calls, url } = yield* scripted([[307, { location: other.url }]])
      const error = yield* failureOf(send({ baseUrl: url, token }, LIST, {}))
      assert.isTrue(isProblem(error, "HTTP.307"))
      assert.isTrue((error as ProblemError).isAway)
      assert.deepStrictEqual([calls(), other.calls()], [1, 0])
    }),
  )
})
