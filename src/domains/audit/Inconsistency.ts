/** What the service says when an event log was changed. Pure. */
import { EventCheckpointInconsistent } from "./Errors.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** The event log of an organization was changed: `reason` is a sentence that says what is wrong. */
export const inconsistent = (organizationId: OrganizationId, reason: string): EventCheckpointInconsistent =>
  new EventCheckpointInconsistent({
    detail: `${reason} Nothing is signed until this is settled: run the command "audit verify" (organization ${organizationId}).`,
  })
