/** Ids of organizations in tests. */
import { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

/** The id of an organization from a text: of a response, a fixture, or one that no organization has. */
export const organizationIdOf = (text: string): OrganizationId => OrganizationId.make(text, { disableChecks: true })
