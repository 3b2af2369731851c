/** `keyshelf upgrade rehearse`: the upgrade of a copy, and whether the new version decides as the old one did. */
import { Clock, Console, Effect, Option, Stream } from "effect"
import { migrations } from "../../../migrations/index.ts"
import { decisions } from "../../app/Decisions.ts"
import { formerSchema, hasFormerSchema, isMigrated, migrateWith } from "../../infra/database/Migrations.ts"
import { version } from "../../infra/Version.ts"
import * as Schema from "../database/Schema.ts"
import { CommandFailed, innermost } from "../Failure.ts"
import { readAnswers, readHeading } from "./Answers.ts"
import type { Difference } from "./Answers.ts"
import { compareAll, makeDecider, timeOfBackup } from "./Decider.ts"
import { measuring } from "./MigrationCosts.ts"
import type { MigrationCost } from "./MigrationCosts.ts"
import { reportText } from "./Report.ts"
import type { RehearsalReport } from "./Report.ts"
import { connectionTo, restore } from "./Restore.ts"
import { wayTo } from "./Way.ts"

const failed = (message: string) => new CommandFailed({ message })

/** Says how far the rehearsal is, beside the report: it may take minutes. */
const progress = (line: string) => Console.error(line)

const migrationFailed = (error: { readonly message: string; readonly cause?: unknown }) =>
  failed(`The migrations fail on this backup: ${error.message}: ${innermost(error.cause ?? error)}. Do not upgrade.`)

/** Fails unless the upgrade of the restored database is supported. Returns the version that it comes from. */
const requireWay = Effect.gen(function* () {
  if (yield* hasFormerSchema) return yield* failed(formerSchema())
  if (!(yield* isMigrated)) return yield* failed("The backup is not one of Keyshelf: it has no migrations.")
  const { newer, pending, skipped } = yield* Schema.readState
  const newest = Schema.knownMigrations.findLast((name) => !pending.includes(name) && !skipped.includes(name)) ?? ""
  const { from, obstacle } = wayTo(version, { newer, newest, skipped })
  return obstacle === null ? from : yield* failed(obstacle)
})

/** Migrates the restored database, as `migrate` does, and measures it. */
const migrate = Effect.gen(function* () {
  const costs: Array<MigrationCost> = []
  yield* migrateWith(measuring(migrations, (cost) => costs.push(cost))).pipe(
    Effect.catchTags({
      MigrationError: (error) => Effect.fail(migrationFailed(error)),
      SqlError: (error) => Effect.fail(migrationFailed(error)),
      FormerSchema: ({ message }) => Effect.fail(failed(message)),
    }),
  )
  const endedAt = yield* Clock.currentTimeMillis
  return costs.map(({ locks, ms, name, rewrites, startedAt }) => ({
    name,
    ms,
    locks: locks.map((lock) => ({ ...lock, heldMs: endedAt - startedAt })),
    rewrites,
  }))
})

/** Decides what the answers say again. Without answers, it decides everything and compares nothing. */
const decide = Effect.fnUntraced(function* (answers: string | undefined, at: Date) {
  const decider = yield* makeDecider(at)
  const differing: Array<Difference> = []
  const replayed =
    answers === undefined
      ? yield* Stream.runCount(decider.decideAll)
      : yield* compareAll(decider, readAnswers(answers), (difference) => differing.push(difference))
  return { replayed, compared: answers === undefined ? 0 : replayed, differing }
})

interface RehearseFlags {
  readonly backup: string
  readonly into: string
  readonly answers: Option.Option<string>
  readonly json: boolean
}

const rehearsal = Effect.fnUntraced(function* (flags: RehearseFlags) {
  const answers = Option.getOrUndefined(flags.answers)
  const heading = answers === undefined ? undefined : yield* readHeading(answers)
  const { digest, restoreMs } = yield* restore(flags.backup, flags.into)
  yield* progress(`Restored ${flags.backup} in ${restoreMs} ms`)
  if (heading !== undefined && heading.backup !== digest) {
    return yield* failed(`The answers in ${answers} are those of another backup. Record this one with the old version.`)
  }
  const from = yield* requireWay
  const measured = yield* migrate
  yield* progress(`Applied ${measured.length} migrations; deciding ...`)
  const startedAt = yield* Clock.currentTimeMillis
  const checks = yield* Effect.gen(function* () {
    return yield* decide(answers, heading?.at ?? (yield* timeOfBackup))
  }).pipe(Effect.provide(decisions))
  const checksMs = (yield* Clock.currentTimeMillis) - startedAt
  return {
    from: heading?.version ?? from,
    to: version,
    restoreMs,
    migrations: measured,
    checks: { ...checks, ms: checksMs },
  } satisfies RehearsalReport
})

/** Prints the report of a rehearsal. Fails if one decision differs. */
export const rehearse = Effect.fn(function* (flags: RehearseFlags) {
  const report = yield* rehearsal(flags).pipe(Effect.provide(connectionTo(flags.into)))
  yield* Console.log(flags.json ? JSON.stringify(report, null, 2) : reportText(report))
  const { length } = report.checks.differing
  if (length > 0) return yield* failed(`${length} of ${report.checks.compared} decisions differ. Do not upgrade.`)
  return undefined
})
