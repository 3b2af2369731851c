/** Responses that are no results: what they mean for the buffer and for a check, by the vectors of all clients. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  ConnectionError,
  createProductClient,
  FlushFailed,
  ProblemError,
} from "../../../clients/typescript/src/product/index.ts"
import { readVectors } from "../programs.ts"
import { failureOf, withServer } from "./answering.ts"

const clientOf = (baseUrl: string) =>
  createProductClient({ baseUrl, token: "ksh_0123456789", mode: "remote", retries: 0 })

interface AnswerCase {
  readonly id: string
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
  readonly cut?: boolean
  readonly expected: {
    readonly code: string | null
    readonly isAway: boolean
    readonly flush: "kept" | "rejected"
    readonly requests: number
  }
}

describe("responses that are no results, in TypeScript", () => {
  it.live("keep the reports, and say nothing about a check, unless they are problems of the service", () =>
    Effect.forEach(
      readVectors<{ readonly cases: ReadonlyArray<AnswerCase> }>("answers").cases,
      ({ body, cut = false, expected, headers, id, status }) =>
        withServer(
          () => ({ status, body, cut, headers: { "content-type": "", ...headers } }),
          async ({ requests, url }) => {
            const client = clientOf(url)
            const buffer = await client.usageBuffer()
            for (const event of ["a", "b", "c", "d"]) await buffer.report("globex-prod", "api-calls", 1, { id: event })
            const outcome = await buffer.flush().catch((error: unknown) => error)
            assert.strictEqual(requests.length, expected.requests, id)
            if (expected.flush === "rejected") {
              assert.strictEqual(buffer.size, 0, id)
              const { rejected } = outcome as FlushFailed["result"]
              assert.deepStrictEqual(
                rejected.map(({ code }) => code),
                Array(4).fill(expected.code),
                id,
              )
            } else {
              assert.instanceOf(outcome, FlushFailed, id)
              assert.strictEqual(buffer.size, 4, id)
              assert.strictEqual(outcome.isAway, expected.isAway, id)
              const { cause } = outcome
              assert.strictEqual(cause instanceof ProblemError ? cause.code : null, expected.code, id)
            }
            const answer = await client.check("globex-prod", "api-calls", { whenAway: "open" }).then(
              ({ source }) => source,
              (error: unknown) => (error as ProblemError).code,
            )
            assert.strictEqual(answer, expected.isAway ? "policy" : expected.code, id)
          },
        ),
    ),
  )

  it.live("a result of another form is not of the service, and is not repeated", () =>
    Effect.forEach(["{}", "[]", "null", '{"id":7,"expiresAt":"x"}', '{"instance":"a","checks":[{}]}'], (body) =>
      withServer(
        () => ({ status: 200, body }),
        async ({ requests, url }) => {
          const client = createProductClient({ baseUrl: url, token: "ksh_0123456789", mode: "remote" })
          const calls = [
            () => client.check("globex-prod", "sso"),
            () => client.report("globex-prod", "api-calls"),
            () => client.acquireSeat("globex-prod", "editors", { holder: "anna" }),
            () => client.flags({}),
          ]
          for (const call of calls) assert.instanceOf(await failureOf(call()), ConnectionError, body)
          assert.strictEqual(requests.length, calls.length)
        },
      ),
    ),
  )

  it.live("a page is no release of a seat", () =>
    withServer(
      (_, number) =>
        number === 0
          ? { status: 201, body: '{"id":"l-1","expiresAt":"2026-01-31T09:09:00.000Z"}' }
          : { status: 200, body: "<html>Sign in</html>", headers: { "content-type": "text/html" } },
      async ({ url }) => {
        const seat = await clientOf(url).acquireSeat("globex-prod", "editors", { holder: "anna" })
        assert.instanceOf(await failureOf(seat.release()), ConnectionError)
      },
    ),
  )

  it.live("the background passes a page to its callback, keeps the reports, and sends them later", () =>
    withServer(
      (_, number) =>
        number === 0
          ? { status: 413, body: "<html>Too large</html>", headers: { "content-type": "text/html" } }
          : { status: 200, body: '{"results":[{"index":0,"status":"accepted"}]}' },
      async ({ requests, url }) => {
        const buffer = await clientOf(url).usageBuffer()
        await buffer.report("globex-prod", "api-calls")
        const outcomes: Array<unknown> = []
        await new Promise<void>((done) => {
          buffer.start(5, (outcome) => {
            if (outcomes.push(outcome) === 2) done()
          })
        })
        await buffer.close()
        assert.instanceOf(outcomes[0], FlushFailed)
        assert.isTrue(outcomes[0].isAway)
        assert.deepStrictEqual(outcomes[1], { accepted: 1, duplicates: 0, rejected: [] })
        assert.strictEqual(requests.length, 2)
      },
    ),
  )

  it.live("a response without an end is none", () =>
    withServer(
      () => ({ status: 200, body: "" }),
      async ({ url }) => {
        const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)) })
        const client = createProductClient({
          baseUrl: url,
          token: "ksh_0123456789",
          mode: "remote",
          retries: 0,
          fetch: async () => new Response(endless(), { headers: { "content-type": "application/json" } }),
        })
        const { source } = await client.check("globex-prod", "sso", { whenAway: "closed" })
        assert.strictEqual(source, "policy")
      },
    ),
  )
})
