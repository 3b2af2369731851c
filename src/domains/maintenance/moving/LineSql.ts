/** SQL of rows as the lines of a file, for tables and columns whose names are known only when it runs. */
import { ruleOf } from "./MoveRules.ts"
import type { Column } from "./MoveRules.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** A row as an array of texts. */
export const lineOf = (table: string, columns: ReadonlyArray<Column>): string => {
  const values = ruleOf(table).values ?? {}
  return `to_json(ARRAY[${columns.map(({ name }) => `(${values[name] ?? quoted(name)})::text`).join(", ")}])::text`
}

/** The lines of the rows of an organization. */
export const rowsOf = (table: string, columns: ReadonlyArray<Column>, organizationId: OrganizationId): string => {
  const key = table === "organizations" ? "id" : "organization_id"
  return `SELECT ${lineOf(table, columns)} AS line FROM ${quoted(table)} WHERE ${key} = ${literal(organizationId)}::uuid`
}

/** The columns whose values are the same at the source and at the destination. */
export const comparedColumns = (table: string, columns: ReadonlyArray<Column>): ReadonlyArray<Column> => {
  const { notCompared = [] } = ruleOf(table)
  return columns.filter(({ name }) => !notCompared.includes(name))
}
