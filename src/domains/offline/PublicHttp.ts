/** Handlers of what verifiers of offline bundles read. */
import { Effect, Option, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { etagOf, matchesEtag } from "../../kernel/values/EntityTag.ts"
import { RevocationListNotFound } from "./Errors.ts"
import { OfflineApi } from "./PublicApi.ts"
import { PublishedKeys } from "./PublishedKeys.ts"
import { RevocationLists } from "./revocations/Service.ts"

const CACHE = "max-age=300"

// Any other text is not an id of an organization, and PostgreSQL would reject it.
const isOrganizationId = Schema.is(OrganizationId)

const cacheable = (text: string, contentType: string, ifNoneMatch: string | undefined) => {
  const headers = { etag: etagOf(text), "cache-control": CACHE }
  return matchesEtag(headers.etag, ifNoneMatch)
    ? HttpServerResponse.empty({ status: 304, headers: { ...headers, "content-type": contentType } })
    : HttpServerResponse.text(text, { contentType, headers })
}

export const offline = handlersOf(
  Apis.open(OfflineApi),
  "offline",
  Effect.fn(function* (handlers) {
    const keys = yield* PublishedKeys
    const lists = yield* RevocationLists
    return handlers.handleAll({
      keys: ({ headers, params: { organizationId } }) =>
        Effect.map(isOrganizationId(organizationId) ? keys.of(organizationId) : Effect.succeed([]), (published) => {
          const set = {
            keys: published.map(({ kid, x }) => ({ kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", kid, x })),
          }
          return cacheable(JSON.stringify(set), "application/json", headers["if-none-match"])
        }),
      revocations: ({ headers, params: { organizationId } }) =>
        Effect.flatMap(
          isOrganizationId(organizationId) ? lists.current(organizationId) : Effect.succeed(Option.none()),
          Option.match({
            onNone: () => new RevocationListNotFound({ detail: noSuch("revocation list of", organizationId) }),
            onSome: (text) => Effect.succeed(cacheable(text, "application/jwt", headers["if-none-match"])),
          }),
        ),
    })
  }),
)
