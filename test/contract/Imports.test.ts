import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../src")

/** The domains in dependency order. Each may use models, errors and services of earlier domains. */
const domains = [
  "events",
  "organizations",
  "people",
  "access",
  "metadata",
  "connectors",
  "components",
  "releases",
  "zones",
  "entitlements",
  "groups",
  "licenses",
  "customers",
  "instances",
  "integrations",
  "usage",
  "flags",
  "webhooks",
  "maintenance",
  "demo",
]

/** The rank of a file. Within its domain, a file may import only files of the same or a lower rank. */
const rankOf = (file: string): number => {
  if (/^(Model|ExplanationModel|ReservationModel|Errors)\.ts$/.test(file)) return 1
  if (
    /^(Rules|Period|Decision|Aggregation|Limits|Account|Tally|Reporting|EventReading|Explanation|Holding|Api|PlatformApi)\.ts$/.test(
      file,
    )
  )
    return 2
  if (file === "Repo.ts") return 3
  if (/^(Http|PlatformHttp|Worker)\.ts$/.test(file)) return 5
  return 4
}

interface Import {
  readonly from: string
  readonly to: string
}

const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))

const imports: ReadonlyArray<Import> = sources.flatMap((from) =>
  [...readFileSync(join(root, from), "utf8").matchAll(/^(?:import|export) [^"]*?from "(\.[^"]+)"/gms)].map((match) => ({
    from,
    to: relative(root, resolve(root, dirname(from), match[1] ?? "")),
  })),
)

const parts = (file: string): readonly [folder: string, name: string] => {
  const slash = file.indexOf("/")
  return slash === -1 ? ["", file] : [file.slice(0, slash), file.slice(slash + 1)]
}

const violations = (rule: (source: Import) => boolean) =>
  imports.filter((edge) => !rule(edge)).map(({ from, to }) => `${from} imports ${to}`)

describe("imports of the source", () => {
  it("are found", () => {
    assert.isAbove(imports.length, 100)
  })

  it("every folder is a listed domain, or one of kernel, runtime, openapi, cli and client", () => {
    const folders = new Set(sources.map((file) => parts(file)[0]).filter((folder) => folder !== ""))
    assert.deepStrictEqual(
      [...folders].filter((folder) => ![...domains, "kernel", "runtime", "openapi", "cli", "client"].includes(folder)),
      [],
    )
  })

  it("the kernel imports only itself", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => !from.startsWith("kernel/") || to.startsWith("kernel/")),
      [],
    )
  })

  it("a domain does not import the runtime", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => !domains.includes(parts(from)[0]) || !to.startsWith("runtime/")),
      [],
    )
  })

  it("within a domain, a file imports only files of the same or a lower rank", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => {
        const [domain, file] = parts(from)
        const [target, used] = parts(to)
        return !domains.includes(domain) || domain !== target || rankOf(used) <= rankOf(file)
      }),
      [],
    )
  })

  it("a domain imports only models, errors and services of earlier domains", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => {
        const [domain, file] = parts(from)
        const [target, used] = parts(to)
        if (!domains.includes(domain) || !domains.includes(target) || domain === target) return true
        const rank = rankOf(used)
        return domains.indexOf(target) < domains.indexOf(domain) && (rank === 1 || (rank === 4 && rankOf(file) >= 4))
      }),
      [],
    )
  })

  it("rules use no services, no SQL and no clock", () => {
    const impure = sources
      .filter((file) =>
        /\/(Rules|Period|Decision|Aggregation|Limits|Account|Tally|Reporting|EventReading|Explanation|Holding)\.ts$/.test(
          file,
        ),
      )
      .filter((file) =>
        /\b(Context\.Service|yield\*|SqlClient|PgClient|Date\.now\(\))/.test(readFileSync(join(root, file), "utf8")),
      )
    assert.deepStrictEqual(impure, [])
  })

  it("no SQL reads the clock of the database", () => {
    const reading = sources
      .filter((file) => file.endsWith("Repo.ts"))
      .filter((file) =>
        /\b(now\(\)|clock_timestamp|current_timestamp|localtimestamp)/i.test(readFileSync(join(root, file), "utf8")),
      )
    assert.deepStrictEqual(reading, [])
  })

  it("the keys of references and services have different prefixes", () => {
    const keys = (pattern: RegExp) =>
      sources.flatMap((file) => Array.from(readFileSync(join(root, file), "utf8").matchAll(pattern), ([, key]) => key))
    const references = keys(/Context\.Reference<.*?>\(\s*"(.*?)"/gs)
    const services = keys(/Context\.Service<.*?>\(\)\(\s*"(.*?)"/gs)
    assert.isAbove(references.length, 5)
    assert.isAbove(services.length, 50)
    const wrong = [
      ...references.filter((key) => !key?.startsWith("keyshelf.reference/")),
      ...services.filter((key) => !key?.startsWith("keyshelf/")),
    ]
    assert.deepStrictEqual(wrong, [])
  })
})
