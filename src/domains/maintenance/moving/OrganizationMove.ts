/**
 * Moves an organization to another installation: exports all its rows with their ids, and imports them in one transaction.
 * Both installations have the same secret keys under the same ids, so tokens, secrets and cursors stay valid.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Option, Stream } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { SecretKeysRepo } from "../SecretKeysRepo.ts"
import { MoveRefused } from "./Errors.ts"
import { MoveRepo } from "./MoveRepo.ts"
import { isSealedBy, makeSeal, sealingKey, sealOfFile } from "./ArchiveSeal.ts"
import { readFrame } from "./ArchiveFrame.ts"
import type { Seal } from "./ArchiveSeal.ts"
import { headerFault } from "./HeaderRules.ts"
import { differences, FORMAT, FORMAT_VERSION, isRow, parseLine, ruleOf } from "./MoveRules.ts"
import type { Column, Digest, End, Header, Row, TableStart } from "./MoveRules.ts"

type Digests = Record<string, Digest>

/** How many rows each table has. */
export type Counts = Readonly<Record<string, number>>

export interface ExportOptions {
  readonly slug: string
  /** The migrations of the database, by name. */
  readonly migrations: ReadonlyArray<string>
  /** How long the organization is watched after it was read: it must not change meanwhile. */
  readonly watch: Duration.Duration
  readonly write: (lines: ReadonlyArray<string>) => Effect.Effect<void, MoveRefused>
}

const refused = (message: string) => new MoveRefused({ message })

const countsOf = (digests: Readonly<Digests>): Counts =>
  Object.fromEntries(Object.entries(digests).flatMap(([table, { rows }]) => (rows === 0 ? [] : [[table, rows]])))

const withoutLive = (digests: Readonly<Digests>): Digests =>
  Object.fromEntries(Object.entries(digests).filter(([table]) => ruleOf(table).isLive === undefined))

/** What the import has read so far. */
interface Progress {
  lines: number
  header: Header | undefined
  seal: Seal | undefined
  end: End | undefined
  table: { readonly name: string; readonly columns: ReadonlyArray<Column> } | undefined
  /** By the id at the source: the id of a person who is known here already. */
  readonly users: Map<string, string>
}

const CHANGED_FILE = "The file was changed after its export: its seal does not fit its lines. Export again."

/** Rows in one statement, and the size of their text. */
const MAX_BATCH = 100
const MAX_BATCH_CHARS = 1_000_000

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const repo = yield* MoveRepo
  const secretKeys = yield* SecretKeysRepo
  const secrets = yield* Secrets

  const tables = Effect.gen(function* () {
    const { ordered, unknown } = yield* repo.tables
    if (unknown.length === 0) return ordered
    return yield* refused(`This version cannot move rows of ${unknown.join(", ")}: no rule says how.`)
  })

  const digestsOf = Effect.fnUntraced(function* (organizationId: string) {
    const digests: Digests = {}
    for (const table of yield* tables) {
      digests[table] = yield* repo.digest(table, yield* repo.columns(table), organizationId)
    }
    return digests
  })

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
    const changed = differences(withoutLive(digests), withoutLive(yield* atOneMoment(digestsOf(organization.id))))
    if (changed.length > 0) {
      return yield* refused(
        `The organization changed while it was exported: ${changed.join(", ")}. Stop its requests, wait until its jobs are done, and export again.`,
      )
    }
    yield* writeLines([JSON.stringify({ digests, seal: seal.textWith(digests) } satisfies End)])
    return countsOf(digests)
  })

  const beginTable = Effect.fnUntraced(function* ({ columns, partitions, table }: TableStart, progress: Progress) {
    const known = new Set([...(yield* tables), "users"])
    const types = new Map(known.has(table) ? (yield* repo.columns(table)).map((column) => [column.name, column]) : [])
    const found = columns.flatMap((name) => types.get(name) ?? [])
    if (found.length !== columns.length || types.size !== columns.length) {
      return yield* refused(`The table ${table} of the file has other columns than the one of this database.`)
    }
    if (ruleOf(table).isFedByTriggers === true) {
      yield* repo.deleteRows(table, progress.header?.organization.id ?? "")
    }
    for (const partition of partitions) yield* repo.createPartition(table, partition)
    progress.table = { name: table, columns: found }
  })

  /** Inserts the users that are not known here, and remembers the others. */
  const insertUsers = Effect.fnUntraced(function* (
    columns: ReadonlyArray<Column>,
    rows: ReadonlyArray<Row>,
    progress: Progress,
  ) {
    const valueOf = (row: Row, name: string) => row[columns.findIndex((column) => column.name === name)] ?? null
    for (const row of rows) {
      const id = valueOf(row, "id") ?? ""
      const known = yield* repo.findUser(id, valueOf(row, "issuer"), valueOf(row, "subject"))
      if (known === undefined) yield* repo.insert("users", columns, [row])
      else progress.users.set(id, known)
    }
  })

  const insertRows = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>, progress: Progress) {
    const { table } = progress
    if (table === undefined) return yield* refused("The file has rows before the first table.")
    const { columns, name } = table
    if (rows.some((row) => row.length !== columns.length)) {
      return yield* refused(`The file has a row of ${name} with another number of columns.`)
    }
    const at = (column: string) => columns.findIndex((each) => each.name === column)
    const owner = at(name === "organizations" ? "id" : "organization_id")
    if (name !== "users" && rows.some((row) => row[owner] !== progress.header?.organization.id)) {
      return yield* refused(`The file has a row of ${name} that belongs to another organization.`)
    }
    if (name === "users") return yield* insertUsers(columns, rows, progress)
    if (name === "organizations") {
      const [row] = rows
      const taken = yield* repo.findTaken(
        row?.[at("id")] ?? "",
        row?.[at("slug")] ?? "",
        row?.[at("external_id")] ?? null,
      )
      if (taken !== undefined) {
        return yield* refused(`This installation has an organization with this ${taken} already, or is removing it.`)
      }
    }
    const user = name === "memberships" ? at("user_id") : -1
    const mapped = rows.map((row) =>
      row.map((value, place) => (place === user ? (progress.users.get(value ?? "") ?? value) : value)),
    )
    yield* repo.insert(name, columns, mapped)
  })

  const take = Effect.fnUntraced(function* (
    lines: ReadonlyArray<string>,
    progress: Progress,
    migrations: ReadonlyArray<string>,
  ) {
    let rows: Array<Row> = []
    let chars = 0
    const flush = Effect.suspend(() => {
      const full = rows
      rows = []
      chars = 0
      return full.length === 0 ? Effect.void : insertRows(full, progress)
    })
    for (const text of lines) {
      progress.lines += 1
      const line = Option.getOrUndefined(parseLine(text))
      const isHeader = line !== undefined && "format" in line
      if (line === undefined || isHeader !== (progress.header === undefined) || progress.end !== undefined) {
        return yield* refused(`Line ${progress.lines} does not belong into a file of an organization.`)
      }
      if (isHeader) progress.seal = sealOfFile(secrets, line)
      if (!("digests" in line)) progress.seal?.add(text)
      if (isRow(line)) {
        rows.push(line)
        chars += text.length
        if (chars > MAX_BATCH_CHARS) yield* flush
        continue
      }
      yield* flush
      if ("format" in line) {
        const fault = headerFault(line, { migrations, secrets, connectors: yield* repo.knownConnectors })
        if (fault !== undefined) return yield* refused(fault)
        progress.header = line
      } else if ("table" in line) yield* beginTable(line, progress)
      else progress.end = line
    }
    yield* flush
  })

  const importFrom = Effect.fn("OrganizationMove.importFrom")(function* <E>(
    lines: Stream.Stream<string, E>,
    migrations: ReadonlyArray<string>,
  ) {
    const progress: Progress = {
      lines: 0,
      header: undefined,
      seal: undefined,
      end: undefined,
      table: undefined,
      users: new Map(),
    }
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* repo.withoutTimeouts
        yield* lines.pipe(
          Stream.grouped(MAX_BATCH),
          Stream.runForEach((batch) => take(batch, progress, migrations)),
        )
        const { end, header, seal } = progress
        if (header === undefined || end === undefined) {
          return yield* refused("The file has no end: it was cut off. Nothing was imported.")
        }
        yield* repo.alignUsage(header.usageDroppedUntil ?? null)
        const differing = differences(end.digests, yield* digestsOf(header.organization.id))
        if (differing.length > 0) {
          return yield* refused(
            `The imported rows differ from those of the source: ${differing.join(", ")}. Nothing was imported.`,
          )
        }
        if (seal === undefined || !isSealedBy(seal, end)) return yield* refused(`${CHANGED_FILE} Nothing was imported.`)
        return { organization: header.organization, counts: countsOf(end.digests) }
      }),
    )
  })

  const compare = Effect.fn("OrganizationMove.compare")(function* <E>(lines: Stream.Stream<string, E>) {
    const { end, header, seal } = yield* readFrame(lines, secrets)
    if (seal === undefined || !isSealedBy(seal, end)) return yield* refused(CHANGED_FILE)
    const found = yield* atOneMoment(digestsOf(header.organization.id))
    return { organization: header.organization, changed: differences(withoutLive(end.digests), withoutLive(found)) }
  })

  return {
    /** Exports an organization, and returns how many rows each table has. */
    exportTo: (options: ExportOptions): Effect.Effect<Counts, MoveRefused | SqlError> => exportTo(options),
    /** Imports the lines of a file in one transaction: all of them, or none. */
    importFrom,
    /** The organization of a file, and the tables of this database that differ from it, without those that change by themselves. */
    compare,
  }
})

/** Moves organizations between installations. */
export class OrganizationMove extends Context.Service<OrganizationMove, Effect.Success<typeof make>>()(
  "keyshelf/maintenance/OrganizationMove",
) {
  static readonly layer = Layer.effect(OrganizationMove, make).pipe(Layer.provide(MoveRepo.layer))
}
