/** Use cases of license keys. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { OwnedTokens } from "../../access/tokens/OwnedTokens.ts"
import type { RotateToken } from "../../access/Model.ts"
import { Instances } from "../Service.ts"
import { DEFAULT_SCOPES } from "./Model.ts"
import type { CreateLicenseKey } from "./Model.ts"
import { keyOwner } from "./Rules.ts"
import type { Page } from "../../../kernel/contract/Page.ts"
import type { InstanceNotFound } from "../Errors.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { AccessToken, IssuedToken } from "../../access/Model.ts"
import type {
  IssueTokenScopeNotHeld,
  IssueTokenSlugTaken,
  AccessTokenNotFound,
  RotateTokenNotLive,
} from "../../access/Errors.ts"

/** Manages the license keys of instances in the caller's organization. */
export class LicenseKeys extends Context.Service<
  LicenseKeys,
  {
    /** ??? */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<AccessToken>, InstanceNotFound | InvalidCursor, Caller>
    /** ??? */
    readonly create: (
      instanceSlug: string,
      input: CreateLicenseKey,
    ) => Effect.Effect<
      IssuedToken,
      ValidationFailed | InstanceNotFound | IssueTokenScopeNotHeld | IssueTokenSlugTaken,
      Caller
    >
    /** ??? */
    readonly rotate: (
      instanceSlug: string,
      keySlug: string,
      input: RotateToken,
    ) => Effect.Effect<
      IssuedToken,
      InstanceNotFound | IssueTokenScopeNotHeld | AccessTokenNotFound | RotateTokenNotLive,
      Caller
    >
    /** ??? */
    readonly revoke: (
      instanceSlug: string,
      keySlug: string,
    ) => Effect.Effect<void, InstanceNotFound | AccessTokenNotFound, Caller>
  }
>()("keyshelf/instances/keys/LicenseKeys") {
  static readonly layer = Layer.effect(
    LicenseKeys,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const instances = yield* Instances
  const tokens = yield* OwnedTokens

  const keep = (slug: string) => Effect.map(instances.keep(slug), keyOwner)

  const list = Effect.fn("LicenseKeys.list")(function* (instanceSlug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const { id } = yield* instances.get(instanceSlug)
    return yield* tokens.list(`instances/${id}/keys`, organizationId, id, request)
  })

  return {
    list,
    create: (instanceSlug: string, { scopes = DEFAULT_SCOPES, ...input }: CreateLicenseKey) =>
      tokens.issue(keep(instanceSlug), { ...input, scopes }),
    rotate: (instanceSlug: string, keySlug: string, input: RotateToken) =>
      tokens.rotate(keep(instanceSlug), keySlug, input),
    revoke: (instanceSlug: string, keySlug: string) => tokens.revoke(keep(instanceSlug), keySlug),
  }
})
