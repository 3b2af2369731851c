/** The name under which an organization signs. Pure. */

/** The issuer of what is signed with an organization's keys. */
export const issuerOf = (organizationId: string): string => `urn:keyshelf:organization:${organizationId}`
