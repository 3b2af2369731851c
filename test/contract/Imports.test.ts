import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../src")

/** The domains in their fixed order: each may use those before it, through their models, errors and services. */
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

/** What a file may import inside its domain: files of its own rank or below. */
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

describe("the imports of the source", () => {
  it("reads imports at all", () => {
    assert.isAbove(imports.length, 100)
  })

  it("every folder is the kernel, the runtime, the documents, the commands, the client, or a domain with its place in the order", () => {
    const folders = new Set(sources.map((file) => parts(file)[0]).filter((folder) => folder !== ""))
    assert.deepStrictEqual(
      [...folders].filter((folder) => ![...domains, "kernel", "runtime", "openapi", "cli", "client"].includes(folder)),
      [],
    )
  })

  it("the kernel imports nothing but itself", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => !from.startsWith("kernel/") || to.startsWith("kernel/")),
      [],
    )
  })

  it("a domain imports no adapter", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => !domains.includes(parts(from)[0]) || !to.startsWith("runtime/")),
      [],
    )
  })

  it("inside a domain imports go from models to rules to repositories to services to handlers", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => {
        const [domain, file] = parts(from)
        const [target, used] = parts(to)
        return !domains.includes(domain) || domain !== target || rankOf(used) <= rankOf(file)
      }),
      [],
    )
  })

  it("across domains only models, errors and services are imported, in the fixed order", () => {
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

  it("only rules decide: they import models and other rules, and touch no service", () => {
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

  it("no SQL asks the database for the time", () => {
    const asking = sources
      .filter((file) => file.endsWith("Repo.ts"))
      .filter((file) =>
        /\b(now\(\)|clock_timestamp|current_timestamp|localtimestamp)/i.test(readFileSync(join(root, file), "utf8")),
      )
    assert.deepStrictEqual(asking, [])
  })

  it("a key tells a reference, which requests inherit, from a service, which they do not", () => {
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
