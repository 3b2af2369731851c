/**
 * Where the embedded database lives on this machine and which system account serves it.
 */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { attempt, EmbeddedPostgresError, errorCode, externalHint } from "./Errors.ts"

/** A system account that PostgreSQL runs as, because it refuses to run as root. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** The resolved location of one embedded database. */
export interface Place {
  /** Absolute, without symbolic links. */
  readonly dataDir: string
  /** `undefined`: PostgreSQL runs as the user of this process. */
  readonly account: Account | undefined
  /** The server's log, beside the data directory. */
  readonly logFile: string
}

/** Windows differs in most of what follows. */
export const isWindows = process.platform === "win32"

const passedOn = /^(PATH|PATHEXT|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC)$/i

/**
 * What PostgreSQL's programs see of the environment. Not the secrets of the service, which another account could read
 * there; not the PG* variables (PGPORT, PGDATA, ...), which would configure this server by accident.
 */
export const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name))),
  LC_ALL: "C",
}

/** Where the data goes when the asked directory lies in a tree that only root may enter. */
const systemDir = "/var/lib/keyshelf"

/** The port is only a part of the socket's name: nothing listens on it. */
export const socketPort = 5432

/** The shortest limit of a socket path among the supported systems (macOS; Linux has 107). */
const socketPathLimit = 103

/** Whether a process with this id exists. */
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return errorCode(cause) === "EPERM"
  }
}

/** Whether the directory holds an initialised database. */
export const isInitialised = (dataDir: string): boolean => Fs.existsSync(Path.join(dataDir, "PG_VERSION"))

const existingAncestor = (path: string): string => (Fs.existsSync(path) ? path : existingAncestor(Path.dirname(path)))

/** Resolves symbolic links also of a path that does not exist yet, a dangling link in its last part included. */
const canonical = (path: string): string => {
  const target = Fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
    ? Path.resolve(Path.dirname(path), Fs.readlinkSync(path))
    : path
  const existing = existingAncestor(target)
  return Path.join(Fs.realpathSync(existing), Path.relative(existing, target))
}

/** Asks the kernel instead of reading mode bits: access lists and mounts count too. */
export const canEnter = (directory: string, account: Account): boolean => {
  const probe = spawnSync("/bin/sh", ["-c", 'cd "$1"', "sh", directory], {
    ...account,
    cwd: "/",
    env: environment,
    stdio: "ignore",
  })
  if (probe.error !== undefined) throw probe.error
  return probe.status === 0
}

/** The owner of an initialised directory must stay the one who serves it: PostgreSQL insists on that. */
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
    message: `PostgreSQL does not run as root, and this machine has neither a user "postgres" nor "nobody": start the service as another user, or ${externalHint}.`,
  })
})

const giveTo = (path: string, account: Account): void => {
  Fs.lchownSync(path, account.uid, account.gid)
  if (Fs.lstatSync(path).isDirectory()) {
    for (const entry of Fs.readdirSync(path)) giveTo(Path.join(path, entry), account)
  }
}

/** Places the data outside, with a link at the asked place: it survives a move of the tree and shows where the data is. */
const moveOutside = (asked: string, account: Account): string => {
  Fs.mkdirSync(systemDir, { recursive: true })
  Fs.chmodSync(systemDir, 0o755)
  const home = Fs.mkdtempSync(Path.join(systemDir, "database-"))
  Fs.chmodSync(home, 0o755)
  if (!canEnter(home, account)) throw new Error(`${home} is not accessible either`)
  const dataDir = Path.join(home, Path.basename(asked))
  Fs.mkdirSync(Path.dirname(asked), { recursive: true })
  if (Fs.existsSync(asked)) Fs.rmdirSync(asked)
  Fs.symlinkSync(dataDir, asked)
  return dataDir
}

const place = (dataDir: string, account: Account | undefined): Place => ({
  dataDir,
  account,
  logFile: `${dataDir}.log`,
})

/**
 * Decides where the data lives and who serves it. As root it picks an account, and when that account cannot reach the
 * asked directory it places new data under `/var/lib/keyshelf`. Fails with `EmbeddedPostgresError` when the directory
 * cannot be used.
 */
export const locate = Effect.fnUntraced(function* (asked: string) {
  const absolute = Path.resolve(asked)
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
        giveTo(dataDir, account),
      )
    }
    if (dataDir !== absolute) yield* Effect.logInfo(`The embedded database is stored in ${dataDir}`)
    return place(dataDir, account)
  }
  if (owner !== undefined) {
    return yield* new EmbeddedPostgresError({
      message: `PostgreSQL runs as user ${account.uid} and cannot reach ${dataDir}: move the data directory to a place that this user can enter, or ${externalHint}.`,
    })
  }
  const outside = yield* attempt(`PostgreSQL runs as user ${account.uid}, who cannot reach ${dataDir}`, () =>
    moveOutside(absolute, account),
  )
  yield* Effect.logInfo(
    `The embedded database is stored in ${outside}: PostgreSQL does not run as root, and user ${account.uid} cannot reach ${absolute}`,
  )
  return place(outside, account)
})

/** Creates the directory that holds the data directory, enterable for the account that serves it. */
export const makeParent = ({ dataDir, account }: Place): void => {
  const parent = Path.dirname(dataDir)
  const first = Fs.mkdirSync(parent, { recursive: true })
  if (first === undefined || account === undefined) return
  // A tight umask of root would lock the account out of what was just made.
  for (let made = parent; made.length >= first.length; made = Path.dirname(made)) Fs.chmodSync(made, 0o755)
}

const socketFits = (directory: string): boolean =>
  Buffer.byteLength(Path.join(directory, `.s.PGSQL.${socketPort}`)) <= socketPathLimit

/**
 * The directory of the UNIX socket: the data directory itself (only its owner may enter it), unless the path is too
 * long for a socket; then a directory under the temporary one, named after the data directory.
 */
export const socketDirOf = ({ dataDir, account }: Place): string => {
  if (socketFits(dataDir)) return dataDir
  const name = `keyshelf-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`
  const usable = [Os.tmpdir(), "/tmp"].find(
    (base) => socketFits(Path.join(base, name)) && (account === undefined || canEnter(base, account)),
  )
  return Path.join(usable ?? "/tmp", name)
}

/**
 * Creates the socket directory where it is not the data directory. The temporary directory is open to everyone, so one
 * that somebody else has put there is refused: logging in needs no password behind this directory.
 */
export const makeSocketDir = (place: Place, socketDir: string): void => {
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
 * Makes a directory under a name of its own and puts it in place with a rename, so that a process killed half way
 * leaves nothing half made at `target`. When another process was faster, its result stays and this one is dropped.
 */
export const makeWhole = <E, R>(
  target: string,
  fill: (directory: string) => Effect.Effect<void, E, R>,
): Effect.Effect<void, E | EmbeddedPostgresError, R> => {
  const unfinished = `${target}.init-${process.pid}-${randomBytes(4).toString("hex")}`
  const remove = (path: string) => Fs.promises.rm(path, { recursive: true, force: true, maxRetries: 5 })
  return Effect.gen(function* () {
    inProgress.add(unfinished)
    yield* attempt(`The leftovers of an earlier start beside ${target} cannot be removed`, async () => {
      const prefix = `${Path.basename(target)}.init`
      for (const entry of Fs.readdirSync(Path.dirname(target))) {
        if (!entry.startsWith(prefix)) continue
        const path = Path.join(Path.dirname(target), entry)
        const maker = /^-(\d+)-/.exec(entry.slice(prefix.length))?.[1]
        // A process id means little after a restart of the container: an entry with ours can be a predecessor's.
        const busy =
          maker !== undefined && (Number(maker) === process.pid ? inProgress.has(path) : isAlive(Number(maker)))
        if (!busy) await remove(path)
      }
    })
    yield* fill(unfinished)
    yield* attempt(`The directory ${target} cannot be put in place`, () => {
      try {
        Fs.renameSync(unfinished, target)
      } catch (cause) {
        const code = errorCode(cause)
        if (code === "EBUSY" || code === "EXDEV") {
          throw new Error("it is a mount point, so name a directory inside of it instead", { cause })
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
