/** What a migration costs the processes that serve while it runs. Each migration after the baseline declares it. */

/** The modes of table locks that make requests wait, from the weakest: `SHARE` stops writes, `ACCESS EXCLUSIVE` reads too. */
export const lockModes = ["SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"] as const
export type LockMode = (typeof lockModes)[number]

/** A lock of a table that existed before. All migrations of a run share one transaction, so it is held until the last one ends. */
export interface TableLock {
  readonly table: string
  readonly mode: LockMode
}

/** The declaration of a migration, exported as `impact`. A test compares it with what the migration does. */
export interface Impact {
  /** The strongest lock of each table that makes requests wait. */
  readonly locks: ReadonlyArray<TableLock>
  /** The tables that are read completely, to check a constraint or to build an index. Their rows decide how long it takes. */
  readonly reads: ReadonlyArray<string>
  /** How long reading a million rows takes, all statements together, on two cores with a local disk. */
  readonly millisecondsPerMillionRows: number
  /** SQL that can run before, while the old version serves: the migration then finds its result, and takes no time. */
  readonly before?: ReadonlyArray<string>
  /** What to avoid until all processes run the new version. */
  readonly until?: string
}
