/** Facts about the current request, added to every log line of that request. */
import { Context, Effect, References } from "effect"
import { authentications } from "../../infra/telemetry/Metrics.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/**
 * Log annotations of a request: its id from the start, organization and credential after authentication. The whole
 * request shares one mutable object, so that lines logged outside the authenticated part name the caller too.
 */
export class RequestAnnotations {
  [fact: string]: unknown

  constructor(requestId: string) {
    this["requestId"] = requestId
  }
}

/** Counts an accepted credential, and adds its owner to the log lines of the current request. */
export const recordCaller = (owner: {
  readonly organizationId?: OrganizationId | null
  readonly credentialId: string
}): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    authentications.accepted.updateUnsafe(1, fiber.context)
    const facts = Context.get(fiber.context, References.CurrentLogAnnotations)
    if (facts instanceof RequestAnnotations) {
      if (typeof owner.organizationId === "string") facts["organizationId"] = owner.organizationId
      facts["credentialId"] = owner.credentialId
    }
    return Effect.void
  })
