/**
 * Serves the console: its files, and the configuration that they start with. Neither needs a credential. The console
 * then calls the published APIs, as any client does.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { version } from "../../../infra/Version.ts"
import { CurrentConsoleClient } from "../../../kernel/ports/IdentityProvider.ts"
import type { ConsoleClient } from "../../../kernel/ports/IdentityProvider.ts"
import * as MethodNotAllowed from "../../middleware/MethodNotAllowed.ts"
import * as Asset from "../Asset.ts"
import { CurrentConsoleFiles, HASHED } from "./ConsoleFiles.ts"
import type { ConsoleFiles } from "./ConsoleFiles.ts"
import { policyFor, SECURITY_HEADERS } from "../../SecurityHeaders.ts"

/**
 * The base URL of `/api/webhooks` for the console: empty if the core listener serves it, the URL of a dedicated
 * listener, or `null` if that is not known.
 */
export const WebhooksAddress = Context.Reference<string | null>("keyshelf.reference/http/WebhooksAddress", {
  defaultValue: () => "",
})

/** The sign-in that the console offers. */
const ConsoleSignIn = Schema.Struct({
  issuer: Schema.String,
  clientId: Schema.String,
  authorizationEndpoint: Schema.String,
  tokenEndpoint: Schema.String,
  endSessionEndpoint: Schema.NullOr(Schema.String),
  scope: Schema.String,
  parameters: Schema.Record(Schema.String, Schema.String),
})

/** The response of `GET /console/config.json`. */
const ConsoleConfig = Schema.Struct({
  surface: Schema.Literals(["core", "platform"]),
  version: Schema.String,
  webhooks: Schema.NullOr(Schema.String),
  oidc: Schema.NullOr(ConsoleSignIn),
})
type ConsoleConfig = typeof ConsoleConfig.Type

const signInOf = Effect.fnUntraced(function* ({ endpoints, ...client }: ConsoleClient) {
  return Option.map(yield* endpoints, (found) => ({ ...client, ...found }))
})

/** The configuration of a listener. The sign-in is missing while the identity provider has not been reached. */
const configurationOf = Effect.fnUntraced(function* (surface: ConsoleConfig["surface"]) {
  const client = yield* CurrentConsoleClient
  const webhooks = yield* WebhooksAddress
  // The operator uses a platform credential, and manages no webhooks.
  if (surface === "platform") return Effect.succeed<ConsoleConfig>({ surface, version, webhooks: null, oidc: null })
  const signIn = Option.isNone(client) ? Effect.succeedNone : signInOf(client.value)
  return Effect.map(signIn, (oidc): ConsoleConfig => ({ surface, version, webhooks, oidc: Option.getOrNull(oidc) }))
})

const CONFIG = "/console/config.json"
const ROOT = "/console/"

const encode = Schema.encodeSync(Schema.fromJsonString(ConsoleConfig))

const addConfiguration = Effect.fnUntraced(function* (
  router: HttpRouter.HttpRouter,
  configuration: Effect.Effect<ConsoleConfig>,
) {
  yield* router.add(
    "GET",
    CONFIG,
    Effect.map(configuration, (current) =>
      HttpServerResponse.text(encode(current), {
        contentType: "application/json",
        headers: { ...SECURITY_HEADERS, "cache-control": "no-store" },
      }),
    ),
  )
})

/** The page, whose policy allows what the configuration names. */
const pageWith = ({ page }: ConsoleFiles) => {
  let last: { readonly policy: string; readonly asset: Asset.Asset } | undefined
  return ({ oidc, webhooks }: ConsoleConfig): Asset.Asset => {
    const policy = policyFor([oidc?.tokenEndpoint ?? "", webhooks ?? ""])
    if (last?.policy !== policy) {
      last = { policy, asset: Asset.withHeaders(page, { "content-security-policy": policy }) }
    }
    return last.asset
  }
}

// As it was sent: names of files need no encoding.
const pathBelow = (url: string): string => url.replace(/[?#].*$/, "").slice(ROOT.length)

const addFiles = Effect.fnUntraced(function* (
  router: HttpRouter.HttpRouter,
  files: ConsoleFiles,
  configuration: Effect.Effect<ConsoleConfig>,
) {
  const pageFor = pageWith(files)
  const page = Effect.flatMap(configuration, (current) => Asset.respond(pageFor(current)))
  const file = Effect.gen(function* () {
    const path = pathBelow((yield* HttpServerRequest.HttpServerRequest).url)
    const asset = files.assets.get(path)
    if (asset !== undefined) return yield* Asset.respond(asset)
    // A missing script must not get the page as its response: after an upgrade, old pages still request old names.
    return path.startsWith(HASHED) ? HttpServerResponse.empty({ status: 404 }) : yield* page
  })
  // The router adds `/console` itself.
  yield* router.add("GET", `${ROOT}*`, file)
})

/** Routes of the console for a listener. Without a built console only its configuration is served. */
export const layer = (surface: ConsoleConfig["surface"]) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const files = yield* CurrentConsoleFiles
      const configuration = yield* configurationOf(surface)
      const served = HttpRouter.use((router) =>
        Effect.gen(function* () {
          yield* addConfiguration(router, configuration)
          if (Option.isSome(files)) yield* addFiles(router, files.value, configuration)
        }),
      )
      return Layer.merge(
        served,
        MethodNotAllowed.readOnly(CONFIG, ...(Option.isSome(files) ? [`${ROOT}*` as const] : [])),
      )
    }),
  )
