import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { tables } from "../../migrations/tables.ts"

const root = resolve(import.meta.dirname, "../../src/domains")
const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
const textOf = (file: string): string => readFileSync(join(root, file), "utf8")

const owners = new Map(tables.map(({ name, owner }) => [name, owner]))
const names = [...owners.keys()]

/** How a text uses a table: its SQL selects rows, or changes or locks them; or the name is built into SQL. */
type Use = "read" | "write" | "name"

/** Comments of TypeScript, and of SQL on lines of their own. */
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*(?:\/\/|--).*$/gm

const NAME = String.raw`[a-z_]+(?![\w.])(?:\s+(?:AS\s+)?[a-z_]+)?`
const READS = new RegExp(String.raw`\b(?:FROM|JOIN|USING)\s+(?:ONLY\s+)?(${NAME}(?:\s*,\s*${NAME})*)`, "g")
const WRITES = /\b(?:INSERT INTO|DELETE FROM|UPDATE|TRUNCATE|LOCK TABLE)\s+(?:ONLY\s+)?([a-z_]+)/g
/** What a name of one word is given to if it is a table: in other places it is a noun. */
const AS_TABLE =
  /\b(?:sql|literal|identifier|rowsIn\w*|readableRows)\("([a-z]+)"|\btable\??: "([a-z]+)"|\bto_regclass\('([a-z]+)'/g
/** A name of several words, but for scopes. */
const COMPOUND = /(?<![\w.:])([a-z]+(?:_[a-z]+)+)(?![\w.])/g

const CTE = /\b([a-z_]+)\s*(?:\([\w\s,]*\)\s*)?AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(/g

const namesBy = (pattern: RegExp, text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(pattern), (match) => match.slice(1).find((group) => group !== undefined) ?? "")

/** The tables that a text uses, each use once. A CTE hides the table of its name. */
const usesIn = (source: string): ReadonlyArray<string> => {
  const text = source.replaceAll(COMMENT, "")
  const hidden = new Set(namesBy(CTE, text))
  const found = (use: Use, mentioned: ReadonlyArray<string>) =>
    mentioned.filter((name) => owners.has(name) && !hidden.has(name)).map((name) => `${use} ${name}`)
  const selected = namesBy(READS, text).flatMap((list) =>
    list.split(",").map((each) => each.trim().split(/\s/)[0] ?? ""),
  )
  const written = namesBy(WRITES, text)
  const named = [...namesBy(AS_TABLE, text), ...namesBy(COMPOUND, text)]
  const inSql = new Set([...selected, ...written])
  return [
    ...new Set([
      ...found("read", selected),
      ...found("write", written),
      ...found(
        "name",
        named.filter((name) => !inSql.has(name)),
      ),
    ]),
  ]
}

/** Uses of tables that belong to another domain, each as `file: use table`. */
const foreignUses = (file: string, text: string): ReadonlyArray<string> =>
  usesIn(text)
    .filter((use) => owners.get(use.split(" ")[1] ?? "") !== file.split("/")[0])
    .map((use) => `${file}: ${use}`)

describe("the reader of tables in SQL", () => {
  it("finds reads: in FROM and JOIN, of several tables, in lines that follow", () => {
    assert.deepStrictEqual(usesIn("SELECT i.id FROM instances i\n  JOIN customers c ON c.id = i.customer_id"), [
      "read instances",
      "read customers",
    ])
    assert.deepStrictEqual(usesIn("SELECT 1 FROM\n licenses l, license_families AS f WHERE true"), [
      "read licenses",
      "read license_families",
    ])
    assert.deepStrictEqual(usesIn("DELETE FROM components USING releases r"), [
      "read components",
      "read releases",
      "write components",
    ])
  })

  it("finds writes and locks", () => {
    assert.deepStrictEqual(usesIn("INSERT INTO events (id)"), ["write events"])
    assert.deepStrictEqual(usesIn("WITH a AS (UPDATE ONLY usage_totals t SET value = 1)"), ["write usage_totals"])
    assert.deepStrictEqual(usesIn("LOCK TABLE ONLY usage_events IN ACCESS EXCLUSIVE MODE"), ["write usage_events"])
  })

  it("finds names in strings", () => {
    assert.deepStrictEqual(usesIn('for (const table of ["usage_totals", "usage_days"]) sql(table)'), [
      "name usage_totals",
      "name usage_days",
    ])
    assert.deepStrictEqual(usesIn('rowByKey(sql, "slug", { table: "licenses" })'), ["name licenses"])
    assert.deepStrictEqual(usesIn('sql("customers")'), ["name customers"])
    assert.deepStrictEqual(usesIn("VACUUM (SKIP_LOCKED) webhook_outbox, webhook_lanes"), [
      "name webhook_outbox",
      "name webhook_lanes",
    ])
    assert.deepStrictEqual(usesIn("SELECT to_regclass('credentials')"), ["name credentials"])
  })

  it("takes no column, no CTE, no alias, no noun and no comment for a table", () => {
    for (const text of [
      "SELECT (SELECT instances FROM given), entitlements FROM given",
      "WITH instances AS MATERIALIZED (SELECT 1), events (id) AS (SELECT 2) SELECT * FROM instances JOIN events ON true",
      "SELECT * FROM unnest(1) AS licenses (id) WHERE licenses.id > 1",
      'blocking: [{ kind: "releases" }], name: "customers", case "instances":',
      "// FROM instances\n/** UPDATE customers */\nsql`\n  -- FROM licenses\n`",
      "a NOT DISTINCT FROM events.id, extract(year FROM usage_events.timestamp)",
    ]) {
      assert.deepStrictEqual(usesIn(text), [], text)
    }
  })

  it("is not misled by a CTE: none has the name of a table", () => {
    const ctes = new Set(sources.flatMap((file) => namesBy(CTE, textOf(file).replaceAll(COMMENT, ""))))
    assert.isAbove(ctes.size, 10)
    assert.deepStrictEqual(
      names.filter((name) => ctes.has(name)),
      [],
    )
  })

  it("finds what the domains themselves use of their own tables", () => {
    const used = new Set(sources.flatMap((file) => usesIn(textOf(file))).map((use) => use.split(" ")[1]))
    assert.deepStrictEqual(
      names.filter((name) => !used.has(name)),
      [],
    )
  })
})

describe("a table", () => {
  /** They name other tables on purpose: impacts select what a change concerns in one statement; moving works on all tables by name. */
  const mayUse = (file: string, use: string): boolean =>
    (file.startsWith("impact/") && use.startsWith("read ")) ||
    (file.startsWith("maintenance/") && use.startsWith("name "))

  it("is used by its domain; by others only through SQL that its domain offers", () => {
    assert.deepStrictEqual(
      sources.flatMap((file) =>
        foreignUses(file, textOf(file)).filter((found) => !mayUse(file, found.slice(file.length + 2))),
      ),
      [],
    )
  })

  it("is offered in a file that other domains may import", () => {
    assert.deepStrictEqual(
      sources.filter((file) => /\breadableRows\("/.test(textOf(file)) && !file.endsWith("Sql.ts")),
      [],
    )
  })
})
