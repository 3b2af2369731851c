/**
 * What moves with an organization, and the format of its file: lines of JSON. A header, then for each table a line with its
 * columns and one line per row, then the end with a digest of each table. A row is an array of texts as PostgreSQL writes
 * them, so that no digit and no byte is lost.
 */
import { Option, Result, Schema } from "effect"
import { tables } from "../../../../migrations/tables.ts"
import type { MovingRule } from "../../../../migrations/tables.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"

export const FORMAT = "keyshelf-organization"
export const FORMAT_VERSION = 2

const rules = new Map(tables.map(({ moving, name }) => [name, moving]))

/** How the rows of a table move. Most are only copied. */
export const ruleOf = (table: string): MovingRule => rules.get(table) ?? {}

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

/** How many rows a table has, and the sum of their hashes: it does not depend on their order. */
export const Digest = Schema.Struct({ rows: Schema.Int, digest: Schema.String })
export type Digest = typeof Digest.Type

const Header = Schema.Struct({
  format: Schema.Literal(FORMAT),
  version: Schema.Int,
  organization: Schema.Struct({ id: OrganizationId, slug: Schema.String }),
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
