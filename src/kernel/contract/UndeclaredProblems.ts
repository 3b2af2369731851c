/** Problems that no endpoint declares, and their documents (contract, section 3). */
import { randomUUID } from "node:crypto"

export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly instance: string
  readonly errorId: string
  readonly errors: ReadonlyArray<unknown>
}

/** Problems that no endpoint declares, by status. */
export const undeclared: Record<number, readonly [code: string, title: string, detail: string]> = {
  400: ["Request.MalformedBody", "The request cannot be read", "The request is malformed."],
  404: ["Request.RouteNotFound", "Unknown path", "Nothing is served under this path. /docs lists what is."],
  405: [
    "Request.MethodNotAllowed",
    "Wrong method",
    "This path does not take this method; `Allow` lists those it takes.",
  ],
  413: ["Request.BodyTooLarge", "The body is too large", "A body may have at most 1 MiB."],
  415: ["Request.UnsupportedMediaType", "Unsupported media type", "Send `content-type: application/json`."],
  500: ["Service.InternalError", "Internal error", "Something went wrong here. Quote the errorId when you report it."],
  503: ["Service.Unavailable", "Temporarily unavailable", "The service cannot reach its database. Try again shortly."],
}

/** The problem for a status that came without one. */
export const problemFor = (status: number): Omit<ProblemDocument, "instance"> => {
  const known = undeclared[status] === undefined ? (status < 500 ? 400 : 500) : status
  const [code, title, detail] = undeclared[known] as readonly [string, string, string]
  return { type: `urn:keyshelf:problem:${code}`, title, status, code, detail, errorId: randomUUID(), errors: [] }
}
