/** The answers of `clients/vectors/local-decisions.json`, from an edge whose origin serves their snapshots. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeClock } from "../../src/edge/Clock.ts"
import { current } from "../offline/signer.ts"
import { localServer } from "../support/LocalServer.ts"
import { startEdge } from "./edge.ts"

interface Vector {
  readonly id: string
  readonly kind: string
  readonly given: {
    readonly checks?: ReadonlyArray<{ readonly entitlement: string; readonly requested?: string }>
    readonly at?: string
    readonly claims?: { readonly entitlements?: ReadonlyArray<Entry> }
    readonly local?: object
  }
  readonly expected: { readonly checks: ReadonlyArray<Record<string, unknown>> }
}

type Entry = { readonly slug: string } & Readonly<Record<string, unknown>>

const {
  base,
  cases,
}: {
  readonly base: Record<string, unknown> & { readonly entitlements: ReadonlyArray<Entry> }
  readonly cases: ReadonlyArray<Vector>
} = JSON.parse(readFileSync(join(import.meta.dirname, "../../clients/vectors/local-decisions.json"), "utf8"))

/** The claims of a case, issued at its instant: written over the base, entitlements by slug. */
const claimsOf = ({ given: { claims = {} } }: Vector, at: number) => ({
  ...base,
  ...claims,
  iat: at,
  nbf: at,
  renew: at + 600,
  exp: at + 604_800,
  entitlements: base.entitlements.map((entry) => ({
    ...entry,
    ...claims.entitlements?.find(({ slug }) => slug === entry.slug),
  })),
})

// Of a product's own tranche, an edge has none yet.
const answers = cases.filter(({ given, kind }) => kind === "answers" && given.local === undefined)

const FIGURES = ["limit", "usage", "remaining", "overage"]

/** The answer as the service writes it: amounts are numbers. */
const asJson = (check: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(check).map(([name, value]) => [
      name,
      FIGURES.includes(name) && typeof value === "string" ? Number(value) : value,
    ]),
  )

describe("an edge", () => {
  it.live("answers each vector of checks with the bytes of the service", () =>
    Effect.gen(function* () {
      assert.strictEqual(answers.length, 9)
      const system = yield* EdgeClock
      for (const vector of answers) {
        const { at = "", checks = [] } = vector.given
        const wall = Date.parse(at)
        const token = yield* Effect.promise(() => current.sign(claimsOf(vector, Math.floor(wall / 1000))))
        const origin = yield* localServer((request, response) => {
          const isSnapshot = request.url?.endsWith("/snapshot") === true
          response.writeHead(isSnapshot ? 200 : 503, {
            "content-type": isSnapshot ? "application/jwt" : "text/plain",
            date: new Date(wall).toUTCString(),
            etag: '"a.1"',
          })
          response.end(isSnapshot ? token : "")
        })
        const edge = yield* startEdge({
          origin: origin.url,
          tokens: ["ksh_vectors"],
          keys: { [current.kid]: current.x },
        }).pipe(Effect.provideService(EdgeClock, { ...system, wall: () => wall, monotonic: () => 7_000_000 }))
        const body = `{"checks":[${checks
          .map(({ entitlement, requested }) =>
            requested === undefined
              ? `{"entitlement":"${entitlement}"}`
              : `{"entitlement":"${entitlement}","requested":${requested}}`,
          )
          .join(",")}]}`
        const { status, text } = yield* edge.call("POST", "/api/instances/globex-prod/check", {
          token: "ksh_vectors",
          rawBody: body,
        })
        assert.strictEqual(status, 200, `${vector.id}: ${text}`)
        assert.strictEqual(
          text,
          JSON.stringify({ ...vector.expected, checks: vector.expected.checks.map(asJson) }),
          vector.id,
        )
        yield* edge.stop
      }
    }).pipe(Effect.scoped),
  )
})
