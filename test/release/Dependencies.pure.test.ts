/** The rules of ADR 2 for the packages of others, on the lock file. */
import { assert, describe, it } from "@effect/vitest"
import { readText } from "../../release/Files.ts"

interface Entry {
  readonly version: string
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
}

const { "": _, ...entries }: Readonly<Record<string, Entry>> = JSON.parse(readText("package-lock.json")).packages
const manifest = JSON.parse(readText("package.json"))
const adr = readText("docs/adr/0002-dependencies.md")

const LICENCES = ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "Unlicense"]

const FOR_DEVELOPMENT = ["MPL-2.0"]

/** Packages whose manifest forgets its licence. Each contains the text of Apache-2.0. */
const UNNAMED = [
  "node_modules/@openfeature/ofrep-core",
  "node_modules/@openfeature/ofrep-provider",
  "node_modules/@react-aria/optimize-locales-plugin",
]

const isAllowed = ([folder, { dev, license }]: readonly [string, Entry]): boolean =>
  license === undefined
    ? UNNAMED.includes(folder) && dev === true
    : LICENCES.includes(license) || (dev === true && FOR_DEVELOPMENT.includes(license))

const direct = (): Readonly<Record<string, string>> => ({
  ...manifest.dependencies,
  ...manifest.devDependencies,
  ...manifest.optionalDependencies,
})

describe("the packages of others", () => {
  it("have licences of the list in ADR 2", () => {
    assert.isAbove(Object.keys(entries).length, 200)
    assert.deepStrictEqual(
      Object.entries(entries)
        .filter((entry) => !isAllowed(entry))
        .map(([folder, { license }]) => `${folder}: ${license}`),
      [],
    )
    for (const licence of [...LICENCES, ...FOR_DEVELOPMENT]) assert.include(adr, licence)
    for (const folder of UNNAMED) assert.match(readText(`${folder}/LICENSE`), /Apache License\s+Version 2\.0/)
  })

  it("with another licence, or without one, are found", () => {
    assert.isFalse(isAllowed(["node_modules/a", { version: "1.0.0", license: "GPL-3.0-only" }]))
    assert.isFalse(isAllowed(["node_modules/a", { version: "1.0.0", license: "MPL-2.0" }]))
    assert.isTrue(isAllowed(["node_modules/a", { version: "1.0.0", license: "MPL-2.0", dev: true }]))
    assert.isFalse(isAllowed(["node_modules/a", { version: "1.0.0", dev: true }]))
  })

  it("are used in exact versions, each with a digest", () => {
    for (const [name, version] of Object.entries(direct())) assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
    for (const [folder, { integrity }] of Object.entries(entries)) assert.match(integrity ?? "", /^sha512-/, folder)
  })

  it("are used for a reason in ADR 2", () => {
    const families = [...adr.matchAll(/`([^`]+)\*`/g)].map(([, prefix]) => prefix ?? "")
    const isExplained = (name: string) =>
      adr.includes(`\`${name}\``) || families.some((prefix) => name.startsWith(prefix))
    assert.deepStrictEqual(
      Object.keys(direct()).filter((name) => !isExplained(name)),
      [],
    )
  })

  it("run no script when they are installed", () => {
    const withScript = Object.entries(entries).filter(([, { hasInstallScript }]) => hasInstallScript === true)
    const allowed: Readonly<Record<string, boolean>> = manifest.allowScripts
    for (const [folder] of withScript) assert.isFalse(allowed[folder.slice("node_modules/".length)], folder)
    assert.notInclude(Object.values(allowed), true)
  })
})
