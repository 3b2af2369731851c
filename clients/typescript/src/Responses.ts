/**
 * Decides what a response is. Pure: all clients decide by the same vectors.
 *
 * A proxy, a gateway or the sign-in page of a network can answer before the service does, with any status. Such a response says
 * nothing about the request.
 */

import { own } from "../../../src/offline/values/Unknown.ts"

/** What decides about a response. */
export interface ResponseHead {
  readonly status: number
  /** The header. */
  readonly contentType: string | null
}

export const JSON_BODY = "application/json"
/** The response of an operation that returns nothing: 204. */
export const NO_BODY = "none"

const PROBLEM = "application/problem+json"
const PROBLEM_TYPE = "urn:keyshelf:problem:"
const CODE = /^[A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*$/

const OFREP = "/api/ofrep/"
const OFREP_CODE = /^[A-Z][A-Z_]*$/

const WITH_BODY: ReadonlyArray<number> = [200, 201, 202]

const mediaTypeOf = ({ contentType }: ResponseHead): string => contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""

/** Whether a response is JSON. One that names no media type is read as JSON: its form decides then. */
export const isJson = (head: ResponseHead): boolean => ["", JSON_BODY].includes(mediaTypeOf(head))

/** Whether a response is a result that an operation promises: a body of one of these media types, or `NO_BODY`. */
export const isResult = (head: ResponseHead, promised: ReadonlyArray<string>): boolean => {
  if (head.status === 204) return promised.includes(NO_BODY)
  if (!WITH_BODY.includes(head.status)) return false
  return promised.includes(isJson(head) ? JSON_BODY : mediaTypeOf(head))
}

/** The status of a problem is that of its response, unless something changed one of them on the way. */
const isProblem = (head: ResponseHead, body: unknown): boolean => {
  const [code, status = head.status, type = PROBLEM_TYPE] = ["code", "status", "type"].map((name) => own(body, name))
  return (
    mediaTypeOf(head) === PROBLEM &&
    head.status >= 400 &&
    status === head.status &&
    typeof type === "string" &&
    type.startsWith(PROBLEM_TYPE) &&
    typeof code === "string" &&
    CODE.test(code)
  )
}

/** OpenFeature defines the bodies of 400 and 404 for the evaluation of flags. */
const isOfrepError = (head: ResponseHead, path: string, body: unknown): boolean => {
  const code = own(body, "errorCode")
  const isStatus = head.status === 400 || head.status === 404
  return path.startsWith(OFREP) && isStatus && isJson(head) && typeof code === "string" && OFREP_CODE.test(code)
}

/** The code of a problem of the service; `HTTP.<status>` if something else responded, such as a proxy. */
export const codeOf = (head: ResponseHead, path: string, body: unknown): string => {
  if (isProblem(head, body)) return String(own(body, "code"))
  return isOfrepError(head, path, body) ? String(own(body, "errorCode")) : `HTTP.${head.status}`
}

/** Whether a code is that of a response of something other than the service. */
export const isForeign = (code: string): boolean => code.startsWith("HTTP.")
