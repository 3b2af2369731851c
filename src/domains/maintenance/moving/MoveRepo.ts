/** SQL that reads and writes all rows of an organization, in every table that the catalogue has. */
import type { SqlError } from "effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { RowsOf } from "../../../kernel/database/RemovedOrganizations.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { decodedOrFailed } from "../../../kernel/database/Statements.ts"
import { peppersOf } from "../../access/tokens/TokensSql.ts"
import { connectorsOf, registeredConnectors } from "../../connectors/ConnectorsSql.ts"
import { connectorsOfRecords } from "../../integrations/RecordsSql.ts"
import { presentOrganizations, takenOf } from "../../organizations/OrganizationsSql.ts"
import { membersText, userLike } from "../../people/PeopleSql.ts"
import { applySumsUntil, droppedUntilText, eventsBefore, lockedDrops } from "../../usage/partitions/DaysSql.ts"
import { removalOrder } from "../RemovalOrder.ts"
import { convertFormer, formerTables } from "./FormerFiles.ts"
import { MoveRefused } from "./Errors.ts"
import { comparedColumns, lineOf, literal, quoted, rowsOf } from "./LineSql.ts"
import { Digest, ruleOf } from "./MoveRules.ts"
import type { Column, Partition, Row } from "./MoveRules.ts"
import { transactionSettings } from "./TransactionSql.ts"

const MAX_ROWS = 100

const OrganizationRow = Schema.Struct({ id: OrganizationId, slug: Schema.String })
type OrganizationRow = typeof OrganizationRow.Type

const Named = Schema.Struct({ name: Schema.String })
const Keyed = Schema.Struct({ key: Schema.String })
const Line = Schema.Struct({ line: Schema.String })
const StoredColumn = Schema.Struct({ name: Schema.String, type: Schema.String })
const FoundPartition = Schema.Struct({ name: Schema.String, bounds: Schema.String })
const Taken = Schema.Struct({ what: Schema.String })
const FoundUser = Schema.Struct({ id: Schema.String })

/** Until when usage has sums only, as PostgreSQL writes it, and whether a month is about to be dropped. */
const DroppedUsage = Schema.Struct({ until: Schema.NullOr(Schema.String), drops: Schema.Boolean })
const DroppedUntil = Schema.Struct({ at: Schema.NullOr(Schema.String) })

/** Reads and writes the rows of organizations that are moved. */
export class MoveRepo extends Context.Service<
  MoveRepo,
  {
    /** Makes a transaction read one snapshot of the database, without timeouts. Call it first in the transaction. */
    readonly readSnapshot: Effect.Effect<void, SqlError>
    /** Disables the timeouts for statements and idle time in a transaction. */
    readonly withoutTimeouts: Effect.Effect<void, SqlError>
    /**
     * All tables with rows of organizations, in the order in which they can be inserted, and those that this version
     * does not know.
     */
    readonly tables: Effect.Effect<
      { readonly ordered: ReadonlyArray<string>; readonly unknown: ReadonlyArray<string> },
      SqlError
    >
    /** Creates the temporary tables for a file of a version before 0.2.0. */
    readonly createFormerTables: Effect.Effect<void, SqlError>
    /** Stores the rows of these tables in the current form. */
    readonly convertFormer: Effect.Effect<void, SqlError>
    /** The columns that are stored. The database computes generated ones itself. */
    readonly columns: (table: string) => Effect.Effect<ReadonlyArray<Column>, SqlError>
    /** The partitions with rows of the organization. */
    readonly partitions: (
      table: string,
      organizationId: OrganizationId,
    ) => Effect.Effect<ReadonlyArray<Partition>, SqlError>
    /** Creates a partition if it is missing. Where its bounds overlap others, these take the rows. */
    readonly createPartition: (table: string, partition: Partition) => Effect.Effect<void>
    /** Reads the rows of a table as lines, some at a time. Needs a transaction. */
    readonly forEachRows: <E>(
      table: string,
      columns: ReadonlyArray<Column>,
      organizationId: OrganizationId,
      use: (lines: ReadonlyArray<string>) => Effect.Effect<void, E>,
    ) => Effect.Effect<void, SqlError | E>
    /** The digest of the compared columns of a table. */
    readonly digest: (
      table: string,
      columns: ReadonlyArray<Column>,
      organizationId: OrganizationId,
    ) => Effect.Effect<Digest, SqlError>
    /** Inserts rows whose values are in the order of the columns. */
    readonly insert: (
      table: string,
      columns: ReadonlyArray<Column>,
      rows: ReadonlyArray<Row>,
    ) => Effect.Effect<void, SqlError>
    /** Deletes the rows of the organization in a table. */
    readonly deleteRows: (table: string, organizationId: OrganizationId) => Effect.Effect<void, SqlError>
    /** The organization with this slug, unless it is removed. */
    readonly findBySlug: (slug: string) => Effect.Effect<OrganizationRow | undefined, SqlError>
    /** An organization with the id, the slug or the external id of a row to import, and which of them it is. */
    readonly findTaken: (
      id: string,
      slug: string,
      externalId: string | null,
    ) => Effect.Effect<string | undefined, SqlError>
    /** The users of an organization, as lines of their table. */
    readonly users: (
      columns: ReadonlyArray<Column>,
      organizationId: OrganizationId,
    ) => Effect.Effect<ReadonlyArray<string>, SqlError>
    /** The user with this id, or else with this identity at the provider. */
    readonly findUser: (
      id: string,
      issuer: string | null,
      subject: string | null,
    ) => Effect.Effect<string | undefined, SqlError>
    /** A new set of the ids of the keys that stored tokens and sealed values of the organization need. */
    readonly keyIds: (organizationId: OrganizationId) => Effect.Effect<Set<string>, SqlError>
    /** The connectors of the operator that rows of the organization name. Built-in ones are in every installation. */
    readonly connectors: (organizationId: OrganizationId) => Effect.Effect<ReadonlyArray<string>, SqlError>
    /** Until when usage has sums only. */
    readonly usageDroppedUntil: Effect.Effect<string | null, SqlError>
    /**
     * Makes sums of usage apply as at the source, after rows were imported. Sums and events of the same time exclude each other in the
     * whole installation. While it drops a month, the imported events would be missing in the sums.
     */
    readonly alignUsage: (atSource: string | null) => Effect.Effect<void, SqlError | MoveRefused>
    /** The connectors that this installation has. */
    readonly knownConnectors: Effect.Effect<ReadonlySet<string>, SqlError>
  }
>()("keyshelf/maintenance/MoveRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(MoveRepo, make))
}

/** The tables of the database, their columns and their partitions. */
const catalogue = (sql: PgClient.PgClient, removals: ReadonlyArray<RowsOf>) => ({
  tables: Effect.gen(function* () {
    const found = yield* decodedOrFailed(Named)(sql`
      SELECT c.relname AS name FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT a.attisdropped
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`)
    const known = removals.map(({ table }) => table).toReversed()
    const isFed = (table: string) => ruleOf(table).isFedByTriggers === true
    return {
      ordered: ["organizations", ...known.filter((table) => !isFed(table)), ...known.filter(isFed)],
      unknown: found.map(({ name }) => name).filter((name) => !known.includes(name)),
    }
  }),

  createFormerTables: Effect.forEach(formerTables, (statement) => sql.unsafe(statement), { discard: true }),

  convertFormer: Effect.forEach(convertFormer, (statement) => sql.unsafe(statement), { discard: true }),

  columns: (table: string) =>
    decodedOrFailed(StoredColumn)(sql`
      SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
      WHERE attrelid = ${quoted(table)}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      ORDER BY attname`),

  partitions: (table: string, organizationId: OrganizationId) =>
    Effect.gen(function* () {
      if (ruleOf(table).hasOwnPartitions === true) return []
      const children = yield* decodedOrFailed(FoundPartition)(sql`
        SELECT child.relname AS name, pg_get_expr(child.relpartbound, child.oid) AS bounds FROM pg_inherits
        JOIN pg_class child ON child.oid = inhrelid AND child.relispartition
        WHERE inhparent = ${quoted(table)}::regclass ORDER BY child.relname`)
      return yield* Effect.filter(children, ({ name }) =>
        Effect.map(
          sql`SELECT 1 FROM ${sql(name)} WHERE organization_id = ${organizationId} LIMIT 1`,
          (rows) => rows.length > 0,
        ),
      )
    }),

  createPartition: (table: string, { bounds, name }: Partition) =>
    sql
      .unsafe(`CREATE TABLE IF NOT EXISTS ${quoted(name)} PARTITION OF ${quoted(table)} ${bounds}`)
      .pipe(sql.withTransaction, Effect.ignore),
})

/** The rows of an organization, table by table. */
const tableRows = (sql: PgClient.PgClient) => ({
  forEachRows: Effect.fnUntraced(function* <E>(
    table: string,
    columns: ReadonlyArray<Column>,
    organizationId: OrganizationId,
    use: (lines: ReadonlyArray<string>) => Effect.Effect<void, E>,
  ) {
    yield* sql.unsafe(`DECLARE moving NO SCROLL CURSOR FOR ${rowsOf(table, columns, organizationId)}`)
    for (;;) {
      const rows = yield* decodedOrFailed(Line)(sql.unsafe(`FETCH ${MAX_ROWS} FROM moving`))
      if (rows.length === 0) break
      yield* use(rows.map(({ line }) => line))
    }
    yield* sql.unsafe("CLOSE moving")
  }),

  digest: (table: string, columns: ReadonlyArray<Column>, organizationId: OrganizationId) =>
    Effect.map(
      decodedOrFailed(Digest)(
        sql.unsafe(`
          SELECT count(*)::float8 AS rows, coalesce(sum(('x' || left(md5(line), 15))::bit(60)::bigint), 0)::text AS digest
          FROM (${rowsOf(table, comparedColumns(table, columns), organizationId)}) AS lines`),
      ),
      ([row]): Digest => row ?? { rows: 0, digest: "" },
    ),

  insert: (table: string, columns: ReadonlyArray<Column>, rows: ReadonlyArray<Row>) =>
    sql.unsafe(
      `INSERT INTO ${quoted(table)} (${columns.map(({ name }) => quoted(name)).join(", ")})
       SELECT ${columns.map(({ type }, at) => `(line ->> ${at})::${type}`).join(", ")}
       FROM jsonb_array_elements($1::text::jsonb) AS line`,
      [JSON.stringify(rows)],
    ),

  deleteRows: (table: string, organizationId: OrganizationId) =>
    sql`DELETE FROM ${sql(table)} WHERE organization_id = ${organizationId}`,

  users: (columns: ReadonlyArray<Column>, organizationId: OrganizationId) =>
    Effect.map(
      decodedOrFailed(Line)(sql.unsafe(membersText(`${lineOf("users", columns)} AS line`, literal(organizationId)))),
      (rows) => rows.map(({ line }) => line),
    ),
})

/** What the installation knows of the organization, and of what it refers to. */
const lookups = (sql: PgClient.PgClient) => ({
  findBySlug: (slug: string) =>
    Effect.map(decodedOrFailed(OrganizationRow)(sql`${presentOrganizations(sql)} AND slug = ${slug}`), ([row]) => row),

  findTaken: (id: string, slug: string, externalId: string | null) =>
    Effect.map(decodedOrFailed(Taken)(sql`${takenOf(sql, id, slug, externalId)}`), ([row]) => row?.what),

  findUser: (id: string, issuer: string | null, subject: string | null) =>
    Effect.map(decodedOrFailed(FoundUser)(sql`${userLike(sql, { id, issuer, subject })}`), ([row]) => row?.id),

  keyIds: (organizationId: OrganizationId) =>
    Effect.gen(function* () {
      const sealed = yield* decodedOrFailed(Named)(sql`
        SELECT table_name AS name FROM information_schema.columns
        WHERE table_schema = current_schema() AND column_name = 'sealed' ORDER BY table_name`)
      const tokens = yield* decodedOrFailed(Keyed)(sql`${peppersOf(sql, organizationId)}`)
      const values = yield* Effect.forEach(sealed, ({ name }) =>
        decodedOrFailed(Keyed)(sql`
            SELECT DISTINCT split_part(sealed, '.', 2) AS key FROM ${sql(name)}
            WHERE organization_id = ${organizationId} AND sealed IS NOT NULL`),
      )
      return new Set([...tokens, ...values.flat()].map(({ key }) => key))
    }),

  connectors: (organizationId: OrganizationId) =>
    Effect.map(
      decodedOrFailed(Named)(sql`
        ${registeredConnectors(sql)} WHERE name IN (
          ${connectorsOf(sql, organizationId)} UNION ${connectorsOfRecords(sql, organizationId)})
        ORDER BY name`),
      (rows) => rows.map(({ name }) => name),
    ),

  knownConnectors: Effect.map(
    decodedOrFailed(Named)(sql`${registeredConnectors(sql)}`),
    (rows) => new Set(rows.map(({ name }) => name)),
  ),
})

/** Since when usage has events. */
const usageSums = (sql: PgClient.PgClient) => ({
  usageDroppedUntil: Effect.map(
    decodedOrFailed(DroppedUntil)(sql.unsafe(droppedUntilText)),
    ([row]) => row?.at ?? null,
  ),

  alignUsage: Effect.fnUntraced(function* (atSource: string | null) {
    const [own] = yield* decodedOrFailed(DroppedUsage)(sql`${lockedDrops(sql, atSource)}`)
    if (own?.drops === true) {
      return yield* new MoveRefused({
        message: "This installation is about to drop a month of usage. Import again when a sweep has done it.",
      })
    }
    if (own == null || own.until === null) return
    const older = yield* sql`${eventsBefore(sql, own.until)}`
    if (older.length > 0) {
      return yield* new MoveRefused({
        message: `One of the installations stores events of usage before ${own.until}, and the other one only their sums. Set SERVICE_RETENTION_USAGE_EVENTS to the same in both, and export again after a sweep.`,
      })
    }
    yield* sql.unsafe(applySumsUntil(literal(own.until)))
  }),
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return {
    ...transactionSettings(sql),
    ...catalogue(sql, yield* removalOrder),
    ...tableRows(sql),
    ...lookups(sql),
    ...usageSums(sql),
  }
})
