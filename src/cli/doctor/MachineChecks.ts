/** The machine: ports, data directory, key file. */
import { Effect, Option } from "effect"
import { access, constants, stat, statfs } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname, join, resolve } from "node:path"
import type { Role, Settings } from "../../infra/Settings.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

const LITTLE_SPACE = 1024 ** 3

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error)

/** Whether the address can be opened now: `undefined`, or the error's code. */
const tryToListen = (host: string, port: number): Promise<string | undefined> =>
  new Promise((done) => {
    const server = createServer()
    server.once("error", (error) => done(codeOf(error)))
    server.listen(port, host, () => server.close(() => done(undefined)))
  })

/** Whether a Keyshelf answers at the internal port. Behind `0.0.0.0` it is asked on the loopback interface. */
const serviceRuns = (host: string, port: number): Promise<boolean> => {
  const asked = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  const shown = asked.includes(":") ? `[${asked}]` : asked
  return fetch(`http://${shown}:${port}/health/live`, { signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.status === 200,
    () => false,
  )
}

/** Whether the listeners of this process's roles can be opened, or the service has them open already. */
export const ports = (settings: Settings["Service"]): Check =>
  Effect.promise(async () => {
    const { host } = settings
    const listeners: ReadonlyArray<readonly [role: Role, port: number, setting: string]> = [
      ["core", settings.corePort, "SERVICE_CORE_PORT"],
      ["platform", settings.platformPort, "SERVICE_PLATFORM_PORT"],
      ["internal", settings.internalPort, "SERVICE_INTERNAL_PORT"],
      ...Option.match(settings.webhooksPort, {
        onNone: () => [],
        onSome: (port) => [["webhooks", port, "SERVICE_WEBHOOKS_PORT"] as const],
      }),
    ]
    const own = listeners.filter(([role]) => settings.roles.has(role))
    const runs = settings.roles.has("internal") && (await serviceRuns(host, settings.internalPort))
    const findings: Array<Finding> = []
    for (const [role, port, setting] of own) {
      const code = await tryToListen(host, port)
      if (code === undefined) findings.push(ok("ports", `${role} ${host}:${port} is free`))
      else if (code === "EADDRINUSE" && runs) {
        findings.push(ok("ports", `${role} ${host}:${port} is open: the service runs`))
      } else if (code === "EADDRINUSE") {
        findings.push(
          warning(
            "ports",
            `${role} ${host}:${port} is in use by another process. Stop it, or set ${setting} to a free port.`,
          ),
        )
      } else if (code === "EACCES") {
        findings.push(
          failed("ports", `This user may not listen on ${host}:${port}. Set ${setting} to a port above 1023.`),
        )
      } else {
        findings.push(failed("ports", `${role} ${host}:${port} cannot be opened (${code}). Correct SERVICE_HOST.`))
      }
    }
    const taken = own.filter(([, port], index) => port !== 0 && own.findIndex(([, other]) => other === port) !== index)
    for (const [, port, setting] of taken) {
      findings.push(failed("ports", `${setting} names ${port}, which another listener has too. Set it to another.`))
    }
    return findings
  })

const permissions = async (file: string, what: string): Promise<Finding> => {
  const { mode, size } = await stat(file)
  if ((mode & 0o077) !== 0 && process.platform !== "win32") {
    return warning("directory", `${what} ${file} can be read by other users of this machine: chmod 600 ${file}`)
  }
  return size === 0
    ? failed("directory", `${what} ${file} is empty. Restore it from a backup.`)
    : ok("directory", `${what} ${file} is this user's alone`)
}

const space = async (directory: string): Promise<Finding> => {
  const { bavail, bsize } = await statfs(directory)
  const free = bavail * bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB are free at ${directory}`
  return free < LITTLE_SPACE
    ? warning("directory", `${text}. Make room: PostgreSQL stops when its disk is full.`)
    : ok("directory", text)
}

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )

const nearest = async (path: string): Promise<string> =>
  (await exists(path)) || dirname(path) === path ? path : nearest(dirname(path))

/** The data directory: there, writable, with room, its key file private. Unused with a database and keys of one's own. */
export const dataDirectory = (settings: Settings["Service"]): Check =>
  Effect.promise(async () => {
    if (Option.isSome(settings.databaseUrl) && Option.isSome(settings.secretKeys)) return []
    const directory = resolve(settings.dataDir)
    if (!(await exists(directory))) {
      const parent = await nearest(directory)
      const writable = await access(parent, constants.W_OK).then(
        () => true,
        () => false,
      )
      return [
        writable
          ? ok("directory", `${directory} is not there yet: the first start makes it`)
          : failed(
              "directory",
              `${directory} cannot be made: this user may not write in ${parent}. Set SERVICE_DATA_DIR.`,
            ),
      ]
    }
    const findings: Array<Finding> = []
    try {
      await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
      findings.push(ok("directory", `${directory} is there, and this user may write in it`))
    } catch {
      findings.push(
        failed("directory", `This user may not write in ${directory}. Correct its owner, or set SERVICE_DATA_DIR.`),
      )
    }
    findings.push(await space(directory))
    const keyFile = join(directory, "secret-key")
    const postgres = join(directory, "postgres", "PG_VERSION")
    if (Option.isNone(settings.secretKeys)) {
      if (await exists(keyFile)) findings.push(await permissions(keyFile, "The key file"))
      else if (await exists(postgres)) {
        findings.push(
          failed(
            "directory",
            `The key file ${keyFile} is gone, but the database is there: no stored token verifies without it. Restore it from a backup.`,
          ),
        )
      }
    }
    return findings
  })
