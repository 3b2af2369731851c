import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { View } from "../../src/local/index.ts"
import { makeLedger } from "../../src/local/ledger/Ledger.ts"
import { journalIn, ledgerStoreOf } from "../../src/local/ledger/Stored.ts"
import type { LedgerFile } from "../../src/local/ledger/Stored.ts"
import { portionsOf } from "../../src/local/ledger/Tally.ts"
import { isIdle } from "./idle.ts"
import type { LedgerVectors } from "./ledgerVectors.ts"

const { cases, claims, clock, source }: LedgerVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../clients/vectors/ledger.json"), "utf8"),
)

/** A file that takes its time to replace what is stored. Meanwhile, what is added is in the next one alone. */
const slowFile = (stored: string) => {
  let next: string | undefined
  let disk = stored
  let rename = (): void => undefined
  const file: LedgerFile = {
    text: stored,
    size: () => disk.length,
    append: (text) => {
      if (next === undefined) disk += text
      else next += text
    },
    sync: async () => undefined,
    replace: (text) => {
      next = text
      return new Promise((resolve) => {
        rename = () => {
          disk = next ?? disk
          next = undefined
          resolve()
        }
      })
    },
    setAside: async () => undefined,
    close: async () => undefined,
  }
  return { file, disk: () => disk, isReplacing: () => next !== undefined, rename: () => rename() }
}

/** A product that starts with what a crash left, and whose service is silent. */
const restarted = (stored: string, tranche: LedgerVectors["cases"][number]["given"]["tranche"]) => {
  const time = Date.parse(clock)
  const snapshot = { token: "", etag: null, claims }
  const view: View = { state: "LIVE", ageMs: 0, time, snapshot, failure: undefined }
  const never = () => new Promise<never>(() => undefined)
  const refill = never
  const slow = slowFile(stored)
  const ledger = makeLedger({
    instance: claims.instance.slug,
    options: {
      clock: { wall: () => time, monotonic: () => 0, random: () => 0, after: () => () => undefined },
      service: { snapshot: never, keys: never, changes: () => () => undefined },
      startTimeoutMs: 0,
    },
    ledger: { refill, id: () => source, open: () => ledgerStoreOf(slow.file) },
    view: () => view,
    receive: never,
    confirmedAt: () => 0,
    maxAgeMs: () => 0,
    instanceId: () => claims.sub,
    verify: async () => ({ ...claims, ...(tranche === null ? {} : { tranche }) }),
    refetch: never,
  })
  return { ...slow, ledger }
}

describe("a ledger that opens after a crash", () => {
  it("acknowledges a consumption when it is in the file that the next start reads", async () => {
    const { given } = cases.find(({ id }) => id === "cut-off") ?? assert.fail("there is no such case")
    const { disk, isReplacing, ledger, rename } = restarted(given.journal, given.tranche)
    let acknowledged = 0
    const consume = async () => {
      const { checks } = await ledger.consume({ checks: [{ entitlement: "exports", requested: 2 }], policy: "closed" })
      if (checks.every(({ allowed }) => allowed)) acknowledged += 2
    }
    const spentAfterCrash = async () => portionsOf((await journalIn(disk()))?.spent ?? {}).map(([, , amount]) => amount)
    const first = consume()
    while (!isReplacing()) await isIdle()
    const second = consume()
    await isIdle()
    // What the crash of before left is 6.
    assert.deepStrictEqual(await spentAfterCrash(), [String(6 + acknowledged)])
    rename()
    await Promise.all([first, second])
    assert.deepStrictEqual([acknowledged, await spentAfterCrash()], [4, ["10"]])
  })
})
