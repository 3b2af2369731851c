/** Imports the file of an organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Option, Stream } from "effect"
import { Secrets } from "../../../kernel/ports/KeyRing.ts"
import { countsOf, digestsOf, movingTables } from "./ArchiveDigests.ts"
import { CHANGED_FILE, isSealedBy, sealOfFile } from "./ArchiveSeal.ts"
import type { Seal } from "./ArchiveSeal.ts"
import { MoveRefused } from "./Errors.ts"
import { currentForm, formerForm, isFormer } from "./FormerFiles.ts"
import type { StoredForm } from "./FormerFiles.ts"
import { headerFault } from "./HeaderRules.ts"
import { MoveRepo } from "./MoveRepo.ts"
import { differences, isRow, parseLine, ruleOf } from "./MoveRules.ts"
import type { Column, End, Header, Row, TableStart } from "./MoveRules.ts"

/** What the import has read so far. */
interface Progress {
  lines: number
  header: Header | undefined
  seal: Seal | undefined
  end: End | undefined
  table: { readonly name: string; readonly storedIn: string; readonly columns: ReadonlyArray<Column> } | undefined
  form: StoredForm
  /** By the id at the source: the id of a person who is known here already. */
  readonly users: Map<string, string>
}

/** Rows in one statement, and the size of their text. */
const MAX_BATCH = 100
const MAX_BATCH_CHARS = 1_000_000

const refused = (message: string) => new MoveRefused({ message })

/** Begins tables, and inserts their rows. */
const tableImport = Effect.gen(function* () {
  const repo = yield* MoveRepo

  const beginTable = Effect.fnUntraced(function* ({ columns, partitions, table }: TableStart, progress: Progress) {
    const known = new Set([...(yield* movingTables(repo)), "users"])
    const { columnsOf, storedIn } = progress.form
    const stored = known.has(table) ? columnsOf(table, yield* repo.columns(storedIn(table))) : []
    const types = new Map(stored.map((column) => [column.name, column]))
    const found = columns.flatMap((name) => types.get(name) ?? [])
    if (found.length !== columns.length || types.size !== columns.length) {
      return yield* refused(`The table ${table} of the file has other columns than the one of this database.`)
    }
    if (ruleOf(table).isFedByTriggers === true && progress.header !== undefined) {
      yield* repo.deleteRows(table, progress.header.organization.id)
    }
    for (const partition of partitions) yield* repo.createPartition(table, partition)
    progress.table = { name: table, storedIn: storedIn(table), columns: found }
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
    const { columns, name, storedIn } = table
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
    yield* repo.insert(storedIn, columns, mapped)
  })

  return { beginTable, insertRows }
})

/** Takes the next lines of the file. */
const lineImport = Effect.gen(function* () {
  const repo = yield* MoveRepo
  const secrets = yield* Secrets
  const { beginTable, insertRows } = yield* tableImport

  return Effect.fnUntraced(function* (
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
        if (isFormer(line.migrations)) {
          progress.form = formerForm
          yield* repo.createFormerTables
        }
      } else if ("table" in line) yield* beginTable(line, progress)
      else progress.end = line
    }
    yield* flush
  })
})

export const makeImport = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const repo = yield* MoveRepo
  const take = yield* lineImport

  return Effect.fn("OrganizationMove.importFrom")(function* <E>(
    lines: Stream.Stream<string, E>,
    migrations: ReadonlyArray<string>,
  ) {
    const progress: Progress = {
      lines: 0,
      header: undefined,
      seal: undefined,
      end: undefined,
      table: undefined,
      form: currentForm,
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
        const isOfThisForm = !isFormer(header.migrations)
        const compared = isOfThisForm ? yield* movingTables(repo) : Object.keys(end.digests)
        const found = yield* digestsOf(repo, compared, header.organization.id, progress.form)
        const differing = differences(end.digests, found)
        if (differing.length > 0) {
          return yield* refused(
            `The imported rows differ from those of the source: ${differing.join(", ")}. Nothing was imported.`,
          )
        }
        if (!isOfThisForm) yield* repo.convertFormer
        if (seal === undefined || !isSealedBy(seal, end)) return yield* refused(`${CHANGED_FILE} Nothing was imported.`)
        return { organization: header.organization, counts: countsOf(end.digests) }
      }),
    )
  })
})
