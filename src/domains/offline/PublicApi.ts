/** What verifiers of offline bundles read. It needs no credential. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { component } from "../../kernel/contract/Component.ts"
import { Public } from "../../kernel/contract/Endpoint.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { RevocationListNotFound } from "./Errors.ts"

const organization = { organizationId: PathName.annotate({ description: "Id of the organization" }) }

const headers = {
  "if-none-match": Schema.optionalKey(Schema.String).annotate({ description: "`ETag` of the cached response" }),
}

const cached = { etag: Schema.String, "cache-control": Schema.String }

const NotModified = HttpApiSchema.WithHeaders(HttpApiSchema.Empty(304), cached)

/** A public key (RFC 8037). */
const JsonWebKey = Schema.Struct({
  kty: Schema.Literal("OKP"),
  crv: Schema.Literal("Ed25519"),
  alg: Schema.Literal("EdDSA"),
  use: Schema.Literal("sig"),
  kid: Schema.String,
  x: Schema.String.annotate({ description: "The public key, base64url" }),
}).annotate(
  component("OfflineKey", {
    kid: "qeDfJlhHw0_QayzjmVIfJwPp1b5dWmeEQVeqvoRzIAw",
    x: "TR_unwFKg7OfP7DnJNKpos0i2bR5zwNoJUy9DMypg5Q",
  }),
)

const KeySet = Schema.Struct({ keys: Schema.Array(JsonWebKey) }).annotate(component("OfflineKeySet"))

const List = Schema.String.annotate({
  ...component("OfflineRevocationList", "eyJ0eXAiOiJrZXlzaGVsZi1yZXZvY2F0aW9ucytqd3Qi..."),
  description: "A signed JWT: `v`, `iss`, `number`, `iat`, `exp` and `revoked`, a list of `sub`, `seq` and `at`",
}).pipe(HttpApiSchema.asText({ contentType: "application/jwt" }))

export class OfflineApi extends HttpApiGroup.make("offline")
  .add(
    HttpApiEndpoint.get("keys", "/offline/:organizationId/keys", {
      params: organization,
      headers,
      success: [HttpApiSchema.WithHeaders(KeySet, cached), NotModified],
    })
      .annotate(Public, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getOfflineKeys",
          summary: "Read the keys that verify offline bundles",
          description:
            "A JWK set: the key that signs, the next one, and earlier ones until their last bundle has expired. Empty for an organization without keys, or an unknown one. Needs no credential.",
        }),
      ),
    HttpApiEndpoint.get("revocations", "/offline/:organizationId/revocations", {
      params: organization,
      headers,
      success: [HttpApiSchema.WithHeaders(List, cached), NotModified],
      error: RevocationListNotFound,
    })
      .annotate(Public, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getOfflineRevocations",
          summary: "Read the list of revoked offline bundles",
          description:
            "A signed JWT with the highest void sequence of each instance, until all that it voids has expired. It is fresh for 7 days. 404 if the organization has issued no bundle, or is unknown. Needs no credential.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Offline verification",
      description: "Keys and revocations, for the verification of offline bundles.",
    }),
  ) {}
