/**
 * What moves with an organization, and the format of its file: lines of JSON. A header, then for each table a line with its
 * columns and one line per row, then the end with a digest of each table. A row is an array of texts as PostgreSQL writes
 * them, so that no digit and no byte is lost.
 */
import { Option, Result, Schema } from "effect"

export const FORMAT = "keyshelf-organization"
export const FORMAT_VERSION = 2

/** How the rows of a table move, where that differs from copying them. */
interface TableRule {
  /** Columns that get another value: SQL. */
  readonly values?: Readonly<Record<string, string>>
  /** Columns that are not compared, because they differ without a change of the organization. */
  readonly notCompared?: ReadonlyArray<string>
  /** The rows change while nobody uses the organization: deliveries go on, answers expire. */
  readonly isLive?: true
  /** Triggers write rows while those of other tables are imported. So these come last, and replace them. */
  readonly isFedByTriggers?: true
  /** The destination makes its own partitions, because they have keys that their table has not. */
  readonly hasOwnPartitions?: true
}

/** The tables whose rows are not only copied. All others are. */
const TABLE_RULES: Readonly<Record<string, TableRule>> = {
  // Its issuer, a platform credential, stays where it is.
  credentials: { values: { parent_id: "NULL" }, notCompared: ["last_used_at"] },
  catalog_versions: { isFedByTriggers: true },
  term_schedules: { isFedByTriggers: true },
  // Its rows go with those of term_schedules.
  term_notices: { isFedByTriggers: true },
  // A person who is known at the destination keeps the id there.
  memberships: { notCompared: ["user_id"] },
  usage_events: { hasOwnPartitions: true },
  webhook_endpoints: { notCompared: ["failing_since"] },
  // The leases belong to nodes of the source. Without them, the nodes of the destination deliver.
  webhook_queue: { isLive: true, values: { lease: "NULL", claimed_at: "NULL", owner: "NULL" } },
  webhook_outbox: { isLive: true },
  webhook_lanes: { isLive: true },
  webhook_attempts: { isLive: true },
  idempotency_keys: { isLive: true },
}

export const ruleOf = (table: string): TableRule => TABLE_RULES[table] ?? {}

/** A column of a table, and its type in SQL. */
export interface Column {
  readonly name: string
  readonly type: string
}

/** A partition with rows of the organization. */
const Partition = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/^[a-z0-9_]{1,63}$/)),
  bounds: Schema.String.check(
    Schema.isPattern(/^(FOR VALUES FROM \((MINVALUE|'[^']*')\) TO \((MAXVALUE|'[^']*')\)|DEFAULT)$/),
  ),
})
export type Partition = typeof Partition.Type

const Digest = Schema.Struct({ rows: Schema.Int, digest: Schema.String })
/** How many rows a table has, and the sum of their hashes: it does not depend on their order. */
export type Digest = typeof Digest.Type

const Header = Schema.Struct({
  format: Schema.Literal(FORMAT),
  version: Schema.Int,
  organization: Schema.Struct({ id: Schema.String, slug: Schema.String }),
  exportedAt: Schema.String,
  /** The applied migrations, by name. */
  migrations: Schema.Array(Schema.String),
  /** The secret keys that tokens, secrets and cursors need, each with its check value in hexadecimal. */
  keys: Schema.Array(Schema.Struct({ id: Schema.String, check: Schema.NullOr(Schema.String) })),
  /** The id of the secret key that seals the file. Version 1 had none. */
  sealedWith: Schema.optionalKey(Schema.String),
  connectors: Schema.Array(Schema.String),
  /** Until when the source has sums of usage only. */
  usageDroppedUntil: Schema.optionalKey(Schema.NullOr(Schema.String)),
})
export type Header = typeof Header.Type

const TableStart = Schema.Struct({
  table: Schema.String,
  columns: Schema.Array(Schema.String),
  partitions: Schema.Array(Partition),
})
export type TableStart = typeof TableStart.Type

const End = Schema.Struct({
  digests: Schema.Record(Schema.String, Digest),
  /** Over all lines before, and the digests: see `ArchiveSeal.ts`. */
  seal: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)),
})
export type End = typeof End.Type

const Row = Schema.Array(Schema.NullOr(Schema.String))
export type Row = typeof Row.Type

const Line = Schema.fromJsonString(Schema.Union([Row, TableStart, End, Header]))
const readLine = Schema.decodeUnknownOption(Line)

/** A line of the file; none for one that does not belong there. */
export const parseLine = (text: string): Option.Option<Row | TableStart | End | Header> => readLine(text)

export const isRow = (line: Row | TableStart | End | Header): line is Row => Array.isArray(line)

/** The tables that differ. */
export const differences = (
  expected: Readonly<Record<string, Digest>>,
  found: Readonly<Record<string, Digest>>,
): ReadonlyArray<string> =>
  Object.keys({ ...expected, ...found })
    .filter((table) => {
      const [left, right] = [expected[table], found[table]]
      return left?.rows !== right?.rows || left?.digest !== right?.digest
    })
    .toSorted()

/** Compares the keys of a header with those of an installation: what is missing or differs. */
export const keyFaults = (needed: Header["keys"], own: ReadonlyMap<string, string>): Result.Result<void, string> => {
  for (const { check, id } of needed) {
    const value = own.get(id)
    if (value === undefined) {
      return Result.fail(
        `The organization needs the secret key "${id}", which SERVICE_SECRET_KEY does not contain here. Add it, after the keys that are there, on all processes of this installation.`,
      )
    }
    if (check !== null && check !== value) {
      return Result.fail(
        `The secret key "${id}" of this installation is another one than at the source: tokens and secrets of the organization would not verify. Give one of the two a new id, rotate it, and export again.`,
      )
    }
  }
  return Result.void
}
