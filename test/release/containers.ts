/** Runs the image: in a container of podman and runc, and the one of arm64 by an emulator. */
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { until } from "../faults/support/Installation.ts"
import { freeListeners } from "../support/ServiceProcess.ts"
import { documents, objectsIn, RENDERED } from "../deploy/manifests.ts"
import { succeeds } from "./build.ts"

const execute = promisify(execFile)

const EMULATOR = "qemu-aarch64-static"

/** Why the image cannot be served here; undefined if it can. */
export const whyNotServed = (): string | undefined => {
  if (process.arch !== "x64") return "the test runs the image of x64"
  if (process.getuid?.() !== 0) return "only root can start the container"
  return ["podman", "runc"].find((program) => !succeeds(program, "--version"))?.replace(/^/, "there is no ")
}

/** Why the image of arm64 cannot be started here; undefined if it can. */
export const whyNotEmulated = (): string | undefined => {
  if (process.getuid?.() !== 0) return "only root can unpack the image"
  return ["skopeo", "umoci", EMULATOR].find((program) => !succeeds(program, "--version"))?.replace(/^/, "there is no ")
}

/** Where the server of a database listens: a socket in a folder, or a port. */
const addressOf = (url: URL) => {
  const folder = url.searchParams.get("host")
  const port = url.port === "" ? "5432" : url.port
  return folder === null ? { host: url.hostname, port: Number(port) } : { path: join(folder, `.s.PGSQL.${port}`) }
}

/** The same database at a port of the loopback interface, where a container reaches it. */
const atPort = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const url = new URL(Redacted.value(database))
  const address = addressOf(url)
  const server = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((listening) => {
          const created = createServer((caller) => {
            const socket = connect(address)
            for (const end of [caller, socket]) {
              end.on("error", () => {
                caller.destroy()
                socket.destroy()
              })
            }
            caller.pipe(socket).pipe(caller)
          }).listen(0, "127.0.0.1", () => listening(created))
        }),
    ),
    (created) => Effect.sync(() => created.close()),
  )
  url.searchParams.delete("host")
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return url.href
})

const output = (program: string, ...args: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync(program, args, { encoding: "utf8" })
  assert.strictEqual(status, 0, `${program} ${args.join(" ")}: ${stderr}`)
  return stdout.trim()
}

/** podman raises limits, which not every machine allows: these are lower than its own. */
const LIMITS = ["--ulimit=nofile=10000:10000", "--ulimit=nproc=4096:4096"]

interface Inspected {
  readonly Config: { readonly User: string }
  readonly HostConfig: { readonly ReadonlyRootfs: boolean }
  readonly State: { readonly Pid: number; readonly Status: string; readonly ExitCode: number }
}

/** The commands in the container by which the chart's test and Compose ask whether it is ready. */
const probes = (health: string): ReadonlyArray<ReadonlyArray<string>> => {
  const pod = objectsIn(RENDERED).named("Pod", "keyshelf-ready")["spec"]?.["containers"]?.[0]?.["command"]
  const [, ...compose] =
    documents("deploy/compose.yaml")[0]?.["services"]?.["keyshelf"]?.["healthcheck"]?.["test"] ?? []
  return [
    (pod ?? []).map(String),
    compose.map((part) => String(part).replace("http://127.0.0.1:8082/health/ready", health)),
  ]
}

/** Serves the image from a storage of its own below `folder`, on a database, until its scope closes. */
export const served = Effect.fnUntraced(function* (folder: string, file: string, database: Redacted.Redacted) {
  mkdirSync(folder)
  const storage = ["--root", join(folder, "root"), "--runroot", join(folder, "run"), "--storage-driver=vfs"]
  const options = [...storage, "--runtime=runc", "--cgroup-manager=cgroupfs", "--events-backend=file"]
  const podman = (...args: ReadonlyArray<string>) => output("podman", ...options, ...args)
  const image = podman("pull", "--quiet", `oci-archive:${file}`)
  const settings = {
    ...(yield* freeListeners),
    SERVICE_DATABASE_URL: yield* atPort(database),
    SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
  }
  const safe = ["--read-only", ...LIMITS, "--cap-drop=all", "--security-opt=no-new-privileges", "--network=host"]
  const env = Object.entries(settings).flatMap(([name, value]) => ["--env", `${name}=${value}`])
  const container = yield* Effect.acquireRelease(
    Effect.sync(() => podman("create", ...safe, ...env, image)),
    (id) => Effect.sync(() => podman("rm", "--force", "--time=0", id)),
  )
  const logsOf = (id: string): string => {
    const { stderr, stdout } = spawnSync("podman", [...options, "logs", id], { encoding: "utf8" })
    return `${stdout}${stderr}`
  }
  const inspect = (): Inspected => JSON.parse(podman("inspect", container))[0]
  const health = `http://127.0.0.1:${settings.SERVICE_INTERNAL_PORT}/health/ready`
  // The database is behind a port of this process, which must not block from here on.
  yield* Effect.promise(() => execute("podman", [...options, "start", container]))
  const inspectLater = async (): Promise<Inspected> =>
    JSON.parse((await execute("podman", [...options, "inspect", container])).stdout)[0]
  yield* until("the container is ready", async () => {
    const { Status } = (await inspectLater()).State
    if (Status === "exited") throw new Error(logsOf(container))
    return (await fetch(health).catch(() => undefined))?.status === 200
  })
  const inspected = inspect()
  const line = readFileSync(`/proc/${inspected.State.Pid}/status`, "utf8")
  const shell = spawnSync("podman", [...options, "exec", container, "sh", "-c", "true"]).status
  const inside = (...command: ReadonlyArray<string>) =>
    Effect.promise(() => execute("podman", [...options, "exec", "--env", `URL=${health}`, container, ...command]))
  const asked = yield* Effect.forEach(probes(health), (command) => inside(...command))
  const { stdout: version } = yield* inside("keyshelf", "--version")
  yield* Effect.promise(() => execute("podman", [...options, "stop", "--time=20", container]))
  return {
    asked: asked.map(({ stdout }) => stdout),
    inspected,
    line,
    shell,
    stopped: inspect().State.ExitCode,
    version,
  }
}, Effect.scoped)

/** Unpacks the image of arm64 below `folder`, and runs its command under an emulator. Returns its version. */
export const emulated = (folder: string, file: string): string => {
  mkdirSync(folder)
  const layout = `${join(folder, "layout")}:image`
  const bundle = join(folder, "bundle")
  output("skopeo", "--override-arch=arm64", "--insecure-policy", "copy", `oci-archive:${file}`, `oci:${layout}`)
  output("umoci", "unpack", "--image", layout, bundle)
  const root = join(bundle, "rootfs")
  return output(
    EMULATOR,
    "-L",
    root,
    join(root, "usr/local/bin/node"),
    join(root, "opt/keyshelf/bin/keyshelf.mjs"),
    "--version",
  )
}
