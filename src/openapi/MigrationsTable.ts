/** The table of migrations in `docs/upgrading.md`, from what each one declares. Pure. */
import type { Impact } from "../../migrations/impact.ts"
import { impacts } from "../../migrations/impacts.ts"

const BEGIN = "<!-- Generated from the migrations by `npm run generate`. -->\n"
const END = "<!-- End of the generated part. -->"

const HEADING = `| Migration | Locks until the last one ends | Reads completely | Per million rows | Can run before | Until all processes are replaced |
|---|---|---|---|---|---|`

const locksOf = ({ locks }: Impact): string =>
  Array.from(
    Map.groupBy(locks, ({ mode }) => mode),
    ([mode, own]) => `${mode}: ${own.map(({ table }) => `\`${table}\``).join(", ")}`,
  ).join("; ")

const timeOf = ({ millisecondsPerMillionRows: millis, reads }: Impact): string => {
  if (reads.length === 0) return ""
  return millis < 1000 ? `${millis} ms` : `${millis / 1000} s`
}

const statements = ({ before = [] }: Impact): string =>
  before.length === 0 ? "" : `${before.length} ${before.length === 1 ? "statement" : "statements"}`

const rowOf = ([name, impact]: readonly [string, Impact]): string => {
  const reads = impact.reads.map((table) => `\`${table}\``).join(", ")
  const cells = [`\`${name}\``, locksOf(impact), reads, timeOf(impact), statements(impact), impact.until ?? ""]
  return `| ${cells.join(" | ")} |`
}

/** The page with the table of today's migrations. */
export const withMigrations = (page: string): string => {
  const start = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (start === -1 || end < start) return page
  const table = [HEADING, ...Object.entries(impacts).map(rowOf)].join("\n")
  return `${page.slice(0, start + BEGIN.length)}\n${table}\n\n${page.slice(end)}`
}
