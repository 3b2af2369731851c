/** Use cases of license keys. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { OwnedTokens } from "../../access/tokens/OwnedTokens.ts"
import type { AccessToken, IssuedToken, RotateToken } from "../../access/Model.ts"
import { Instances } from "../Service.ts"
import { DEFAULT_SCOPES } from "./Model.ts"
import type { CreateLicenseKey } from "./Model.ts"
import { keyOwner } from "./Rules.ts"
import type { InstanceNotFound } from "../Errors.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
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
    /**
     * A page of the license keys of an instance, also those that ended, newest first. They come without their tokens.
     */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<AccessToken>, InstanceNotFound | InvalidCursor, Caller>
    /** Issues a license key. This response alone contains its token. */
    readonly create: (
      instanceSlug: string,
      input: CreateLicenseKey,
    ) => Effect.Effect<
      IssuedToken,
      ValidationFailed | InstanceNotFound | IssueTokenScopeNotHeld | IssueTokenSlugTaken,
      Caller
    >
    /** Issues a successor with the same scopes. The old key ends at once or after an overlap. */
    readonly rotate: (
      instanceSlug: string,
      keySlug: string,
      input: RotateToken,
    ) => Effect.Effect<
      IssuedToken,
      InstanceNotFound | IssueTokenScopeNotHeld | AccessTokenNotFound | RotateTokenNotLive,
      Caller
    >
    /** Revokes a license key at once. Has no effect on one that was revoked before. */
    readonly revoke: (
      instanceSlug: string,
      keySlug: string,
    ) => Effect.Effect<void, InstanceNotFound | AccessTokenNotFound, Caller>
  }
>()("keyshelf/instances/keys/LicenseKeys") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicenseKeys, make))
}

const make = Effect.gen(function* () {
  const instances = yield* Instances
  const tokens = yield* OwnedTokens

  const lockOwner = (slug: string) => Effect.map(instances.lockShared(slug), keyOwner)

  const list = Effect.fn("LicenseKeys.list")(function* (instanceSlug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const { id } = yield* instances.get(instanceSlug)
    return yield* tokens.list(`instances/${id}/keys`, organizationId, id, request)
  })

  return {
    list,
    create: (instanceSlug: string, { scopes = DEFAULT_SCOPES, ...input }: CreateLicenseKey) =>
      tokens.issue(lockOwner(instanceSlug), { ...input, scopes }),
    rotate: (instanceSlug: string, keySlug: string, input: RotateToken) =>
      tokens.rotate(lockOwner(instanceSlug), keySlug, input),
    revoke: (instanceSlug: string, keySlug: string) => tokens.revoke(lockOwner(instanceSlug), keySlug),
  }
})
