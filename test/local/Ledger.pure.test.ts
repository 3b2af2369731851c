import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { playLedger } from "./ledgerVectors.ts"
import type { LedgerVectors } from "./ledgerVectors.ts"

const vectors: LedgerVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../clients/vectors/ledger.json"), "utf8"),
)

describe("the ledger of a local client", () => {
  for (const one of vectors.cases) {
    it(`${one.id}: ${one.why}`, async () => {
      assert.deepStrictEqual(await playLedger(vectors, one), one.expected)
    })
  }
})
