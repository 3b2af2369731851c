/** The report of a rehearsed upgrade. Pure. */
import type { TableLock } from "../../../migrations/impact.ts"
import type { Difference } from "./Answers.ts"

export interface RehearsalReport {
  readonly from: string
  readonly to: string
  readonly restoreMs: number
  readonly migrations: ReadonlyArray<{
    readonly name: string
    readonly ms: number
    /** `heldMs`: until the end of the last migration, because all of them share one transaction. */
    readonly locks: ReadonlyArray<TableLock & { readonly heldMs: number }>
    readonly rewrites: ReadonlyArray<string>
  }>
  readonly checks: {
    /** How many checks and flags this version decided. */
    readonly replayed: number
    /** How many of them had a recorded answer. */
    readonly compared: number
    readonly ms: number
    readonly differing: ReadonlyArray<Difference>
  }
}

/** Differences that the text shows; the JSON document has all. */
const MAX_SHOWN = 20

const shown = (answer: object): string => JSON.stringify(answer)

const differenceLines = ({ after, before, ...question }: Difference): ReadonlyArray<string> => {
  const asked =
    "flag" in question
      ? `flag ${question.flag} of ${question.organization}`
      : `${question.requested} ${question.entitlement} of ${question.instance} of ${question.organization}${
          question.at === undefined ? "" : ` at ${question.at}`
        }`
  return [`  ${asked}`, `    before: ${shown(before)}`, `    after:  ${shown(after)}`]
}

const checkLines = ({ compared, differing, ms, replayed }: RehearsalReport["checks"]): ReadonlyArray<string> => {
  const decided = `Decided ${replayed} checks and flags in ${ms} ms`
  if (compared === 0) {
    return [`${decided}. Nothing was compared: record the answers of the old version, and pass them with --answers.`]
  }
  const more = differing.length - MAX_SHOWN
  return [
    `${decided}: ${differing.length} differ`,
    ...differing.slice(0, MAX_SHOWN).flatMap(differenceLines),
    ...(more > 0 ? [`  ... ${more} more, which --json prints`] : []),
  ]
}

/** The report as text. */
export const reportText = ({ checks, from, migrations, restoreMs, to }: RehearsalReport): string =>
  [
    `Rehearsed the upgrade from ${from} to ${to}`,
    `Restored the backup in ${restoreMs} ms`,
    ...migrations.flatMap(({ locks, ms, name, rewrites }) => [
      `Applied ${name} in ${ms} ms`,
      ...locks.map(({ heldMs, mode, table }) => `  locked ${table} in ${mode} mode for ${heldMs} ms`),
      ...rewrites.map((table) => `  wrote all rows of ${table} again`),
    ]),
    ...(migrations.length === 0 ? ["No migration was pending"] : []),
    ...checkLines(checks),
  ].join("\n")
