/** Checks the machine: ports, open files, data directory and key file. */
import { Effect, Option } from "effect"
import { access, constants, stat, statfs } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname, join, resolve } from "node:path"
import { maxConnectionsOf, openFilesLimit, reserveOf } from "../../infra/FileDescriptors.ts"
import { reachableHost } from "../../infra/HostUrl.ts"
import type { Role } from "../../infra/SettingFormats.ts"
import type { Settings } from "../../infra/Settings.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

const MIN_FREE_BYTES = 1024 ** 3

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error)

/** Opens and closes a listener. Returns `undefined`, or the error's code. */
const tryToListen = (host: string, port: number): Promise<string | undefined> =>
  new Promise((done) => {
    const server = createServer()
    server.once("error", (error) => done(codeOf(error)))
    server.listen(port, host, () => server.close(() => done(undefined)))
  })

/** Whether a Keyshelf responds at the internal port. */
const serviceRuns = (host: string, port: number): Promise<boolean> =>
  fetch(`http://${reachableHost(host)}:${port}/health/live`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.status === 200,
    () => false,
  )

/** Checks that the listeners of this process's roles can be opened, or that the running service has them open. */
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
    const enabled = listeners.filter(([role]) => settings.roles.has(role))
    const runs = settings.roles.has("internal") && (await serviceRuns(host, settings.internalPort))
    const findings: Array<Finding> = []
    for (const [role, port, setting] of enabled) {
      const code = await tryToListen(host, port)
      if (code === undefined) findings.push(ok("ports", `${role} ${host}:${port} is free`))
      else if (code === "EADDRINUSE" && runs) {
        findings.push(ok("ports", `${role} ${host}:${port} is open: the service is running`))
      } else if (code === "EADDRINUSE") {
        findings.push(
          warning(
            "ports",
            `${role} ${host}:${port} is in use by another process. Stop it, or set ${setting} to a free port.`,
          ),
        )
      } else if (code === "EACCES") {
        findings.push(
          failed(
            "ports",
            `This user is not allowed to listen on ${host}:${port}. Set ${setting} to a port above 1023.`,
          ),
        )
      } else {
        findings.push(failed("ports", `${role} ${host}:${port} cannot be opened (${code}). Correct SERVICE_HOST.`))
      }
    }
    const duplicates = enabled.filter(
      ([, port], index) => port !== 0 && enabled.findIndex(([, other]) => other === port) !== index,
    )
    for (const [, port, setting] of duplicates) {
      findings.push(failed("ports", `${setting} is ${port}, which another listener uses too. Set it to another port.`))
    }
    return findings
  })

/**
 * Checks how many files a process of this user may open. The service itself may have another limit, if systemd or a container
 * starts it. Skipped where the system does not report the limit.
 */
export const openFiles = (settings: Settings["Service"]): Check =>
  Effect.sync(() => {
    const limit = openFilesLimit()
    if (limit === undefined) return []
    const reserve = reserveOf(settings)
    const text = `${limit} files may be open: at most ${maxConnectionsOf(limit, reserve)} connections of callers`
    return [
      limit < 2 * reserve
        ? warning(
            "files",
            `${text}. The service needs ${reserve} for itself. Raise the limit to ${4 * reserve} or more: \`ulimit -n\`, \`LimitNOFILE=\` of systemd, or \`ulimits\` of the container.`,
          )
        : ok("files", text),
    ]
  })

const permissions = async (file: string, what: string): Promise<Finding> => {
  const { mode, size } = await stat(file)
  if ((mode & 0o077) !== 0 && process.platform !== "win32") {
    return warning("directory", `${what} ${file} can be read by other users of this machine: chmod 600 ${file}`)
  }
  return size === 0
    ? failed("directory", `${what} ${file} is empty. Restore it from a backup.`)
    : ok("directory", `${what} ${file} is readable only by this user`)
}

const space = async (directory: string): Promise<Finding> => {
  const { bavail, bsize } = await statfs(directory)
  const free = bavail * bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB are free in ${directory}`
  return free < MIN_FREE_BYTES
    ? warning("directory", `${text}. Free some space: PostgreSQL stops when its disk is full.`)
    : ok("directory", text)
}

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )

const nearest = async (path: string): Promise<string> =>
  (await exists(path)) || dirname(path) === path ? path : nearest(dirname(path))

/**
 * Checks that the data directory exists, is writable and has free space, and that its key file is private. Skipped if
 * unused.
 */
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
          ? ok("directory", `${directory} does not exist yet: the first start creates it`)
          : failed(
              "directory",
              `${directory} cannot be created: this user cannot write to ${parent}. Set SERVICE_DATA_DIR.`,
            ),
      ]
    }
    const findings: Array<Finding> = []
    try {
      await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
      findings.push(ok("directory", `${directory} exists and is writable`))
    } catch {
      findings.push(
        failed("directory", `This user cannot write to ${directory}. Correct its owner, or set SERVICE_DATA_DIR.`),
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
            `The key file ${keyFile} is missing, but the database exists: without it no stored token verifies. Restore it from a backup.`,
          ),
        )
      }
    }
    return findings
  })
