/** Media types (RFC 6838). */

/** Whether a content type, with or without parameters, is JSON. */
export const isJsonType = (contentType: string): boolean =>
  /^[^/]+\/(json|[^/]+\+json)$/.test(contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "")
