import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")
const tests = join(root, "test")

const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
  // Tests install packages below `test`, which have tests of their own.
  .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
  .map((file) => join(tests, file))

const textOf = (file: string): string => readFileSync(file, "utf8")

const known = new Map<string, ReadonlyArray<string>>()

/** What a file loads when it runs: packages by name, files by path. Types are not loaded. */
const loads = (file: string): ReadonlyArray<string> => {
  const existing = known.get(file)
  if (existing !== undefined) return existing
  if (!existsSync(file)) return []
  const imports = /^(?:import|export) (?!type\b)(?:[^"';=()]* from )?"([^"]+)"|\bimport\("([^"]+)"\)/gm
  const loaded = [...textOf(file).matchAll(imports)].map(([, fixed = "", dynamic]) => {
    const name = dynamic ?? fixed
    return name.startsWith(".") ? resolve(dirname(file), name) : name
  })
  known.set(file, loaded)
  return loaded
}

/** All that a file loads, directly or not, with the file that loads it. */
const reached = (file: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const next = [file]
  for (let current = next.pop(); current !== undefined; current = next.pop()) {
    for (const name of loads(current)) {
      if (found.has(name)) continue
      found.set(name, current)
      if (/\.tsx?$/.test(name)) next.push(name)
    }
  }
  return found
}

const OPENS_NETWORK =
  /^(node:(net|http|https|http2|dgram|tls|worker_threads)|@effect\/(sql-pg|platform-node)|undici|redis|@nats-io)\b/
const OPENS_BROWSER = /^playwright-core$/
const STARTS_PROCESS = /^node:child_process$/

const places = (file: string, isForbidden: (name: string, from: string) => boolean): ReadonlyArray<string> =>
  [...reached(file)]
    .filter(([name, from]) => isForbidden(name, from))
    .map(([name, from]) => `${relative(root, file)} loads ${name} through ${relative(root, from)}`)

const kindOf = (file: string): string => /\.(pure|process|browser)\.test\.ts$/.exec(file)?.[1] ?? "service"
const ofKind = (kind: string) => files.filter((file) => kindOf(file) === kind)

describe("the ending of a test file", () => {
  it("is of a kind that runs", () => {
    const endings = new Set(files.map((file) => /\.([a-z]+)\.test\.ts$/.exec(file)?.[1] ?? "service"))
    assert.deepStrictEqual([...endings].toSorted(), ["browser", "process", "pure", "service"])
  })

  it("says pure only if the test loads nothing that opens a database, a socket, a process or a browser", () => {
    const opens = (name: string) => [OPENS_NETWORK, OPENS_BROWSER, STARTS_PROCESS].some((kind) => kind.test(name))
    assert.deepStrictEqual(
      ofKind("pure").flatMap((file) => places(file, opens)),
      [],
    )
  })

  it("says nothing only if the test starts no process and no browser: what the service itself can start does not count", () => {
    const starts = (name: string, from: string) =>
      OPENS_BROWSER.test(name) || (STARTS_PROCESS.test(name) && from.startsWith(tests))
    assert.deepStrictEqual(
      ofKind("service").flatMap((file) => places(file, starts)),
      [],
    )
  })

  it("says process only if the test does not drive a browser", () => {
    assert.deepStrictEqual(
      ofKind("process").flatMap((file) => places(file, (name) => OPENS_BROWSER.test(name))),
      [],
    )
  })

  it("says nothing for a test of pure rules: what needs no service is pure", () => {
    const needsNothing = (file: string) =>
      ![...reached(file).keys()].some((name) => OPENS_NETWORK.test(name) || /\bsupport\/TestDatabase\.ts$/.test(name))
    assert.deepStrictEqual(
      ofKind("service")
        .filter((file) => needsNothing(file))
        .map((file) => relative(root, file)),
      [],
    )
  })
})

describe("a test on the service that files share", () => {
  it("leaves alone what is not its organization's: the clock of others, whole tables, work of all organizations", () => {
    const shares = ofKind("service").filter((file) => /\bTestService\.layer\b/.test(textOf(file)))
    assert.isAbove(shares.length, 90)
    assert.deepStrictEqual(
      shares
        .filter((file) => /\b(TRUNCATE|ALTER TABLE|TestClock|sweep)\b/.test(textOf(file)))
        .map((file) => relative(root, file)),
      [],
    )
  })
})
