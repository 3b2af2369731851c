/** Responses that are no results: what they mean for the buffer and for a check, by the vectors of all clients. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createProductClient, FlushFailed, ProblemError } from "../../../clients/typescript/src/product/index.ts"
import { readVectors } from "../programs.ts"
import { withServer } from "./answering.ts"

const clientOf = (baseUrl: string) => createProductClient({ baseUrl, token: "ksh_0123456789", retries: 0 })

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
})
