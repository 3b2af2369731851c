/**
 * Runs before each file whose worker shares its modules with other files. Ids are monotonic within a process, so a file that creates
 * ids at a later time than now would move the ids of all files after it. Such a file must have its own modules.
 */
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { newId } from "../../src/kernel/values/Identifiers.ts"

const TOLERANCE_MS = 60_000

/** The time of a UUIDv7 that is created now. */
const timeOfNewId = (): number => Number.parseInt(Effect.runSync(newId).replace("-", "").slice(0, 12), 16)

let before = 0

beforeAll(() => {
  before = timeOfNewId()
})

afterAll(() => {
  if (timeOfNewId() > Math.max(before, Date.now()) + TOLERANCE_MS) {
    throw new Error("This file creates ids at a later time than now. Add it to `withOwnModules` of test/run.ts.")
  }
})
