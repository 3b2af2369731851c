import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../src")

/** The storeys of the house. An import goes to a lower storey or stays in its folder. */
const storeys: Readonly<Record<string, number>> = {
  kernel: 0,
  // A module for other programs, which carries nothing of the service.
  offline: 0,
  // A module for products, too: it decides by `offline`.
  local: 1,
  // What local clients need of the machine: its clock, files and locks. Clients for Node.js and edges share it.
  machine: 2,
  domains: 1,
  infra: 1,
  api: 2,
  openapi: 3,
  client: 3,
  http: 4,
  demo: 4,
  app: 5,
  // Another program than the service: it opens no database.
  edge: 5,
  cli: 6,
  // The command tree: the only file at the root.
  "cli.ts": 7,
}

/** The domains in their order: each may use those before it. */
const domains = [
  "idempotency",
  "events",
  "organizations",
  "people",
  "access",
  "signing",
  "metadata",
  "connectors",
  "components",
  "entitlements",
  "groups",
  "releases",
  "zones",
  "licenses",
  "customers",
  "instances",
  "integrations",
  "usage",
  "imports",
  "licensemoves",
  "flags",
  "offline",
  "impact",
  "overview",
  "webhooks",
  "audit",
  "maintenance",
]

const MAX_FILES = 14
const MAX_LINES = 300

const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
const textOf = (file: string): string => readFileSync(join(root, file), "utf8")

const TOUCHES_SERVICES = /\b(Context\.Service|yield\*|SqlClient|PgClient|Layer\.)/

const isIn = (folder: string, file: string): boolean => basename(dirname(file)) === folder

const SERVICE = 4

/**
 * What a file may import in its domain: files of its own rank or below. The folder `rules` holds the domain's words and decisions,
 * which models use too. Any name that is no role is a service.
 */
const rankOf = (file: string): number => {
  const name = basename(file, ".ts").replace(/Sharded$/, "")
  if (/Model$|^Errors$/.test(name) || isIn("rules", file)) return 1
  if (name.endsWith("Rules")) return 2
  if (/Api$|Repo$|Sql$/.test(name)) return 3
  if (/^(Retention|Worker)$|Http$/.test(name)) return 5
  if (name === "Layer") return 6
  return SERVICE
}

/** The rank of a file that is imported: a pure one under a name of its own, such as `Account`, is open to SQL and rules. */
const rankImported = (file: string): number =>
  rankOf(file) === SERVICE && !TOUCHES_SERVICES.test(textOf(file)) ? 2 : rankOf(file)

/** Whether another domain may import the file: models, errors, services and fragments of SQL. */
const isShared = (file: string, importer: string): boolean =>
  (importer === "maintenance" && file.endsWith("/Retention.ts")) ||
  !(/(Rules|Api|Repo|Http|Retention|Worker|Layer)(Sharded)?\.ts$/.test(file) || isIn("rules", file))

interface Import {
  readonly from: string
  readonly to: string
}

/** `import` and `export ... from`, of values and of types, `import "..."` and `import("...")`. */
const IMPORT = /(?:^(?:import|export)\s[^"]*?from\s+|^import\s+|\bimport\(\s*)"(\.[^"]+)"/gm

const imports: ReadonlyArray<Import> = sources.flatMap((from) =>
  Array.from(textOf(from).matchAll(IMPORT), ([, path = ""]) => ({
    from,
    to: relative(root, resolve(root, dirname(from), path)),
  })),
)

/** Imports within `src`; not of `migrations` and `package.json`, which are outside. */
const inside = imports.filter(({ to }) => !to.startsWith(".."))

const topOf = (file: string): string => file.split("/")[0] ?? ""
const domainOf = (file: string): string | undefined => (topOf(file) === "domains" ? file.split("/")[1] : undefined)

/** The subfolder of its domain that a file stands in, if any: `domains/usage/check` of a file below it. */
const nounOf = (file: string): string | undefined => {
  const parts = dirname(file).split("/")
  return parts[0] === "domains" && parts.length > 2 ? parts.slice(0, 3).join("/") : undefined
}

const violations = (rule: (edge: Import) => boolean): ReadonlyArray<string> =>
  inside.filter((edge) => !rule(edge)).map(({ from, to }) => `${from} imports ${to}`)

/** The cycles among nodes that imports lead to, each as a list of its nodes. */
const cyclesOf = (nodeOf: (file: string) => string | undefined): ReadonlyArray<string> => {
  const targets = new Map<string, Set<string>>()
  for (const { from, to } of inside) {
    const [a, b] = [nodeOf(from), nodeOf(to)]
    if (a === undefined || b === undefined || a === b) continue
    targets.set(a, (targets.get(a) ?? new Set()).add(b))
  }
  const reachable = (start: string): ReadonlySet<string> => {
    const reached = new Set<string>()
    const open = [start]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      for (const target of targets.get(node) ?? []) {
        if (!reached.has(target)) {
          reached.add(target)
          open.push(target)
        }
      }
    }
    return reached
  }
  return [...targets.keys()].filter((node) => reachable(node).has(node)).sort()
}

/** Programs for other processes stand in template literals. */
const withoutTemplates = (text: string): string => text.replaceAll(/`(?:[^`\\]|\\.)*`/g, "``")

const filesMatching = (files: ReadonlyArray<string>, pattern: RegExp): ReadonlyArray<string> =>
  files.filter((file) => pattern.test(textOf(file)))

/** The tables that a file's SQL inserts into, updates or deletes from. */
const tablesWrittenBy = (file: string): ReadonlyArray<string> =>
  Array.from(
    textOf(file).matchAll(/\b(?:INSERT INTO|DELETE FROM|UPDATE)\s+([a-z_]+)\b(?!\s*=)/g),
    ([, table = ""]) => table,
  ).filter((table) => table !== "set" && table !== "of")

describe("the imports of the source", () => {
  it("are read, and every folder has its storey, every domain its place in the order", () => {
    assert.isAbove(imports.length, 1000)
    assert.deepStrictEqual(
      [...new Set(sources.map(topOf))].filter((folder) => !(folder in storeys)),
      [],
    )
    assert.sameMembers([...new Set(sources.flatMap((file) => domainOf(file) ?? []))], domains)
  })

  it("make no cycle among files, among domains, or among the subfolders of a domain", () => {
    assert.deepStrictEqual(
      cyclesOf((file) => file),
      [],
    )
    assert.deepStrictEqual(cyclesOf(domainOf), [])
    assert.deepStrictEqual(cyclesOf(nounOf), [])
  })

  it("go to a lower storey or stay in their folder", () => {
    assert.deepStrictEqual(
      violations(
        ({ from, to }) => topOf(from) === topOf(to) || (storeys[topOf(to)] ?? 0) < (storeys[topOf(from)] ?? 0),
      ),
      [],
    )
  })

  it("from domain to domain follow the order, and take models, errors, services and SQL fragments only", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => {
        const [importer, imported] = [domainOf(from), domainOf(to)]
        if (importer === undefined || imported === undefined || importer === imported) return true
        return domains.indexOf(imported) < domains.indexOf(importer) && isShared(to, importer)
      }),
      [],
    )
  })

  it("inside a domain go from layers to handlers to services to SQL to rules to models", () => {
    assert.deepStrictEqual(
      violations(({ from, to }) => {
        const domain = domainOf(from)
        return domain === undefined || domain !== domainOf(to) || rankImported(to) <= rankOf(from)
      }),
      [],
    )
  })
})

/** One state machine over shared counters: its parts would need all of its variables. */
const WITHOUT_PARTS = "kernel/concurrency/FairQueue.ts"

const MAX_MAKE_LINES = 80

/** Where `make`, `makeX` or the argument of `Layer.effect` begins, unless it ends on the same line. */
const MAKE = /^( *)(?:(?:export )?const make\w*\b.*|.*\bLayer\.effect(?:Discard|Context)?\b.*)(?:[({[]|=>|=)$/

/**
 * The lengths of what builds services, in lines. The formatter closes each at the indentation of its first line, or one step further in if
 * the value begins on the next line.
 */
const makeLengths = (text: string): ReadonlyArray<number> => {
  const lines = text.split("\n")
  return lines.flatMap((line, first) => {
    const found = MAKE.exec(line)?.[1]
    if (found === undefined) return []
    const indentation = line.endsWith(" =") ? `${found}  ` : found
    const length = lines
      .slice(first + 1)
      .findIndex((later) => later.startsWith(indentation) && /[)}\]]/.test(later[indentation.length] ?? ""))
    return [length + 2]
  })
}

describe("the services", () => {
  const files = sources.filter((file) => file !== WITHOUT_PARTS)

  it("show their interfaces: none infers its type from its implementation", () => {
    assert.deepStrictEqual(filesMatching(files, /\bEffect\.Success<typeof \w+>/), [])
  })

  it("are built by functions of at most 80 lines", () => {
    const body = (lines: number) => "  yield* one\n".repeat(lines)
    assert.deepStrictEqual(makeLengths(`const make = Effect.gen(function* () {\n${body(78)}})\n`), [80])
    assert.deepStrictEqual(makeLengths(`const make =\n  (one) => {\n${body(3)}  }\n\nconst next = {\n}\n`), [6])
    assert.deepStrictEqual(makeLengths(`  static readonly layer = Layer.effect(\n    A,\n${body(3)}  )\n}\n`), [6])
    assert.isAbove(files.flatMap((file) => makeLengths(textOf(file))).length, 100)
    assert.deepStrictEqual(
      files.filter((file) => makeLengths(textOf(file)).some((length) => length > MAX_MAKE_LINES)),
      [],
    )
  })
})

/** An import of something else than a file of the source. */
const FOREIGN = /(?:\bfrom\s+["']|^import\s+["']|\b(?:import|require)\(\s*["'`])(?!\.)/m

describe("the offline module", () => {
  const files = sources.filter((file) => topOf(file) === "offline")

  it("imports nothing but its own files: no package, no module of Node.js, no other storey", () => {
    assert.isAbove(files.length, 5)
    for (const text of ['import { join } from "node:path"', 'import "effect"', 'await import("jose")']) {
      assert.match(text, FOREIGN)
    }
    assert.deepStrictEqual(filesMatching(files, FOREIGN), [])
    assert.deepStrictEqual(
      imports.filter(({ from, to }) => topOf(from) === "offline" && topOf(to) !== "offline"),
      [],
    )
  })

  it("is imported by the command line, by local clients, by edges, and by flags and bundles, because the service evaluates flags as products do", () => {
    const importers = inside.filter(({ from, to }) => topOf(to) === "offline" && topOf(from) !== "offline")
    const names = importers.map(({ from }) => domainOf(from) ?? topOf(from))
    assert.deepStrictEqual([...new Set(names)].toSorted(), ["cli", "edge", "flags", "local", "machine", "offline"])
  })
})

describe("the edge", () => {
  const files = sources.filter((file) => topOf(file) === "edge")

  it("opens no database: it imports no repository, no SQL and no driver", () => {
    assert.isAbove(files.length, 15)
    const database = /infra\/database|\/\w*(Repo|Sql|SqlSharded)\.ts$/
    assert.deepStrictEqual(
      inside.filter(({ from, to }) => topOf(from) === "edge" && database.test(to)),
      [],
    )
    assert.deepStrictEqual(filesMatching(files, /PgClient|SqlClient|node:sqlite/), [])
  })

  it("decides by local clients: it evaluates no claims, no rules and no amounts itself", () => {
    const engine = inside.filter(
      ({ from, to }) => topOf(from) === "edge" && /^offline\/(Answers|Decision|Flags|Periods|Bundle)\.ts$/.test(to),
    )
    assert.deepStrictEqual(engine, [])
  })
})

describe("the local module", () => {
  const files = sources.filter((file) => topOf(file) === "local")

  it("imports the offline module alone: no package, no module of Node.js, no other storey", () => {
    assert.isAbove(files.length, 5)
    assert.deepStrictEqual(filesMatching(files, FOREIGN), [])
    assert.deepStrictEqual(
      imports.filter(({ from, to }) => topOf(from) === "local" && !["local", "offline"].includes(topOf(to))),
      [],
    )
  })

  it("takes time, network, files and random numbers as arguments", () => {
    const ambient =
      /\b(Date\.now|performance|Math\.random|setTimeout|setInterval|globalThis|EventSource)\b|\bprocess\.|[^.\w]fetch\(/
    assert.deepStrictEqual(filesMatching(files, ambient), [])
  })
})

describe("the files of local clients", () => {
  const files = sources.filter((file) => topOf(file) === "machine")

  it("import local clients and modules of Node.js alone: the package of clients has them too", () => {
    assert.isAbove(files.length, 3)
    assert.deepStrictEqual(filesMatching(files, /\bfrom "(?!\.|node:)/), [])
    assert.deepStrictEqual(
      imports.filter(
        ({ from, to }) => topOf(from) === "machine" && !["machine", "local", "offline"].includes(topOf(to)),
      ),
      [],
    )
  })
})

describe("the files of the source", () => {
  it("are at most 14 in a folder, with at most 300 lines each", () => {
    const folders = Map.groupBy(sources, dirname)
    assert.deepStrictEqual(
      [...folders].filter(([, files]) => files.length > MAX_FILES).map(([folder]) => folder),
      [],
    )
    assert.deepStrictEqual(
      sources.filter((file) => textOf(file).trimEnd().split("\n").length > MAX_LINES),
      [],
    )
  })

  it("with rules are pure: they touch no service, no SQL and no clock", () => {
    const rules = sources.filter((file) => file.endsWith("Rules.ts") || isIn("rules", file))
    assert.isAbove(rules.length, 10)
    assert.deepStrictEqual(
      filesMatching(rules, /\b(Context\.Service|yield\*|SqlClient|PgClient|Date\.now\(\)|new Date\(\))/),
      [],
    )
  })

  it("compare secrets by one function, whose time says nothing about them", () => {
    assert.deepStrictEqual(
      sources.filter((file) => /\btimingSafeEqual\b/.test(textOf(file))),
      ["kernel/values/SecretComparison.ts"],
    )
    const comparing =
      /\b(?:hash|secret|signature|digest|mac)\w*(?:\.\w+)? ?===? ?\w*(?:hash|secret|signature|digest|mac)/i
    assert.deepStrictEqual(
      sources.filter((file) => comparing.test(textOf(file))),
      [],
    )
  })

  it("with SQL do not read the database's time", () => {
    const repositories = sources.filter((file) => /(Repo|Sql|Outbox)\.ts$/.test(file))
    assert.isAbove(repositories.length, 20)
    assert.deepStrictEqual(
      filesMatching(repositories, /\b(now\(\)|clock_timestamp|current_timestamp|localtimestamp)/i),
      [],
    )
  })

  it("above the domains write no table, and each table is written by one domain", () => {
    const writers = new Map<string, Set<string>>()
    for (const file of sources) {
      for (const table of tablesWrittenBy(file)) {
        writers.set(table, (writers.get(table) ?? new Set()).add(domainOf(file) ?? file))
      }
    }
    assert.isAbove(writers.size, 25)
    // It has no rows: a statement that would delete some makes Citus commit in two phases.
    assert.isTrue(writers.delete("citus_commits"))
    assert.deepStrictEqual(
      [...writers].filter(([, by]) => by.size !== 1 || [...by].some((writer) => !domains.includes(writer))),
      [],
    )
  })

  it("of domains do not depend on the kind of database, but those of repositories for Citus, which the layer graph alone imports", () => {
    const isSharded = (file: string) => basename(file, ".ts").endsWith("Sharded")
    assert.isAbove(sources.filter(isSharded).length, 10)
    assert.deepStrictEqual(
      filesMatching(
        sources.filter((file) => topOf(file) === "domains" && !isSharded(file)),
        /citus|shard/i,
      ),
      [],
    )
    assert.deepStrictEqual(
      violations(({ from, to }) => !isSharded(to) || isSharded(from) || from === "app/Services.ts"),
      [],
    )
  })

  it("run nothing when they are imported, except the command tree", () => {
    const statement = /^(?:import "|(?:await |void )?[A-Za-z_$][\w$.]*\()/m
    assert.deepStrictEqual(
      sources.filter((file) => statement.test(withoutTemplates(textOf(file)))),
      ["cli.ts"],
    )
  })
})
