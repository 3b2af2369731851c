/** Endpoints of license keys. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Created,
  Idempotency,
  idempotencyHeaders,
  RequiredScope,
  ReturnsSecret,
} from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import {
  AccessTokenNotFound,
  IssueTokenScopeNotHeld,
  IssueTokenSlugTaken,
  RotateTokenNotLive,
} from "../../access/Errors.ts"
import { AccessToken, IssuedToken, RotateToken } from "../../access/Model.ts"
import { InstanceNotFound } from "../Errors.ts"
import { CreateLicenseKey } from "./Model.ts"

const instance = { instanceSlug: PathName }
const key = { ...instance, keySlug: PathName }

export class LicenseKeysApi extends HttpApiGroup.make("licenseKeys")
  .add(
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/keys", {
      params: instance,
      query: pageQuery,
      success: Page(AccessToken),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the license keys of an instance",
          description: "Newest first, including revoked and expired keys. Secrets are never returned.",
        }),
      ),
    HttpApiEndpoint.post("create", "/instances/:instanceSlug/keys", {
      params: instance,
      headers: idempotencyHeaders,
      payload: CreateLicenseKey,
      success: Created(IssuedToken),
      error: [InstanceNotFound, IssueTokenSlugTaken, IssueTokenScopeNotHeld, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ name: "Globex production" }))
      .annotate(ReturnsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a license key",
          description:
            "A token for a product that runs at a customer: it is confined to this instance. It may check, use, reserve and lease, evaluate flags for its instance, and read its instance and `GET /me`. All other operations refuse it, and other instances do not exist for it. The secret `token` is returned only in this response. The caller can grant only scopes that it holds. Deleting the instance revokes its keys.",
        }),
      ),
    HttpApiEndpoint.post("rotate", "/instances/:instanceSlug/keys/:keySlug/rotate", {
      params: key,
      headers: idempotencyHeaders,
      payload: [RotateToken, Schema.Undefined],
      success: Created(IssuedToken),
      error: [InstanceNotFound, AccessTokenNotFound, RotateTokenNotLive, IssueTokenScopeNotHeld],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ gracePeriodSeconds: 86_400 }))
      .annotate(ReturnsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Rotate a license key",
          description:
            "Issues a new key with the same name, scopes and lifetime, under a new slug. The old key works until the grace period or its own expiry ends, whichever is first. Without a grace period it is revoked immediately. The body is optional.",
        }),
      ),
    HttpApiEndpoint.delete("revoke", "/instances/:instanceSlug/keys/:keySlug", {
      params: key,
      success: HttpApiSchema.NoContent,
      error: [InstanceNotFound, AccessTokenNotFound],
    })
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a license key",
          description: "The next request with the key fails, on every node. Revoking a revoked key has no effect.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "License keys",
      description: "Tokens that are confined to one instance, for products that run at customers.",
    }),
  ) {}
