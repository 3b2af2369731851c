/** Endpoints of signing keys. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdminsOnly, Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  ActivateSigningKeyNotNext,
  CreateSigningKeyNextExists,
  RevokeSigningKeyCurrent,
  SigningKeyNotFound,
} from "./Errors.ts"
import { CreateSigningKey, SigningKey } from "./Model.ts"

const key = { kid: PathName.annotate({ description: "`kid` of the signing key" }) }

export class SigningKeysApi extends HttpApiGroup.make("signingKeys")
  .add(
    HttpApiEndpoint.get("list", "/signing-keys", {
      query: pageQuery,
      success: Page(SigningKey),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "List signing keys",
          description: "Newest first, of all purposes, with retired and revoked keys. People need the role `ADMIN`.",
        }),
      ),
    HttpApiEndpoint.post("create", "/signing-keys", {
      headers: idempotencyHeaders,
      payload: CreateSigningKey,
      success: Created(SigningKey),
      error: CreateSigningKeyNextExists,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:organizations")
      .annotate(AdminsOnly, true)
      .annotateMerge(exampleBody({ purpose: "offline" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a signing key",
          description:
            "Announces the successor of the key that signs: it is `NEXT`, published, and named in offline bundles, so that products learn it before it signs. If the purpose has no key yet, the new key is `CURRENT` at once; the first bundle would create it otherwise. Rejected with 409 while another key is `NEXT`. People need the role `ADMIN`.",
        }),
      ),
    HttpApiEndpoint.post("activate", "/signing-keys/:kid/activate", {
      params: key,
      headers: idempotencyHeaders,
      success: SigningKey,
      error: [SigningKeyNotFound, ActivateSigningKeyNotNext],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:organizations")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Activate the next signing key",
          description:
            "The key signs from now on, and the one before is `RETIRED`: it signs nothing more, and is published until its last bundle has expired. Wait one lifetime of your bundles after the creation, so that all sites have learnt the key. People need the role `ADMIN`.",
        }),
      ),
    HttpApiEndpoint.delete("revoke", "/signing-keys/:kid", {
      params: key,
      success: HttpApiSchema.NoContent,
      error: [SigningKeyNotFound, RevokeSigningKeyCurrent],
    })
      .annotate(RequiredScope, "write:organizations")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a signing key",
          description:
            "The key is published no more. Products that pin it trust it until they are built without it. The current key is rejected with 409: activate another one first. Revoking a revoked key has no effect. People need the role `ADMIN`.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Signing keys",
      description: "The keys that sign offline bundles and the event log, and their rotation.",
    }),
  ) {}
