/**
 * The text of an event of a page as receivers get it. JSON keeps the order of the properties, which is the same; without a credential, there
 * is no property for it.
 */
export const deliveredText = ({ credential, ...event }: { readonly credential: object | null }): string => {
  const { id, type, timestamp, organizationId, actor, ...content }: Record<string, unknown> = event
  const head = { id, type, timestamp, organizationId, actor }
  return JSON.stringify(credential === null ? { ...head, ...content } : { ...head, credential, ...content })
}
