/** Which tables a file of an organization has, and the digests of their rows. */
import { Effect } from "effect"
import { MoveRefused } from "./Errors.ts"
import { currentForm } from "./FormerFiles.ts"
import type { StoredForm } from "./FormerFiles.ts"
import type { MoveRepo } from "./MoveRepo.ts"
import type { Digest } from "./MoveRules.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

export type Digests = Record<string, Digest>

/** How many rows each table has. */
export type Counts = Readonly<Record<string, number>>

export const countsOf = (digests: Readonly<Digests>): Counts =>
  Object.fromEntries(Object.entries(digests).flatMap(([table, { rows }]) => (rows === 0 ? [] : [[table, rows]])))

/** All tables with rows of organizations, in the order in which they can be inserted. */
export const movingTables = (repo: MoveRepo["Service"]) =>
  Effect.gen(function* () {
    const { ordered, unknown } = yield* repo.tables
    if (unknown.length === 0) return ordered
    return yield* new MoveRefused({
      message: `This version cannot move rows of ${unknown.join(", ")}: no rule says how.`,
    })
  })

/** The digests of these tables. */
export const digestsOf = Effect.fnUntraced(function* (
  repo: MoveRepo["Service"],
  tables: ReadonlyArray<string>,
  organizationId: OrganizationId,
  { columnsOf, storedIn }: StoredForm = currentForm,
) {
  const digests: Digests = {}
  for (const table of tables) {
    const stored = storedIn(table)
    digests[table] = yield* repo.digest(stored, columnsOf(table, yield* repo.columns(stored)), organizationId)
  }
  return digests
})
