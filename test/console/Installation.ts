/** The installation whose console is tested: the built console, the service as a process, and an OpenID provider. */
import { Effect, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import { readdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import * as EmbeddedPostgres from "../../src/infra/embedded/EmbeddedPostgres.ts"
import { AUDIENCE } from "../support/Issuer.ts"
import * as ServiceProcess from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { CLAIM, CLIENT_ID, startProvider } from "./OpenIdProvider.ts"

const root = resolve(import.meta.dirname, "../..")

/** The folder of the built console. */
export const built = join(root, "dist/console")

const newest = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => statSync(join(parentPath, name)).mtimeMs),
  )

/** Builds the console if its sources are newer than the last build. */
const build = Effect.sync(() => {
  const manifest = statSync(join(built, ".vite/manifest.json"), { throwIfNoEntry: false })
  if (manifest !== undefined && manifest.mtimeMs > newest(join(root, "console"))) return
  const { status, stderr } = spawnSync(process.execPath, ["bin/console.mjs"], {
    cwd: root,
    encoding: "utf8",
    // Vitest's own value would build React for development.
    env: { ...process.env, NODE_ENV: "production" },
  })
  if (status !== 0) throw new Error(`The console was not built: ${stderr}`)
})

/** Where the service is, and what opens it. Test files share it, so each has an organization of its own. */
export interface Installation {
  readonly core: string
  readonly platform: string
  readonly operator: string
  readonly databaseUrl: string
}

/** Starts an installation, and stops it with the scope. */
export const start = Effect.gen(function* () {
  yield* build
  const operator = ServiceProcess.randomCredential()
  const settings = yield* ServiceProcess.settings(yield* temporaryDirectory, operator)
  const core = `http://127.0.0.1:${settings.SERVICE_CORE_PORT}`
  const provider = yield* startProvider(core)
  const service = yield* ServiceProcess.start(["serve"], {
    ...settings,
    SERVICE_OIDC_ISSUER: provider.url,
    SERVICE_OIDC_AUDIENCE: AUDIENCE,
    SERVICE_OIDC_ORGANIZATION_CLAIM: CLAIM,
    SERVICE_OIDC_PROVISIONING: "just-in-time",
    SERVICE_OIDC_CLIENT_ID: CLIENT_ID,
    // Receivers of webhooks and systems of connectors are on this machine.
    SERVICE_WEBHOOKS_ALLOW_INSECURE: "true",
  })
  yield* Effect.orDie(service.ready)
  const database = EmbeddedPostgres.run({ dataDir: join(settings.SERVICE_DATA_DIR, "postgres"), whenRunning: "attach" })
  const databaseUrl = Redacted.value((yield* Effect.orDie(database)).url)
  const installation: Installation = { core, platform: service.platform, operator, databaseUrl }
  return installation
})
