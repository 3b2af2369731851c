/** Prepares a run: a database of the target size, the service and its comparators, and tokens. */
import { Effect, Exit, Redacted, Scope } from "effect"
import { hkdfSync } from "node:crypto"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import * as EmbeddedPostgres from "../src/infra/embedded/EmbeddedPostgres.ts"
import { connect } from "node:net"
import type { Contender } from "./plan.ts"
import { entryIn } from "../bin/entry.mjs"
import { cores, freePorts, run, start } from "./processes.ts"
import type { Running } from "./processes.ts"

const here = import.meta.dirname
const root = join(here, "..")

/** Size of a database. Counts are per organization. */
export interface Scale {
  readonly organizations: number
  readonly customers: number
  readonly instances: number
  readonly months: number
  readonly eventsPerTotal: number
}

/**
 * `full`: 100,000 customers, 10,000 instances and 10 million usage events. `small`: a thousandth of the events. `vast` and `million`:
 * as `full`, with 100 million and 1 million events. `citus`: for the comparison of a plain server with a cluster.
 */
export const scales = {
  full: { organizations: 100, customers: 1000, instances: 100, months: 10, eventsPerTotal: 10 },
  vast: { organizations: 100, customers: 1000, instances: 100, months: 10, eventsPerTotal: 100 },
  million: { organizations: 100, customers: 1000, instances: 100, months: 10, eventsPerTotal: 1 },
  small: { organizations: 10, customers: 100, instances: 10, months: 1, eventsPerTotal: 10 },
  // Each run builds it again. Sixteen organizations, so that each worker has some.
  citus: { organizations: 16, customers: 1000, instances: 100, months: 1, eventsPerTotal: 10 },
} as const satisfies Record<string, Scale>

const SECRET_KEY = Buffer.alloc(32, 9).toString("base64")
const OPERATOR = `ksm_${"b".repeat(43)}`
const pepper = Buffer.from(
  hkdfSync("sha256", Buffer.from(SECRET_KEY, "base64"), new Uint8Array(), "keyshelf/token-pepper", 32),
).toString("hex")

const LOCAL = "postgres://postgres@127.0.0.1:5432/postgres"

const listens = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port || 5432) })
    socket.once("connect", () => resolve((socket.destroy(), true)))
    socket.once("error", () => resolve(false))
  })

/** Finds the database server: `BENCH_DATABASE_URL`, else the local one, else an embedded one under `.data`. */
export const databaseServer = async (): Promise<{ readonly url: string; readonly close: () => Promise<void> }> => {
  const given = process.env["BENCH_DATABASE_URL"] ?? ((await listens(LOCAL)) ? LOCAL : undefined)
  if (given !== undefined) return { url: given, close: () => Promise.resolve() }
  const scope = Scope.makeUnsafe()
  const dataDir = join(root, ".data", "bench")
  mkdirSync(dataDir, { recursive: true })
  const embedded = await Effect.runPromise(
    EmbeddedPostgres.run({ dataDir: join(dataDir, "postgres"), whenRunning: "fail" }).pipe(Scope.provide(scope)),
  )
  return { url: Redacted.value(embedded.url), close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

const urlOf = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** Creates, migrates and fills the database of a scale, unless it exists. Returns its URL. */
export const databaseOf = async (server: string, name: string, scale: Scale): Promise<string> => {
  const url = urlOf(server, `keyshelf_bench_${name}`)
  await run([join(here, "create-database.mjs"), server, `keyshelf_bench_${name}`])
  await fill(url, scale)
  return url
}

/** Migrates a database and fills it, unless it is filled. */
export const fill = async (url: string, scale: Scale): Promise<void> => {
  await run([join(root, "src/cli.ts"), "migrate"], { env: serviceEnvironment(url) })
  await run([join(here, "seed.mjs"), url, JSON.stringify(scale)])
}

const serviceEnvironment = (url: string): Record<string, string> => ({
  SERVICE_DATABASE_URL: url,
  SERVICE_SECRET_KEY: SECRET_KEY,
  SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: OPERATOR,
  SERVICE_LOG_LEVEL: "Error",
  SERVICE_WEBHOOKS_ALLOW_INSECURE: "true",
})

/** A running contender with its addresses. */
export interface Site extends Running {
  readonly origins: { readonly core: string; readonly platform: string; readonly internal: string }
  readonly startedInMillis: number
}

const originOf = (port: number | undefined) => `http://127.0.0.1:${port}`

/** Starts Keyshelf on a database. */
export const startKeyshelf = async (
  url: string,
  env: Record<string, string> = {},
  core: number = cores.server,
): Promise<Site> => {
  if (!entryIn(root).endsWith("/dist/server/cli.mjs")) {
    throw new Error("The bundle is older than the sources. Run `npm run bundle`, and edit no source during the run.")
  }
  const [corePort, platform, internal] = await freePorts(3)
  const startedAt = performance.now()
  const running = await start([join(root, "bin/keyshelf.mjs"), "serve"], {
    env: {
      ...serviceEnvironment(url),
      SERVICE_CORE_PORT: String(corePort),
      SERVICE_PLATFORM_PORT: String(platform),
      SERVICE_INTERNAL_PORT: String(internal),
      ...env,
    },
    ready: /Keyshelf is ready/,
    core,
  })
  const origins = { core: originOf(corePort), platform: originOf(platform), internal: originOf(internal) }
  return { ...running, origins, startedInMillis: performance.now() - startedAt }
}

/** Starts a comparator on a database. */
export const startComparator = async (contender: Contender, url: string): Promise<Site> => {
  const [port] = await freePorts(1)
  const startedAt = performance.now()
  const file = contender === "floor" ? "floor.mjs" : "fastify.mjs"
  const running = await start([join(here, "comparators", file)], {
    env: {
      BENCH_DATABASE_URL: url,
      BENCH_PEPPER: pepper,
      BENCH_PORT: String(port),
      BENCH_NAMED: String(contender !== "fastify-unnamed"),
      NODE_ENV: "production",
    },
    ready: /ready/,
    core: cores.server,
  })
  const origin = originOf(port)
  return {
    ...running,
    origins: { core: origin, platform: origin, internal: origin },
    startedInMillis: performance.now() - startedAt,
  }
}

const json = async (method: string, url: string, token: string, body?: object) => {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`)
  // eslint-disable-next-line typescript/no-unsafe-return -- callers read the response at once
  return text === "" ? undefined : JSON.parse(text)
}

/** Calls the service as the operator or with a token. Throws unless the response is successful. */
export const call = json

/** Mints a token for each of the first organizations and creates 20 flags in each. */
export const prepare = async (site: Site, count: number): Promise<ReadonlyArray<string>> => {
  const tokens: Array<string> = []
  const { items } = await json("GET", `${site.origins.platform}/api/platform/organizations?limit=200`, OPERATOR)
  const found = (items as Array<{ id: string; slug: string }>).filter(({ slug }) => /^bench-\d+$/.test(slug))
  for (const organization of found.slice(0, count)) {
    const minted = await json(
      "POST",
      `${site.origins.platform}/api/platform/organizations/${organization.id}/tokens`,
      OPERATOR,
      { name: `bench ${process.pid} ${Date.now()}` },
    )
    const token = String(minted.token)
    tokens.push(token)
    const flags = await json("GET", `${site.origins.core}/api/feature-flags`, token)
    for (let n = flags.items.length; n < 20; n++) {
      await json("POST", `${site.origins.core}/api/feature-flags`, token, {
        key: `flag-${n}`,
        name: `Flag ${n}`,
        type: "boolean",
        enabled: true,
        metadata: { fallback_value: false },
        variants: [
          { name: "on", value: true },
          { name: "off", value: false },
        ],
        defaultVariant: "off",
        targetings: [],
      })
    }
  }
  return tokens
}
