/** An installation under test: one database, nodes as real processes, and a client for organizations and endpoints. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted, Scope, Semaphore } from "effect"
import { randomBytes, randomInt } from "node:crypto"
import { createServer } from "node:net"
import { SqlClient } from "effect/sql"
import { distribute } from "../../../src/infra/database/Distribution.ts"
import { migrate } from "../../../src/infra/database/Migrations.ts"
import { joinNodes, onEachServer } from "../../support/Cluster.ts"
import { databaseUrl } from "../../support/databaseUrl.ts"
import { request } from "../../support/http.ts"
import type { HttpResponse } from "../../support/http.ts"
import { randomCredential, start } from "../../support/ServiceProcess.ts"
import type { Ended, ServiceProcess } from "../../support/ServiceProcess.ts"
import type { Endpoint } from "./Evidence.ts"
import type { LimitsInMillis } from "./nodeProcess.ts"
import type { Receiver } from "./Receiver.ts"

/** A PostgreSQL server, optionally with a migrated template database. */
export interface Server {
  readonly url: string
  /** All servers of a Citus cluster, or the only one; `url` is the first of them. */
  readonly cluster?: ReadonlyArray<string>
  readonly template?: string
  /** The server's data directory, if the test may break the server. */
  readonly dataDir?: string
  /** Directory of the server in which to create the database. */
  readonly tablespace?: string
}

/** A node or primary that died or was suspended, and all deliveries that were leased at that time. */
export interface Crash {
  readonly node: string
  readonly kind: "killed" | "stopped"
  readonly at: number
  /** `<endpoint id>/<event id>` */
  readonly leases: ReadonlySet<string>
}

/** A node of the installation, running or not. */
interface Node {
  readonly name: string
  readonly core: string
  readonly internal: string
  readonly isReady: () => boolean
  readonly hasEnded: () => boolean
  readonly pid: () => number
  readonly output: () => string
  /** Starts a process and waits until it is ready. */
  readonly start: Effect.Effect<void>
  /** Kills the process with `kill -9` and waits until it has exited. */
  readonly kill: Effect.Effect<Crash>
  /** Suspends the process with SIGSTOP. */
  readonly freeze: Effect.Effect<Crash>
  readonly thaw: Effect.Effect<void>
  /** Sends SIGTERM and waits until the process has exited. */
  readonly terminate: Effect.Effect<Ended & { readonly millis: number }>
}

/** The statement that reads all deliveries that are leased, as `<endpoint id>/<event id>`. */
export const OPEN_LEASES = "SELECT endpoint_id || '/' || event_id AS name FROM webhook_queue WHERE lease IS NOT NULL"

/** An organization and its token. */
export interface Tenant {
  readonly organizationId: string
  readonly token: string
}

/** Returns milliseconds since 1970, more precise than `Date.now()`. */
export const clock = () => performance.timeOrigin + performance.now()

/** Waits until a condition holds; dies with its name after the time limit. */
export const until = (what: string, holds: () => boolean | Promise<boolean>, limitMillis = 20_000) =>
  Effect.promise(async () => {
    const deadline = Date.now() + limitMillis
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error(`Timed out after ${limitMillis / 1000} s waiting until ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

// Ports that are already assigned, so that no two nodes get the same port.
const assignedPorts = new Set<number>()

/**
 * Returns a free port below the ephemeral range. No outgoing connection can take it while a node restarts.
 */
export const freePort = Effect.promise(async () => {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    if (assignedPorts.has(port) || !(await isFree(port))) continue
    assignedPorts.add(port)
    return port
  }
})

const clientOf = (url: string, maxConnections: number) =>
  Effect.map(
    Effect.orDie(Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections }))),
    Context.get(PgClient.PgClient),
  )

const createDatabase = Effect.fnUntraced(function* ({ cluster, tablespace, template, url }: Server) {
  const name = `keyshelf_faults_${randomBytes(6).toString("hex")}`
  const onServer = (statement: string) => Effect.orDie(onEachServer(cluster ?? [url], statement))
  if (tablespace !== undefined) {
    yield* Effect.acquireRelease(onServer(`CREATE TABLESPACE ${name} LOCATION '${tablespace}'`), () =>
      onServer(`DROP TABLESPACE ${name}`),
    )
  }
  yield* Effect.acquireRelease(
    onServer(
      `CREATE DATABASE ${name}${template === undefined ? "" : ` TEMPLATE ${template}`}${tablespace === undefined ? "" : ` TABLESPACE ${name}`}`,
    ),
    () => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  )
  if (cluster !== undefined && template === undefined) yield* Effect.orDie(joinNodes(cluster, name))
  const own = databaseUrl(url, name)
  const sql = yield* clientOf(own, 6)
  if (template === undefined) {
    yield* Effect.orDie(Effect.provideService(Effect.andThen(migrate, distribute), SqlClient.SqlClient, sql))
  }
  return { url: own, sql }
})

// Citus sometimes loses a connection to a worker while several databases are distributed at the same time.
const oneAtATime = Semaphore.makeUnsafe(1)

/** Opens an installation without nodes. Everything is cleaned up with the scope. */
export const open = Effect.fnUntraced(function* (server: Server, limits: LimitsInMillis = {}) {
  const scope = yield* Effect.scope
  const { sql, url } = yield* oneAtATime.withPermits(1)(createDatabase(server))
  const operator = randomCredential()
  const key = randomBytes(32).toString("base64")
  const crashes: Array<Crash> = []

  const leases = Effect.map(
    Effect.orDie(sql.unsafe<{ name: string }>(OPEN_LEASES)),
    (rows) => new Set(rows.map(({ name }) => name)),
  )

  const node = Effect.fnUntraced(function* (name: string, env: Record<string, string> = {}) {
    const [core, platform, internal] = yield* Effect.all([freePort, freePort, freePort])
    let service: ServiceProcess | undefined
    let ready = false
    const running = () => {
      if (service === undefined) throw new Error(`${name} has not been started`)
      return service
    }
    const crashed = Effect.fnUntraced(function* (kind: Crash["kind"]) {
      const at = clock()
      const crash = { node: name, kind, at, leases: yield* leases }
      crashes.push(crash)
      return crash
    })
    const made: Node = {
      name,
      core: `http://127.0.0.1:${core}`,
      internal: `http://127.0.0.1:${internal}`,
      isReady: () => ready,
      hasEnded: () => running().process.exitCode !== null || running().process.signalCode !== null,
      pid: () => running().process.pid ?? 0,
      output: () => service?.output() ?? "",
      start: Effect.gen(function* () {
        service = yield* start(
          ["serve"],
          {
            SERVICE_DATABASE_URL: url,
            SERVICE_SECRET_KEY: key,
            SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
            SERVICE_CORE_PORT: String(core),
            SERVICE_PLATFORM_PORT: String(platform),
            SERVICE_INTERNAL_PORT: String(internal),
            SERVICE_WEBHOOKS_ALLOW_INSECURE: "true",
            SERVICE_LOG_LEVEL: "Warn",
            SERVICE_LOG_FORMAT: "json",
            FAULTS_LIMITS: JSON.stringify(limits),
            ...env,
          },
          "test/faults/support/nodeProcess.ts",
        )
        yield* Effect.orDie(service.ready)
        ready = true
      }).pipe(Scope.provide(scope)),
      kill: Effect.gen(function* () {
        ready = false
        running().process.kill("SIGKILL")
        yield* running().ended
        return yield* crashed("killed")
      }),
      freeze: Effect.gen(function* () {
        running().process.kill("SIGSTOP")
        return yield* crashed("stopped")
      }),
      thaw: Effect.sync(() => void running().process.kill("SIGCONT")),
      terminate: Effect.gen(function* () {
        ready = false
        const began = performance.now()
        running().process.kill("SIGTERM")
        const ended = yield* running().ended
        return { ...ended, millis: Math.round(performance.now() - began) }
      }),
    }
    return { ...made, platform: `http://127.0.0.1:${platform}` }
  })

  return { sql, url, operator, limits, crashes, leases, node }
})

/** An open installation. */
export type Installation = Effect.Success<ReturnType<typeof open>>

/** A node with its platform listener. */
export type AnyNode = Effect.Success<ReturnType<Installation["node"]>>

/** Calls a listener; dies on an error response. */
export const call = (method: string, url: string, token: string, body?: object) =>
  Effect.promise(async (): Promise<HttpResponse> => {
    const response = await request(method, url, { token, ...(body === undefined ? {} : { body }) })
    if (response.status >= 300) throw new Error(`${method} ${url}: ${response.status} ${response.text}`)
    return response
  })

/** Creates an organization and a token with all scopes. */
export const tenant = Effect.fnUntraced(function* ({ operator }: Installation, node: AnyNode, name: string) {
  const organizations = `${node.platform}/api/platform/organizations`
  const { body } = yield* call("POST", organizations, operator, { name })
  const minted = yield* call("POST", `${organizations}/${body.id}/tokens`, operator, { name: "faults" })
  const made: Tenant = { organizationId: String(body.id), token: String(minted.body.token) }
  return made
})

/** Creates an endpoint at a path of the receiver, or at another URL. */
export const endpoint = Effect.fnUntraced(function* (
  node: AnyNode,
  { organizationId, token }: Tenant,
  receiver: Receiver,
  options: {
    readonly key: string
    readonly eventNames?: ReadonlyArray<string>
    readonly url?: string
    /** What the checker requires of its events; `success` by default. */
    readonly expects?: Endpoint["expects"]
  },
) {
  const { body } = yield* call("POST", `${node.core}/api/webhooks`, token, {
    url: options.url ?? receiver.url(options.key),
    eventNames: options.eventNames ?? ["*"],
  })
  receiver.trust(options.key, String(body.secret))
  const made: Endpoint = {
    key: options.key,
    id: String(body.id),
    organizationId,
    eventNames: options.eventNames ?? ["*"],
    createdAt: Date.parse(String(body.createdAt)),
    removedAt: null,
    expects: options.expects ?? "success",
  }
  return made
})
