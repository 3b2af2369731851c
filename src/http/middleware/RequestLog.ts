/** What is known about the request that is being served. It stands in every log line that is written for it. */
import { Context, Effect, References } from "effect"
import { authentications } from "../../infra/telemetry/Metrics.ts"

/**
 * The annotations of a request's log lines: its id from the start, organization and credential once they are known. One
 * object for the whole request, so that lines written outside of the authenticated part know the caller too.
 */
export class RequestFacts {
  [fact: string]: unknown

  constructor(requestId: string) {
    this["requestId"] = requestId
  }
}

/** A credential was accepted: counts it, and tells the log lines of the current request whose it is. */
export const noteCaller = (owner: {
  readonly organizationId?: string | null
  readonly credentialId: string
}): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    authentications.accepted.updateUnsafe(1, fiber.context)
    const facts = Context.get(fiber.context, References.CurrentLogAnnotations)
    if (facts instanceof RequestFacts) {
      if (typeof owner.organizationId === "string") facts["organizationId"] = owner.organizationId
      facts["credentialId"] = owner.credentialId
    }
    return Effect.void
  })
