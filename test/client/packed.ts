/** The package `@keyshelf/client` as npm packs it, and projects that have it installed. */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { inject } from "vitest"
import { runNode } from "../support/runNode.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { withReason } from "../support/skipped.ts"

export const root = resolve(import.meta.dirname, "../..")
const source = join(root, "clients/typescript")

/** The compiler of the repository. */
export const tsc = join(root, "node_modules/typescript/bin/tsc")

const npm = (...args: ReadonlyArray<string>) =>
  spawnSync("npm", [...args, "--prefix", source], { cwd: source, encoding: "utf8", timeout: 240_000 })

const destination = join(inject("directory"), "client")
mkdirSync(destination, { recursive: true })

const MAX_PACK_MS = 500_000

/** What npm says about a packed package. */
interface Packed {
  readonly filename: string
  /** Bytes of the archive. */
  readonly size: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}

const pack = (): Packed | string => {
  const installed = npm("ci", "--no-audit", "--no-fund")
  if (installed.status !== 0) return `the tools of the client cannot be installed: ${installed.stderr.split("\n")[0]}`
  const { status, stderr, stdout } = npm("pack", "--json", "--pack-destination", destination)
  if (status !== 0) throw new Error(`The client cannot be packed: ${stdout}${stderr}`)
  // The build prints before npm does.
  const [packed]: ReadonlyArray<Packed> = Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]/m))))
  if (packed === undefined) throw new Error(`npm packed nothing: ${stdout}`)
  return packed
}

/** Packs once a run: test files of other workers wait for the first one, because all of them build in one folder. */
const packOnce = (): Packed | string => {
  const lock = new DatabaseSync(join(destination, "lock"), { timeout: MAX_PACK_MS })
  const result = join(destination, "packed.json")
  lock.exec("BEGIN EXCLUSIVE")
  try {
    if (!existsSync(result)) writeFileSync(result, JSON.stringify(pack()))
    return JSON.parse(readFileSync(result, "utf8"))
  } finally {
    lock.close()
  }
}

const outcome = packOnce()

/** Why tests of the package are skipped, or `undefined`. */
export const whyNoPackage = typeof outcome === "string" ? outcome : undefined

/** The packed package. */
export const packed: Packed = typeof outcome === "string" ? { filename: "", size: 0, files: [] } : outcome

/** The name of a test, with the reason if it is skipped. */
export const withPackage = (name: string): string => withReason(name, whyNoPackage)

/** Runs a script in a folder. Returns all that it prints. */
export const run = (cwd: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const { code, stderr, stdout } = await runNode(args, { cwd, env: { PATH: process.env["PATH"] ?? "", ...env } })
    return { code, output: stdout + stderr }
  })

/** An empty project with the package installed, and with `effect` if it is wanted. */
export const consumer = Effect.fnUntraced(function* (options: { readonly effect: boolean }) {
  const directory = yield* temporaryDirectory
  const installed = join(directory, "node_modules/@keyshelf/client")
  mkdirSync(installed, { recursive: true })
  const archive = join(destination, packed.filename.replace("@", "").replace("/", "-"))
  spawnSync("tar", ["--extract", "--gzip", "--file", archive, "--strip-components=1", "--directory", installed])
  if (options.effect) symlinkSync(join(root, "node_modules/effect"), join(directory, "node_modules/effect"))
  writeFileSync(join(directory, "package.json"), '{"type": "module"}')
  return { directory, installed, manifest: JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) }
})

/** Lets the programs of a project use the types of Node.js. */
export const withNodeTypes = (directory: string) => {
  mkdirSync(join(directory, "node_modules/@types"))
  for (const name of ["@types/node", "undici-types"]) {
    symlinkSync(join(root, "node_modules", name), join(directory, "node_modules", name))
  }
}

/** Flags of the strictest compiler. */
export const strict = [
  "--noEmit",
  "--strict",
  "--exactOptionalPropertyTypes",
  "--noUncheckedIndexedAccess",
  "--module",
  "nodenext",
  "--target",
  "es2024",
  "--lib",
  "es2024,dom,dom.iterable",
]
