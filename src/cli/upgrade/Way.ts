/** Which upgrades are supported: from each minor version to the next one. Pure. */
import releases from "../../../release/released.json" with { type: "json" }

/** A version that was published, with its newest migration. */
interface Release {
  readonly version: string
  readonly migration: string
}

/** The versions that were published, oldest first. */
export const released: ReadonlyArray<Release> = releases

/** What is known of a database: its migrations, compared with those of this version. */
interface Migrated {
  /** The newest migration of the database that this version knows. */
  readonly newest: string
  readonly skipped: ReadonlyArray<string>
  readonly newer: ReadonlyArray<string>
}

/** The way from a database to a version. */
export interface Way {
  /** The newest published version whose migrations the database has. */
  readonly from: string
  readonly to: string
  /** Why it is not supported, and what to do; `null` if it is. */
  readonly obstacle: string | null
}

const idOf = (migration: string): number => Number.parseInt(migration, 10)

/** A number by which minor versions are in order. */
const minorOf = (version: string): number => {
  const [major, minor] = version.split(".").map((part) => Number.parseInt(part, 10))
  return (major ?? 0) * 1000 + (minor ?? 0)
}

/** The way from a database to the version `to`. */
export const wayTo = (to: string, { newer, newest, skipped }: Migrated, known = released): Way => {
  const from = known.findLast(({ migration }) => idOf(migration) <= idOf(newest))?.version ?? "unknown"
  const way = (obstacle: string | null): Way => ({ from, to, obstacle })
  if (newer.length > 0) {
    return way(
      `The database is ahead of this version: it has ${newer.join(", ")}. Use the version that migrated it, or a newer one.`,
    )
  }
  if (skipped.length > 0) {
    return way(`${skipped.join(", ")} was skipped although newer migrations are applied. Restore a backup.`)
  }
  const between = known.filter(({ version }) => minorOf(version) > minorOf(from) && minorOf(version) < minorOf(to))
  const [first] = between
  if (first === undefined) return way(null)
  const next = between.findLast(({ version }) => minorOf(version) === minorOf(first.version)) ?? first
  return way(`${next.version} comes between: upgrade to it first, then to ${to}.`)
}
