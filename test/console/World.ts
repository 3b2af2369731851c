/** What all tests of the console share: the service as a process, an OpenID provider, a furnished organization and a browser. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import { readdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Page } from "playwright-core"
import { Stage } from "../../src/demo/Demo.ts"
import { furnish } from "../../src/demo/Furnish.ts"
import * as EmbeddedPostgres from "../../src/infra/embedded/EmbeddedPostgres.ts"
import * as Browser from "../support/Browser.ts"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import { AUDIENCE } from "../support/Issuer.ts"
import * as ServiceProcess from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { CLAIM, CLIENT_ID, startProvider } from "./OpenIdProvider.ts"

// A condition that does not come true fails with its name, before the whole test does.
const MAX_WAIT_MS = 12_000

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

export interface Tenant {
  readonly organizationId: string
  readonly token: string
}

export type Call = (method: string, path: string, body?: object, token?: string) => Effect.Effect<HttpResponse>

/** The connector whose settings are stored, and whose ids customers have. */
export const SALESFORCE = "service.integration.crm.salesforce"

/** Links a customer to another system, and gives an instance a value of a metadata field. */
const link = Effect.fnUntraced(function* (call: Call) {
  yield* call("PUT", `/connectors/${SALESFORCE}/activation`)
  const settings = { clientId: "keyshelf", username: "ops@acme.example", privateKey: "-----BEGIN PRIVATE KEY-----" }
  yield* call("PUT", `/connectors/${SALESFORCE}/settings`, { settings })
  const record = { external_id: "0018c00002XyZ12AAB", last_error: "The account is locked", metadata: { owner: "emea" } }
  yield* call("PUT", `/customers/acme-logistics/integrations/${SALESFORCE}`, record)
  const jsonSchema = { enum: ["eu", "us"] }
  for (const resourceType of ["INSTANCE", "DEPLOYMENT_ZONE"]) {
    yield* call("POST", "/metadata-fields", { key: "region", label: "Region", resourceType, jsonSchema })
  }
  yield* call("PATCH", "/instances/acme-logistics-production", { metadata: { region: "eu" } })
})

export class World extends Context.Service<
  World,
  {
    readonly core: string
    readonly platform: string
    readonly operator: string
    /** An organization with customers, instances, licenses and usage. */
    readonly furnished: Tenant
    /** An organization without anything. */
    readonly empty: Tenant
    readonly browser: Browser.Browser
    /** Calls the Core API as the furnished organization, or with another token. */
    readonly call: Call
    /** A token of the furnished organization with these scopes. */
    readonly tokenWith: (scopes: ReadonlyArray<string>) => Effect.Effect<string>
    /** A new organization with nothing in it. */
    readonly tenant: (name: string) => Effect.Effect<Tenant>
    /** Runs a statement in the service's database, for records that would take too long by the API. */
    readonly sql: (statement: string, parameters: ReadonlyArray<unknown>) => Effect.Effect<void>
    /** Calls the Platform API as the operator; paths begin below `/api/platform`. */
    readonly asOperator: (method: string, path: string, body?: object) => Effect.Effect<HttpResponse>
    /** A platform credential with these scopes. */
    readonly platformCredential: (scopes: ReadonlyArray<string>) => Effect.Effect<string>
  }
>()("keyshelf/test/console/World") {
  static readonly layer = Layer.effect(
    World,
    Effect.gen(function* () {
      yield* build
      const operator = ServiceProcess.randomCredential()
      const settings = yield* ServiceProcess.settings(yield* temporaryDirectory, operator)
      const core = `http://127.0.0.1:${settings.SERVICE_CORE_PORT}`
      let organization = ""
      const provider = yield* startProvider(core, () => organization)
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
      const { platform } = service
      const origins = { core, platform, webhooks: core }
      const furnished = yield* furnish(Redacted.make(operator)).pipe(Effect.provide(Stage.quiet(origins)), Effect.orDie)
      const asOperator = (method: string, path: string, body?: object) =>
        Effect.promise(() =>
          request(method, `${platform}/api/platform${path}`, {
            token: operator,
            ...(body === undefined ? {} : { body }),
          }),
        )
      const token = Redacted.value(furnished.token)
      const call: Call = (method, path, body, as = token) =>
        Effect.promise(() =>
          request(method, `${core}/api${path}`, { token: as, ...(body === undefined ? {} : { body }) }),
        )
      const organizationId: string = (yield* call("GET", "/me")).body.organizationId
      organization = organizationId
      const mint = (id: string, scopes?: ReadonlyArray<string>) =>
        asOperator("POST", `/organizations/${id}/tokens`, {
          name: `console ${crypto.randomUUID()}`,
          ...(scopes === undefined ? {} : { scopes }),
        }).pipe(Effect.map(({ body }): string => body.token))
      // A machine that changed something with its token.
      yield* call("POST", "/service-accounts", { name: "Build pipeline", slug: "build-pipeline" })
      const issued = yield* call("POST", "/service-accounts/build-pipeline/tokens", {
        name: "Runner",
        scopes: ["write:customers"],
      })
      yield* call("POST", "/customers", { name: "From the pipeline", slug: "from-the-pipeline" }, issued.body.token)
      yield* link(call)
      yield* call("POST", "/licenses/team/migrations", { toLicenseSlug: "team-2", at: "2099-01-01T00:00:00Z" })
      // A person, for the operator's screens.
      const user = yield* asOperator("POST", "/users", { name: "Grace Hopper", email: "grace@example.com" })
      yield* asOperator("POST", `/organizations/${organizationId}/memberships`, {
        userId: user.body.id,
        role: "MEMBER",
      })
      const tenant = Effect.fnUntraced(function* (name: string) {
        const { body } = yield* asOperator("POST", "/organizations", { name })
        return { organizationId: String(body.id), token: yield* mint(body.id) }
      })
      const database = Layer.unwrap(
        EmbeddedPostgres.run({ dataDir: join(settings.SERVICE_DATA_DIR, "postgres"), whenRunning: "attach" }).pipe(
          Effect.map(({ url }) => PgClient.layer({ url, maxConnections: 1 })),
          Effect.orDie,
        ),
      )
      const browser = yield* Browser.launch
      return World.of({
        core,
        platform,
        operator,
        furnished: { organizationId, token },
        empty: yield* tenant("Nothing yet"),
        tenant,
        sql: (statement, parameters) =>
          Effect.flatMap(PgClient.PgClient, (client) => client.unsafe(statement, parameters)).pipe(
            Effect.provide(database),
            Effect.asVoid,
            Effect.orDie,
          ),
        browser: {
          newTab: (options) =>
            Effect.tap(browser.newTab({ reducedMotion: "reduce", ...options }), ({ page }) =>
              Effect.sync(() => page.setDefaultTimeout(MAX_WAIT_MS)),
            ),
        },
        call,
        tokenWith: (scopes) => mint(organizationId, scopes),
        asOperator,
        platformCredential: (scopes) =>
          asOperator("POST", "/credentials", { name: `console ${crypto.randomUUID()}`, scopes }).pipe(
            Effect.map(({ body }): string => body.token),
          ),
      })
    }),
  )
}

/** Signs in with a pasted token, and keeps it unless told otherwise, so that the page can be loaded again. */
export const signIn = async (
  page: Page,
  origin: string,
  credential: string,
  path = "/console",
  isKept = true,
): Promise<void> => {
  await page.goto(origin + path)
  await page.getByLabel(/^(Access token|Platform credential)/).fill(credential)
  const keep = page.getByText("Stay signed in when this page is reloaded")
  if (isKept && (await keep.count()) > 0) await keep.click()
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.locator("main#main").waitFor()
}

/** Opens a screen and waits for its heading and its data. */
export const open = async (page: Page, origin: string, path: string): Promise<void> => {
  await page.goto(`${origin}/console${path}`)
  await settled(page)
}

/** Waits until nothing is loading. */
export const settled = async (page: Page): Promise<void> => {
  await page.locator("main h1, main .empty, main .failure").first().waitFor()
  await page.locator(".loading").first().waitFor({ state: "detached" })
}

/**
 * Waits in the page until a condition is true. Playwright's own way evaluates the text again and again in the page, which the policy
 * forbids.
 */
export const until = (page: Page, condition: string): Promise<void> =>
  page.evaluate(`new Promise((done, fail) => {
    const end = performance.now() + ${MAX_WAIT_MS}
    const look = () => {
      if (${condition}) done()
      else if (performance.now() > end) fail(new Error(${JSON.stringify(`Not true in time: ${condition}`)}))
      else requestAnimationFrame(look)
    }
    look()
  })`)
