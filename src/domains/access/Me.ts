/** What a request's credential stands for: `GET /me` and `GET /platform/me`. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller, Operator } from "../../kernel/contract/Caller.ts"
import { Organizations } from "../organizations/Service.ts"
import { AccessRepo } from "./Repo.ts"
import { kindOf } from "./Rules.ts"
import { invalidCredential } from "../../kernel/contract/Problem.ts"
import type { InvalidCredential } from "../../kernel/contract/Problem.ts"
import type { CallerRecord, OperatorRecord } from "./Api.ts"

/** Describes the credential of a request and the identity that it authenticates. */
export class Me extends Context.Service<
  Me,
  {
    /** Describes the caller. Fails if its credential or its organization ended since the request was authenticated. */
    readonly ofCaller: () => Effect.Effect<CallerRecord, InvalidCredential, Caller>
    /** Describes the operator. Fails if its credential ended since the request was authenticated. */
    readonly ofOperator: () => Effect.Effect<OperatorRecord, InvalidCredential, Operator>
  }
>()("keyshelf/access/Me") {
  static readonly layer = Layer.suspend(() => Layer.effect(Me, make))
}

const make = Effect.gen(function* () {
  const repo = yield* AccessRepo
  const organizations = yield* Organizations

  // The credential or its organization may have ended since the request was authenticated.
  const stored = Effect.fnUntraced(function* (id: string) {
    const credential = yield* repo.findCredential(id)
    return Option.isSome(credential) ? credential.value : yield* invalidCredential()
  })

  const ofCaller = Effect.fn("Me.ofCaller")(function* () {
    const { actor, confinedTo, credentialId, organizationId, role, scopes, ...caller } = yield* Caller
    const organization = yield* Effect.catchTag(organizations.get(organizationId), "Organization.NotFound", () =>
      invalidCredential(),
    )
    const { expiresAt, id, name } =
      role === undefined
        ? yield* stored(credentialId)
        : { id: credentialId, name: actor.name, expiresAt: caller.expiresAt ?? null }
    return {
      identity: actor,
      kind: kindOf({ actor, ...(confinedTo && { confinedTo }), ...(role && { role }) }),
      role: role ?? null,
      organizationId,
      organization: { id: organization.id, name: organization.name, slug: organization.slug },
      ...(confinedTo && { instance: confinedTo }),
      credential: { id, name, expiresAt },
      scopes,
    }
  })

  const ofOperator = Effect.fn("Me.ofOperator")(function* () {
    const { actor, credentialId, scopes } = yield* Operator
    return {
      identity: actor,
      kind: "PLATFORM" as const,
      role: null,
      organizationId: null,
      credential: yield* stored(credentialId),
      scopes,
    }
  })

  return { ofCaller, ofOperator }
})
