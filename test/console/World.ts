/** What the tests of one file share: a furnished organization, and tabs of a browser. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Page } from "playwright-core"
import { Stage } from "../../src/demo/Demo.ts"
import { furnish, RECENT_DAYS } from "../../src/demo/Furnish.ts"
import type { Extent } from "../../src/demo/Furnish.ts"
import { customers } from "../../src/demo/Names.ts"
import type { Browser } from "../support/Browser.ts"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import type { Installation } from "./Installation.ts"

// A condition that does not come true fails with its name, before the whole test does.
const MAX_WAIT_MS = 12_000

interface Tenant {
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

/** Four customers, and their usage of a month: enough for most tests, and made in a second. */
const FEW: Extent = {
  customers: ["Acme Logistics", "Globex Logistics", "Globex Health", "Acme Media"],
  days: RECENT_DAYS,
}

/** 200 instances, for tests of long lists. */
export const MANY: Extent = { customers, days: 1 }

/** 200 instances, and their usage of a month. */
export const ALL: Extent = { customers, days: RECENT_DAYS }

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
    readonly browser: Browser
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
  /** A new organization with these customers and usage, on an installation that others use too. */
  static readonly layer = (
    { core, databaseUrl, operator, platform }: Installation,
    browser: Browser,
    extent: Extent = FEW,
  ) =>
    Layer.effect(
      World,
      Effect.gen(function* () {
        const origins = { core, platform, webhooks: core }
        const furnished = yield* furnish(Redacted.make(operator), extent).pipe(
          Effect.provide(Stage.quiet(origins)),
          Effect.orDie,
        )
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
        const { organizationId } = furnished
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
        const user = yield* asOperator("POST", "/users", {
          name: "Grace Hopper",
          email: `grace@${organizationId}.example`,
        })
        yield* asOperator("POST", `/organizations/${organizationId}/memberships`, {
          userId: user.body.id,
          role: "MEMBER",
        })
        const tenant = Effect.fnUntraced(function* (name: string) {
          const { body } = yield* asOperator("POST", "/organizations", { name })
          return { organizationId: String(body.id), token: yield* mint(body.id) }
        })
        const database = PgClient.layer({ url: Redacted.make(databaseUrl), maxConnections: 1 })
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

/** Signs in with a pasted token, which is kept until the tab is closed, or with `isKept: false` until the page is loaded again. */
export const signIn = async (
  page: Page,
  origin: string,
  credential: string,
  path = "/console",
  isKept = true,
): Promise<void> => {
  await page.goto(origin + path)
  await page.getByLabel(/^(Access token|Platform credential)/).fill(credential)
  const untilReload = page.getByText("Until I reload the page")
  if (!isKept && (await untilReload.count()) > 0) await untilReload.click()
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
