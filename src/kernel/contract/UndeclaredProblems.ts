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

/** Problems for errors that no endpoint declares, by status. */
export const undeclaredProblems: Record<number, readonly [code: string, title: string, detail: string]> = {
  400: ["Request.MalformedBody", "The request cannot be read", "The request is malformed."],
  404: ["Request.RouteNotFound", "Unknown path", "No operation has this path. See /docs for the list of operations."],
  405: [
    "Request.MethodNotAllowed",
    "Wrong method",
    "This path does not support this method. The `Allow` header lists the supported methods.",
  ],
  413: ["Request.BodyTooLarge", "The body is too large", "The body must not be larger than 1 MiB."],
  415: ["Request.UnsupportedMediaType", "Unsupported media type", "Send `content-type: application/json`."],
  500: [
    "Service.InternalError",
    "Internal error",
    "The service failed to process the request. Include the errorId when you report this problem.",
  ],
  503: ["Service.Unavailable", "Temporarily unavailable", "The service cannot reach its database. Try again shortly."],
}

/** Creates the problem for an error response without one. */
export const problemFor = (status: number): Omit<ProblemDocument, "instance"> => {
  const knownStatus = undeclaredProblems[status] === undefined ? (status < 500 ? 400 : 500) : status
  const [code, title, detail] = undeclaredProblems[knownStatus] as readonly [string, string, string]
  return { type: `urn:keyshelf:problem:${code}`, title, status, code, detail, errorId: randomUUID(), errors: [] }
}
