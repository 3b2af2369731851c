/** `keyshelf upgrade record`: what the old version decides on a backup. */
import { Console, Effect } from "effect"
import { decisions } from "../../app/Decisions.ts"
import { isMigrated } from "../../infra/database/Migrations.ts"
import { version } from "../../infra/Version.ts"
import * as Schema from "../database/Schema.ts"
import { CommandFailed } from "../Failure.ts"
import { writeAnswers } from "./Answers.ts"
import { makeDecider, timeOfBackup } from "./Decider.ts"
import { connectionTo, restore } from "./Restore.ts"

/** Fails unless the backup has the schema of this version, which decides it without migrating it. */
const requireOwnSchema = Effect.gen(function* () {
  const { newer, pending, skipped } = yield* Schema.readState
  const isOwn = (yield* isMigrated) && newer.length + pending.length + skipped.length === 0
  if (isOwn) return
  return yield* new CommandFailed({
    message:
      "The backup has another schema than this version. Use `upgrade record` of the version that made the backup.",
  })
})

/** Restores the backup, decides all of it, and writes the answers. */
export const record = Effect.fn(function* (flags: {
  readonly backup: string
  readonly into: string
  readonly out: string
}) {
  return yield* Effect.gen(function* () {
    const { digest, restoreMs } = yield* restore(flags.backup, flags.into)
    yield* Console.log(`Restored ${flags.backup} in ${restoreMs} ms`)
    yield* requireOwnSchema
    const count = yield* Effect.gen(function* () {
      const at = yield* timeOfBackup
      const { decideAll } = yield* makeDecider(at)
      return yield* writeAnswers(flags.out, { version, backup: digest, at }, decideAll)
    }).pipe(Effect.provide(decisions))
    yield* Console.log(`Recorded ${count} decisions of version ${version} in ${flags.out}`)
  }).pipe(Effect.provide(connectionTo(flags.into)))
})
