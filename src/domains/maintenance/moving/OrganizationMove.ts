/**
 * Moves an organization to another installation: exports all its rows with their ids, and imports them in one transaction.
 * Both installations have the same secret keys under the same ids, so tokens, secrets and cursors stay valid.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Stream } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { SecretKeysRepo } from "../SecretKeysRepo.ts"
import { MoveRefused } from "./Errors.ts"
import { MoveRepo } from "./MoveRepo.ts"
import { countsOf, digestsOf, movingTables } from "./ArchiveDigests.ts"
import type { Counts, Digests } from "./ArchiveDigests.ts"
import { makeImport } from "./ArchiveImport.ts"
import { CHANGED_FILE, isSealedBy, makeSeal, sealingKey } from "./ArchiveSeal.ts"
import { readFrame } from "./ArchiveFrame.ts"
import { convertedTables, isFormer } from "./FormerFiles.ts"
import { differences, FORMAT, FORMAT_VERSION, ruleOf } from "./MoveRules.ts"
import type { End, Header, TableStart } from "./MoveRules.ts"

interface ExportOptions {
  readonly slug: string
  /** The migrations of the database, by name. */
  readonly migrations: ReadonlyArray<string>
  /** How long the organization is watched after it was read: it must not change meanwhile. */
  readonly watch: Duration.Duration
  readonly write: (lines: ReadonlyArray<string>) => Effect.Effect<void, MoveRefused>
}

const refused = (message: string) => new MoveRefused({ message })

const withoutLive = (digests: Readonly<Digests>): Digests =>
  Object.fromEntries(Object.entries(digests).filter(([table]) => ruleOf(table).isLive === undefined))

const withoutConverted = (digests: Readonly<Digests>): Digests =>
  Object.fromEntries(Object.entries(digests).filter(([table]) => !convertedTables.includes(table)))

/** Moves organizations between installations. */
export class OrganizationMove extends Context.Service<
  OrganizationMove,
  {
    /** Exports an organization, and returns how many rows each table has. */
    readonly exportTo: (options: ExportOptions) => Effect.Effect<Counts, MoveRefused | SqlError>
    /** Imports the lines of a file in one transaction: all of them, or none. */
    readonly importFrom: <E>(
      lines: Stream.Stream<string, E, never>,
      migrations: ReadonlyArray<string>,
    ) => Effect.Effect<
      {
        readonly organization: {
          readonly id: string
          readonly slug: string
        }
        readonly counts: Readonly<Record<string, number>>
      },
      SqlError | MoveRefused | E
    >
    /** The organization of a file, and the tables of this database that differ from it, without those that change by themselves. */
    readonly compare: <E>(lines: Stream.Stream<string, E, never>) => Effect.Effect<
      {
        readonly organization: {
          readonly id: string
          readonly slug: string
        }
        readonly changed: ReadonlyArray<string>
      },
      SqlError | MoveRefused
    >
  }
>()("keyshelf/maintenance/OrganizationMove") {
  static readonly layer = Layer.effect(
    OrganizationMove,
    Effect.suspend(() => make),
  ).pipe(Layer.provide(MoveRepo.layer))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const repo = yield* MoveRepo
  const secretKeys = yield* SecretKeysRepo
  const secrets = yield* Secrets

  const tables = movingTables(repo)

  const allDigests = (organizationId: string) => Effect.flatMap(tables, (all) => digestsOf(repo, all, organizationId))

  const atOneMoment = <A, E>(work: Effect.Effect<A, E>) => sql.withTransaction(Effect.andThen(repo.readSnapshot, work))

  const headerOf = Effect.fnUntraced(function* (
    organization: Header["organization"],
    migrations: ReadonlyArray<string>,
  ) {
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

  const exportTo = Effect.fn("OrganizationMove.exportTo")(function* ({
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
    const { digests, organization } = yield* atOneMoment(
      Effect.gen(function* () {
        const found = yield* repo.findBySlug(slug)
        if (found === undefined) return yield* refused(`There is no organization with the slug "${slug}".`)
        yield* write([JSON.stringify(yield* headerOf(found, migrations))])
        const users = yield* repo.columns("users")
        yield* start({ table: "users", columns: users.map(({ name }) => name), partitions: [] })
        yield* write(yield* repo.users(users, found.id))
        const ofTables: Digests = {}
        for (const table of yield* tables) {
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
    const changed = differences(withoutLive(digests), withoutLive(yield* atOneMoment(allDigests(organization.id))))
    if (changed.length > 0) {
      return yield* refused(
        `The organization changed while it was exported: ${changed.join(", ")}. Stop its requests, wait until its jobs are done, and export again.`,
      )
    }
    yield* writeLines([JSON.stringify({ digests, seal: seal.textWith(digests) } satisfies End)])
    return countsOf(digests)
  })

  const importFrom = yield* makeImport

  const compare = Effect.fn("OrganizationMove.compare")(function* <E>(lines: Stream.Stream<string, E>) {
    const { end, header, seal } = yield* readFrame(lines, secrets)
    if (seal === undefined || !isSealedBy(seal, end)) return yield* refused(CHANGED_FILE)
    const found = yield* atOneMoment(allDigests(header.organization.id))
    const compared = (digests: Readonly<Digests>) =>
      isFormer(header.migrations) ? withoutConverted(withoutLive(digests)) : withoutLive(digests)
    return { organization: header.organization, changed: differences(compared(end.digests), compared(found)) }
  })

  return {
    exportTo: (options: ExportOptions): Effect.Effect<Counts, MoveRefused | SqlError> => exportTo(options),
    importFrom,
    compare,
  }
})
