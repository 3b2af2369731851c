/** The Core API in gateway mode, and the gateways of deploy/ in front of it. */
import { describe } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import type { Scope } from "effect"
import { HttpServer } from "effect/http"
import { spawn, spawnSync } from "node:child_process"
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { AuthMode } from "../../src/domains/access/tokens/GatewayTokens.ts"
import { coreRoutes } from "../../src/app/Routes.ts"
import * as Listeners from "../../src/http/Listeners.ts"
import * as Asset from "../../src/http/routes/Asset.ts"
import { SecurityContact } from "../../src/http/routes/SecurityText.ts"
import { CurrentConsoleFiles } from "../../src/http/routes/console/ConsoleFiles.ts"
import { IdentityProvider } from "../../src/kernel/ports/IdentityProvider.ts"
import * as Issuer from "../support/Issuer.ts"
import { freePorts } from "../support/ServiceProcess.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"

const deploy = resolve(import.meta.dirname, "../../deploy")

/** The addresses of the service behind a gateway: `host:port`. */
interface Behind {
  readonly core: string
  readonly internal: string
}

/** Starts a Core listener that accepts internal JWTs but no `ksh_` tokens. Returns its origin. */
const gatewayedCore = Effect.gen(function* () {
  const routes = coreRoutes.pipe(Layer.provide(Layer.succeed(AuthMode, "gateway")))
  const built = yield* Layer.build(Listeners.serve(routes, { host: "127.0.0.1", port: 0, setting: "none" }))
  const { address } = Context.get(built as Context.Context<HttpServer.HttpServer>, HttpServer.HttpServer)
  if (!("port" in address)) return yield* Effect.die(new Error("The test listener has no port"))
  return `http://127.0.0.1:${address.port}`
})

const directory = Effect.acquireRelease(
  Effect.promise(async () => {
    const path = await mkdtemp(join(tmpdir(), "keyshelf-gateway-"))
    // If nginx is started as root, its workers run as another user.
    await chmod(path, 0o755)
    return path
  }),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

const run = (command: string, args: ReadonlyArray<string>, env: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(command, args, { env: { PATH: process.env["PATH"] ?? "", ...env }, stdio: "pipe" })
      let output = ""
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
      child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()))
      return { child, output: () => output }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = new Promise((resolve) => child.once("exit", resolve))
        child.kill("SIGTERM")
        await gone
      }),
  )

/** Waits until the origin responds, or fails with the output of the process. */
const answering = (origin: string, output: () => string) =>
  Effect.promise(async () => {
    const deadline = Date.now() + 15_000
    while (Date.now() < deadline) {
      const responded = await fetch(`${origin}/api/me`).then(
        () => true,
        () => false,
      )
      if (responded) return
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    throw new Error(`The gateway did not respond:\n${output()}`)
  })

const replaced = (text: string, from: string, to: string): string => {
  if (!text.includes(from)) throw new Error(`The configuration does not contain "${from}"`)
  return text.replace(from, to)
}

const startNginx = Effect.fnUntraced(function* (behind: Behind) {
  const place = yield* directory
  const [port] = yield* freePorts(1)
  yield* Effect.promise(async () => {
    const upstreams = await readFile(join(deploy, "nginx/upstreams.conf"), "utf8")
    const server = await readFile(join(deploy, "nginx/keyshelf.conf"), "utf8")
    const addressed = replaced(
      replaced(upstreams, "server 127.0.0.1:8080;", `server ${behind.core};`),
      "server 127.0.0.1:8082;",
      `server ${behind.internal};`,
    )
    await writeFile(join(place, "upstreams.conf"), addressed)
    await writeFile(join(place, "keyshelf.conf"), replaced(server, "listen 8000;", `listen 127.0.0.1:${port};`))
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${place}/${name};`,
    )
    await writeFile(
      join(place, "nginx.conf"),
      `daemon off; pid ${place}/nginx.pid; error_log stderr; worker_processes 1; events {}
       http { access_log off; ${paths.join(" ")} include ${place}/upstreams.conf; include ${place}/keyshelf.conf; }`,
    )
  })
  const { output } = yield* run("nginx", ["-c", join(place, "nginx.conf"), "-p", place], {})
  const origin = `http://127.0.0.1:${port}`
  yield* answering(origin, output)
  return origin
})

const startCaddy = Effect.fnUntraced(function* (behind: Behind) {
  const place = yield* directory
  const [port, admin] = yield* freePorts(2)
  const { output } = yield* run(
    "caddy",
    ["run", "--config", join(deploy, "caddy/Caddyfile"), "--adapter", "caddyfile"],
    {
      HOME: place,
      CADDY_ADMIN: `127.0.0.1:${admin}`,
      KEYSHELF_GATEWAY: `http://127.0.0.1:${port}`,
      KEYSHELF_CORE: behind.core,
      KEYSHELF_INTERNAL: behind.internal,
    },
  )
  const origin = `http://127.0.0.1:${port}`
  yield* answering(origin, output)
  return origin
})

/** A gateway of deploy/. `start` runs it with its shipped configuration and other addresses, and returns its origin. */
interface Gateway {
  readonly name: string
  readonly isInstalled: boolean
  readonly start: (behind: Behind) => Effect.Effect<string, never, Scope.Scope>
}

const isInstalled = (command: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(command, args, { stdio: "ignore" }).status === 0

const gateways: ReadonlyArray<Gateway> = [
  { name: "nginx", isInstalled: isInstalled("nginx", "-v"), start: startNginx },
  { name: "caddy", isInstalled: isInstalled("caddy", "version"), start: startCaddy },
]

/** The page of the console of a gatewayed Core API. */
export const PAGE = "<!doctype html><title>Keyshelf</title>"

/** Where people report a weakness of the gatewayed Core API. */
export const CONTACT = "mailto:security@example.com"

/** The `host:port` of an origin. */
export const hostOf = (origin: string) => origin.slice("http://".length)

/** A gateway in front of the service, and the Core API without the gateway. */
export class Gatewayed extends Context.Service<
  Gatewayed,
  { readonly origin: string; readonly core: string; readonly issuer: Issuer.Issuer }
>()("keyshelf/test/Gatewayed") {}

const gatewayed = (gateway: Gateway) =>
  Layer.effect(
    Gatewayed,
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const issuer = yield* Issuer.start
      const core = yield* gatewayedCore.pipe(
        Effect.provideService(IdentityProvider, Option.some(issuer.provider({ provisioning: "just-in-time" }))),
        Effect.provideService(SecurityContact, CONTACT),
        Effect.provideService(
          CurrentConsoleFiles,
          Option.some({ page: Asset.make(PAGE, "text/html"), assets: new Map() }),
        ),
      )
      const origin = yield* gateway.start({ core: hostOf(core), internal: hostOf(origins.internal) })
      return { origin, core, issuer }
    }),
  ).pipe(Layer.provideMerge(TestService.separate))

/** Describes each gateway of deploy/ in front of the Core API. One that is not installed is skipped. */
export const forEachGateway = (tests: (layer: ReturnType<typeof gatewayed>, gateway: Gateway) => void) => {
  for (const gateway of gateways) {
    const name = withReason(gateway.name, gateway.isInstalled ? undefined : `${gateway.name} is not installed`)
    describe.skipIf(!gateway.isInstalled)(name, () => tests(gatewayed(gateway), gateway))
  }
}
