/**
 * Decides where the embedded database is stored on this machine and which system account runs it.
 */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { attempt, EmbeddedPostgresError, errorCode, externalHint } from "./Errors.ts"
import { makeFolders } from "./Folders.ts"

/** System account for PostgreSQL, which does not run as root. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** The resolved location of one embedded database. */
export interface DataDirectory {
  /** Absolute, without symbolic links. */
  readonly dataDir: string
  /** `undefined`: PostgreSQL runs as the user of this process. */
  readonly account: Account | undefined
  /** The server's log, next to the data directory. */
  readonly logFile: string
}

/** Most of the code below treats Windows differently. */
export const isWindows = process.platform === "win32"

const INHERITED = /^(PATH|PATHEXT|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC)$/i

/**
 * Environment of PostgreSQL's programs. It omits the service's secrets, which another account could read there, and the
 * PG* variables (PGPORT, PGDATA, ...), which would configure this server by accident.
 */
export const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name))),
  LC_ALL: "C",
}

/** Fallback location for the data if only root can enter the requested directory. */
const systemDir = "/var/lib/keyshelf"

/** The port is only part of the socket's file name; nothing listens on it. */
export const socketPort = 5432

/** Maximum length of a socket path on all supported systems (macOS: 103, Linux: 107). */
const socketPathLimit = 103

/** Whether a process with this id exists. */
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return errorCode(cause) === "EPERM"
  }
}

/** Whether the directory contains an initialised database. */
export const isInitialised = (dataDir: string): boolean => Fs.existsSync(Path.join(dataDir, "PG_VERSION"))

const existingAncestor = (path: string): string => (Fs.existsSync(path) ? path : existingAncestor(Path.dirname(path)))

/** Resolves symbolic links. The path need not exist, and its last part may be a dangling link. */
const canonical = (path: string): string => {
  const target = Fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
    ? Path.resolve(Path.dirname(path), Fs.readlinkSync(path))
    : path
  const existing = existingAncestor(target)
  return Path.join(Fs.realpathSync(existing), Path.relative(existing, target))
}

/**
 * Whether an account can enter a directory. Tries it instead of reading mode bits, because ACLs and mounts matter too.
 */
const canEnter = (directory: string, account: Account): boolean => {
  const probe = spawnSync("/bin/sh", ["-c", 'cd "$1"', "sh", directory], {
    ...account,
    cwd: "/",
    env: environment,
    stdio: "ignore",
  })
  if (probe.error !== undefined) throw probe.error
  return probe.status === 0
}

/** Returns the owner of an initialised directory. PostgreSQL must run as that account. */
const ownerOf = (dataDir: string): Account | undefined => {
  if (!isInitialised(dataDir)) return undefined
  const { uid, gid } = Fs.statSync(dataDir)
  return { uid, gid }
}

const serviceAccount = Effect.gen(function* () {
  const lines = yield* attempt("The list of users cannot be read", () => Fs.readFileSync("/etc/passwd", "utf8"))
  const users = lines.split("\n").map((line) => line.split(":"))
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const user = users.find((fields) => fields[0] === name)
    if (user !== undefined && Number(user[2]) > 0) return { uid: Number(user[2]), gid: Number(user[3]) }
  }
  return yield* new EmbeddedPostgresError({
    message: `PostgreSQL does not run as root, and this machine has neither a user "postgres" nor "nobody". Start the service as another user, or ${externalHint}.`,
  })
})

const chownAll = (path: string, account: Account): void => {
  Fs.lchownSync(path, account.uid, account.gid)
  if (Fs.lstatSync(path).isDirectory()) {
    for (const entry of Fs.readdirSync(path)) chownAll(Path.join(path, entry), account)
  }
}

/**
 * Creates the data directory under {@link systemDir}, with a link at the requested path that shows where the data is.
 */
const createOutside = (requested: string, account: Account): string => {
  makeFolders(systemDir)
  Fs.chmodSync(systemDir, 0o755)
  const home = Fs.mkdtempSync(Path.join(systemDir, "database-"))
  Fs.chmodSync(home, 0o755)
  if (!canEnter(home, account)) throw new Error(`${home} is not accessible either`)
  const dataDir = Path.join(home, Path.basename(requested))
  makeFolders(Path.dirname(requested))
  if (Fs.existsSync(requested)) Fs.rmdirSync(requested)
  Fs.symlinkSync(dataDir, requested)
  return dataDir
}

const place = (dataDir: string, account: Account | undefined): DataDirectory => ({
  dataDir,
  account,
  logFile: `${dataDir}.log`,
})

/**
 * Decides where the data is stored and which account runs the server. As root it chooses an account. If that account
 * cannot enter the requested directory, new data goes under `/var/lib/keyshelf`. Fails with `EmbeddedPostgresError` if
 * the directory cannot be used.
 */
export const locate = Effect.fnUntraced(function* (requested: string) {
  const absolute = Path.resolve(requested)
  const dataDir = yield* attempt(`The data directory ${absolute} cannot be used`, () => canonical(absolute))
  if (process.getuid?.() !== 0) return place(dataDir, undefined)

  const owner = yield* attempt(`The data directory ${dataDir} cannot be read`, () => ownerOf(dataDir))
  const account = owner === undefined || owner.uid === 0 ? yield* serviceAccount : owner
  const reachable = yield* attempt(`The access to ${dataDir} cannot be checked`, () =>
    canEnter(existingAncestor(Path.dirname(dataDir)), account),
  )
  if (reachable) {
    if (owner?.uid === 0) {
      yield* attempt(`The data directory ${dataDir} cannot be given to user ${account.uid}`, () =>
        chownAll(dataDir, account),
      )
    }
    if (dataDir !== absolute) yield* Effect.logInfo(`The embedded database is stored in ${dataDir}`)
    return place(dataDir, account)
  }
  if (owner !== undefined) {
    return yield* new EmbeddedPostgresError({
      message: `PostgreSQL runs as user ${account.uid}, who cannot enter ${dataDir}. Move the data directory to a path that this user can enter, or ${externalHint}.`,
    })
  }
  const outside = yield* attempt(`PostgreSQL runs as user ${account.uid}, who cannot enter ${dataDir}`, () =>
    createOutside(absolute, account),
  )
  yield* Effect.logInfo(
    `The embedded database is stored in ${outside}, because PostgreSQL runs as user ${account.uid}, who cannot enter ${absolute}`,
  )
  return place(outside, account)
})

/** Creates the parent of the data directory, accessible to the account that runs the server. */
export const createParent = ({ dataDir, account }: DataDirectory): void => {
  const parent = Path.dirname(dataDir)
  const first = makeFolders(parent)
  if (first === undefined || account === undefined) return
  // A restrictive umask of root would lock the account out of the new directories.
  for (let directory = parent; directory.length >= first.length; directory = Path.dirname(directory))
    Fs.chmodSync(directory, 0o755)
}

const socketFits = (directory: string): boolean =>
  Buffer.byteLength(Path.join(directory, `.s.PGSQL.${socketPort}`)) <= socketPathLimit

/**
 * Returns the directory of the UNIX socket: the data directory, which only its owner can enter. If that path is too
 * long for a socket, it is a subdirectory of the temporary directory, named after the data directory.
 */
export const socketDirOf = ({ dataDir, account }: DataDirectory): string => {
  if (socketFits(dataDir)) return dataDir
  const name = `keyshelf-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`
  const usable = [Os.tmpdir(), "/tmp"].find(
    (base) => socketFits(Path.join(base, name)) && (account === undefined || canEnter(base, account)),
  )
  return Path.join(usable ?? "/tmp", name)
}

/**
 * Creates the socket directory, unless it is the data directory. Every user can write to the temporary directory, so a
 * directory of another user is rejected: login through this socket needs no password.
 */
export const createSocketDir = (place: DataDirectory, socketDir: string): void => {
  if (socketDir === place.dataDir) return
  Fs.mkdirSync(socketDir, { recursive: true, mode: 0o700 })
  const self = process.getuid?.()
  const found = Fs.lstatSync(socketDir)
  if (!found.isDirectory() || (found.uid !== self && found.uid !== place.account?.uid)) {
    throw new Error("it belongs to another user of this machine")
  }
  Fs.chmodSync(socketDir, 0o700)
  if (place.account !== undefined) Fs.lchownSync(socketDir, place.account.uid, place.account.gid)
}

const inProgress = new Set<string>()

/**
 * Fills a directory under a temporary name and then renames it to `target`, so that a killed process never leaves a
 * partial `target`. If another process was faster, its directory stays and this one is deleted.
 */
export const createAtomically = <E, R>(
  target: string,
  fill: (directory: string) => Effect.Effect<void, E, R>,
): Effect.Effect<void, E | EmbeddedPostgresError, R> => {
  const unfinished = `${target}.init-${process.pid}-${randomBytes(4).toString("hex")}`
  const remove = (path: string) => Fs.promises.rm(path, { recursive: true, force: true, maxRetries: 5 })
  return Effect.gen(function* () {
    inProgress.add(unfinished)
    yield* attempt(`The leftovers of an earlier start next to ${target} cannot be removed`, async () => {
      const prefix = `${Path.basename(target)}.init`
      for (const entry of Fs.readdirSync(Path.dirname(target))) {
        if (!entry.startsWith(prefix)) continue
        const path = Path.join(Path.dirname(target), entry)
        const creator = /^-(\d+)-/.exec(entry.slice(prefix.length))?.[1]
        // After a container restart, an entry with this process's id may come from an earlier process.
        const busy =
          creator !== undefined && (Number(creator) === process.pid ? inProgress.has(path) : isAlive(Number(creator)))
        if (!busy) await remove(path)
      }
    })
    yield* fill(unfinished)
    yield* attempt(`The directory ${target} cannot be created`, () => {
      try {
        Fs.renameSync(unfinished, target)
      } catch (cause) {
        const code = errorCode(cause)
        if (code === "EBUSY" || code === "EXDEV") {
          throw new Error("it is a mount point; choose a directory inside it instead", { cause })
        }
        if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "EPERM") throw cause
        if (!Fs.existsSync(target)) throw cause
      }
    })
  }).pipe(
    Effect.ensuring(
      Effect.promise(() =>
        remove(unfinished)
          .catch(() => undefined)
          .then(() => inProgress.delete(unfinished)),
      ),
    ),
  )
}
