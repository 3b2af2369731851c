/** Requests as commands, for people who automate what they have done by hand. */
import { originOf, urlOf } from "../Api.ts"
import type { Operation, Request } from "../Contract.ts"

/** A request that a form would send. */
export interface Draft {
  readonly operation: Operation
  readonly request: Request<Operation>
}

/** The draft of an operation, if there is a request. */
export const draftOf = <O extends Operation>(operation: O, request: Request<O> | undefined): Draft | undefined =>
  request === undefined ? undefined : { operation, request }

/** Takes what a form would send, in place of sending it. */
export const createDraft = <V>() => {
  let taken: { variables?: V } | undefined
  return {
    isOpen: () => taken !== undefined,
    /** Whether it takes the variables, because it is open. */
    takes: (variables: V): boolean => {
      if (taken !== undefined) taken.variables = variables
      return taken !== undefined
    },
    /** What `submit` would send. */
    of: (submit: () => void): V | undefined => {
      const open: { variables?: V } = {}
      taken = open
      try {
        submit()
      } finally {
        taken = undefined
      }
      return open.variables
    },
  }
}

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A request as a command. The credential is a variable of the shell, never the one in use. */
export const curlOf = (
  operation: Operation,
  request: { readonly params?: object | undefined; readonly query?: object | undefined; readonly body?: unknown },
  variable = "TOKEN",
): string => {
  const [method = "GET", path = ""] = operation.split(" ")
  const lines = [
    `curl -s ${method === "GET" || method === "POST" ? "" : `-X ${method} `}${quoted(originOf(path) + urlOf(path, request))}`,
    `-H "authorization: Bearer $${variable}"`,
    ...(request.body === undefined
      ? method === "POST"
        ? ["-X POST"]
        : []
      : ["-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(request.body))}`]),
  ]
  return lines.join(" \\\n  ")
}
