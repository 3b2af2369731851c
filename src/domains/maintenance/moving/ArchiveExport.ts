/** Exports an organization as the lines of a file. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Duration } from "effect"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { SecretKeysRepo } from "../SecretKeysRepo.ts"
import { countsOf, digestsOf, movingTables } from "./ArchiveDigests.ts"
import type { Digests } from "./ArchiveDigests.ts"
import { makeSeal, sealingKey } from "./ArchiveSeal.ts"
import { MoveRefused } from "./Errors.ts"
import { MoveRepo } from "./MoveRepo.ts"
import { differences, FORMAT, FORMAT_VERSION, ruleOf } from "./MoveRules.ts"
import type { End, Header, TableStart } from "./MoveRules.ts"

export interface ExportOptions {
  readonly slug: string
  /** The migrations of the database, by name. */
  readonly migrations: ReadonlyArray<string>
  /** How long the organization is watched after it was read: it must not change meanwhile. */
  readonly watch: Duration.Duration
  readonly write: (lines: ReadonlyArray<string>) => Effect.Effect<void, MoveRefused>
}

const refused = (message: string) => new MoveRefused({ message })

/** The digests of the tables that do not change by themselves. */
export const withoutLive = (digests: Readonly<Digests>): Digests =>
  Object.fromEntries(Object.entries(digests).filter(([table]) => ruleOf(table).isLive === undefined))

/** Reads all tables of an organization as they are at one moment. */
export const snapshotReader = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const repo = yield* MoveRepo
  const tables = movingTables(repo)

  const atOneMoment = <A, E>(work: Effect.Effect<A, E>) => sql.withTransaction(Effect.andThen(repo.readSnapshot, work))

  const digests = (organizationId: OrganizationId) =>
    atOneMoment(Effect.flatMap(tables, (all) => digestsOf(repo, all, organizationId)))

  return { atOneMoment, digests, tables }
})

/** Reads the header of a file: which keys and connectors the organization needs at its destination. */
const headerReader = Effect.gen(function* () {
  const repo = yield* MoveRepo
  const secretKeys = yield* SecretKeysRepo
  const secrets = yield* Secrets

  return Effect.fnUntraced(function* (organization: Header["organization"], migrations: ReadonlyArray<string>) {
    const checks = new Map((yield* secretKeys.checks).map(({ id, value }) => [id, Buffer.from(value).toString("hex")]))
    // The first key also signs the cursors that clients have stored.
    const ids = (yield* repo.keyIds(organization.id)).add(secrets.keysFor("cursor")[0].id)
    return {
      format: FORMAT,
      version: FORMAT_VERSION,
      organization,
      exportedAt: (yield* now).toISOString(),
      migrations,
      keys: [...ids].toSorted().map((id) => ({ id, check: checks.get(id) ?? null })),
      sealedWith: sealingKey(secrets).id,
      connectors: yield* repo.connectors(organization.id),
      usageDroppedUntil: yield* repo.usageDroppedUntil,
    } satisfies Header
  })
})

export const makeExport = Effect.gen(function* () {
  const repo = yield* MoveRepo
  const secrets = yield* Secrets
  const snapshots = yield* snapshotReader
  const headerOf = yield* headerReader

  return Effect.fn("OrganizationMove.exportTo")(function* ({
    migrations,
    slug,
    watch,
    write: writeLines,
  }: ExportOptions) {
    const seal = makeSeal(sealingKey(secrets))
    const write = (lines: ReadonlyArray<string>) => {
      for (const line of lines) seal.add(line)
      return writeLines(lines)
    }
    const start = (line: TableStart) => write([JSON.stringify(line)])
    const { digests, organization } = yield* snapshots.atOneMoment(
      Effect.gen(function* () {
        const found = yield* repo.findBySlug(slug)
        if (found === undefined) return yield* refused(`There is no organization with the slug "${slug}".`)
        yield* write([JSON.stringify(yield* headerOf(found, migrations))])
        const users = yield* repo.columns("users")
        yield* start({ table: "users", columns: users.map(({ name }) => name), partitions: [] })
        yield* write(yield* repo.users(users, found.id))
        const ofTables: Digests = {}
        for (const table of yield* snapshots.tables) {
          const columns = yield* repo.columns(table)
          const partitions = yield* repo.partitions(table, found.id)
          yield* start({ table, columns: columns.map(({ name }) => name), partitions })
          yield* repo.forEachRows(table, columns, found.id, write)
          ofTables[table] = yield* repo.digest(table, columns, found.id)
        }
        return { organization: found, digests: ofTables }
      }),
    )
    yield* Effect.sleep(watch)
    const changed = differences(withoutLive(digests), withoutLive(yield* snapshots.digests(organization.id)))
    if (changed.length > 0) {
      return yield* refused(
        `The organization changed while it was exported: ${changed.join(", ")}. Stop its requests, wait until its jobs are done, and export again.`,
      )
    }
    yield* writeLines([JSON.stringify({ digests, seal: seal.textWith(digests) } satisfies End)])
    return countsOf(digests)
  })
})
