/** The name under which an organization signs. Pure. */
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** The issuer of what is signed with an organization's keys. */
export const issuerOf = (organizationId: OrganizationId): string => `urn:keyshelf:organization:${organizationId}`
