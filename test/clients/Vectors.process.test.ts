/** The vectors of `clients/vectors` that the modules for TypeScript have code for. */
import { assert, describe, it } from "@effect/vitest"
import { periodAt } from "../../src/offline/index.ts"
import type { Claims } from "../../src/offline/index.ts"
import { millisOf } from "../../src/offline/values/Unknown.ts"
import { readVectors } from "./programs.ts"

interface SignatureCase {
  readonly id: string
  readonly publicKey: string
  readonly message: string
  readonly signature: string
  readonly valid: boolean
}

interface Periods {
  readonly periods: Claims["periods"]
  readonly cases: ReadonlyArray<{ readonly period: string; readonly at: string; readonly expected: unknown }>
  readonly instants: ReadonlyArray<{ readonly text: string; readonly expected: number | null }>
}

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"))

describe("the vectors for clients", () => {
  it("Web Crypto, by which bundles are verified, takes and rejects the same signatures", async () => {
    const { cases } = readVectors<{ readonly cases: ReadonlyArray<SignatureCase> }>("ed25519")
    for (const { id, message, publicKey, signature, valid } of cases) {
      const key = await crypto.subtle.importKey("raw", bytesOf(publicKey), "Ed25519", false, ["verify"])
      const actual = await crypto.subtle.verify("Ed25519", key, bytesOf(signature), bytesOf(message))
      assert.strictEqual(actual, valid, id)
    }
    assert.isAbove(cases.length, 20)
  })

  it("the verifier for JavaScript finds the same periods and instants", () => {
    const { cases, instants, periods } = readVectors<Periods>("periods")
    for (const { at, expected, period } of cases) {
      assert.deepStrictEqual(periodAt({ periods }, period, at), expected, `${period} at ${at}`)
    }
    for (const { expected, text } of instants) {
      const millis = millisOf(text)
      assert.strictEqual(Number.isNaN(millis) ? null : millis, expected, text)
    }
  })
})
