import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { newJournal } from "../../src/local/ledger/Journal.ts"
import type { JournalRecord } from "../../src/local/ledger/Journal.ts"
import { journalIn } from "../../src/local/ledger/Stored.ts"
import { openLedgerFile } from "../../src/machine/LedgerFiles.ts"
import { instanceOfLedger, ledgerPath, snapshotPath, takeSlot } from "../../src/machine/Slots.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keyshelf-slots-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe("the slots of a directory", () => {
  it("are taken one by one, and one that is free again is the next to be taken", async () => {
    const [one, other] = [await takeSlot(folder), await takeSlot(folder)]
    assert.deepStrictEqual([one.path, other.path], [join(folder, "slot-0"), join(folder, "slot-1")])
    one.unlock()
    const again = await takeSlot(folder)
    assert.strictEqual(again.path, one.path)
    again.unlock()
    other.unlock()
  })

  it("have files by the ids of instances, and no id leads to another folder", () => {
    const slot = { path: folder }
    const id = "../../etc/x"
    assert.match(snapshotPath(slot, id), new RegExp(`^${folder}/snapshot-[^/]+\\.json$`))
    const name = ledgerPath(slot, id).slice(folder.length + 1)
    assert.notInclude(name, "/")
    assert.strictEqual(instanceOfLedger(name), id)
    assert.isUndefined(instanceOfLedger("snapshot-1.json"))
  })
})

/** A clock whose timers run when a test says so. */
const manualClock = () => {
  const timers = new Map<number, { readonly millis: number; readonly work: () => void }>()
  let next = 0
  return {
    timers,
    after: (millis: number, work: () => void) => {
      const id = next++
      timers.set(id, { millis, work })
      return () => timers.delete(id)
    },
    run: () => {
      for (const [id, { work }] of Array.from(timers)) {
        timers.delete(id)
        work()
      }
    },
  }
}

const PERIOD = "2026-11-01T00:00:00.000Z"
const spend = (amount: string): JournalRecord => ({ spend: [["exports", amount, PERIOD]], at: 1 })

describe("the file of a ledger", () => {
  const openFiles = (path: string) =>
    readdirSync("/proc/self/fd").filter((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`) === path
      } catch {
        return false
      }
    }).length

  it.skipIf(process.platform !== "linux")("is closed while nothing is added, and keeps all records", async () => {
    const clock = manualClock()
    const path = join(folder, "ledger.jsonl")
    const file = await openLedgerFile(path, clock)
    const journal = await newJournal("urn:keyshelf:ledger:1")
    file.append([spend("3")], journal)
    assert.strictEqual(openFiles(path), 1)
    clock.run()
    await file.sync()
    clock.run()
    await new Promise((resolve) => setImmediate(resolve))
    assert.strictEqual(openFiles(path), 0)
    file.append([spend("4")], journal)
    await file.close()
    assert.strictEqual(openFiles(path), 0)
    const read = await journalIn(readFileSync(path, "utf8"))
    assert.strictEqual(read?.spent["exports"]?.[PERIOD], "7")
  })
})
