/** Carries out the calls of tools. */
import { Effect, Option, Predicate, Schema } from "effect"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import { RequestFailed, Service } from "../connection/Service.ts"
import type { Request } from "../connection/Service.ts"
import type { Confirmations, Refusal } from "./Confirmations.ts"
import type { Definition } from "./Definitions.ts"
import { isRead, removedFrom } from "./Selection.ts"

/** The result of a tool: JSON or a text, and whether it is an error. */
export interface Answer {
  readonly isError: boolean
  readonly value: unknown
}

const answer = (value: unknown): Answer => ({ isError: false, value })

/** An error in the form of the service's problems: a code, what to do, and the places. */
const fault = (
  code: string,
  detail: string,
  errors: ReadonlyArray<{ location: string; message: string }> = [],
): Answer => ({
  isError: true,
  value: { code, detail, errors },
})

const isJson = Schema.is(Schema.Json)

// In a path, these would name another resource.
const NOT_NAMES = ["", ".", ".."]

const isScalar = (value: unknown): value is string | number | boolean =>
  Predicate.isString(value) || Predicate.isNumber(value) || Predicate.isBoolean(value)

/** The errors in the arguments of a tool. The service reports those in the body. */
const errorsIn = (definition: Definition, given: Readonly<Record<string, unknown>>) => {
  const { input, pathParameters, queryParameters } = definition
  const errors: Array<{ location: string; message: string }> = []
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(input.properties, name)) errors.push({ location: name, message: "unknown argument" })
  }
  for (const name of input.required) {
    if (given[name] === undefined) errors.push({ location: name, message: "required" })
  }
  for (const { name } of pathParameters) {
    const value = given[name]
    if (value !== undefined && !(isScalar(value) && !NOT_NAMES.includes(String(value)))) {
      errors.push({ location: name, message: "expected a name, not a path" })
    }
  }
  for (const { name } of queryParameters) {
    const value = given[name]
    if (value !== undefined && !isScalar(value) && !(Array.isArray(value) && value.every(isScalar))) {
      errors.push({ location: name, message: "expected a text, or a list of texts" })
    }
  }
  for (const name of removedFrom(definition)) {
    if (Predicate.hasProperty(given["body"], name)) {
      errors.push({ location: `body.${name}`, message: "this tool changes nothing" })
    }
  }
  return errors
}

/** A value of the query as text. */
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const requestOf = (
  definition: Definition,
  given: Readonly<Record<string, unknown>>,
  options: { readonly dryRun?: true; readonly idempotencyKey?: string },
): Request => {
  const path = definition.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(textOf(given[name])))
  const query = definition.queryParameters.flatMap(
    ({ name }): ReadonlyArray<readonly [string, string | ReadonlyArray<string>]> => {
      const value = given[name]
      return value === undefined ? [] : [[name, Array.isArray(value) ? value.map(textOf) : textOf(value)]]
    },
  )
  const { body = {} } = given
  return {
    method: definition.method,
    path,
    query: { ...Object.fromEntries(query), ...(options.dryRun === undefined ? {} : { dryRun: "true" }) },
    body: definition.body !== null && isJson(body) ? Option.some(body) : Option.none(),
    idempotencyKey: definition.takesIdempotencyKey ? Option.fromNullishOr(options.idempotencyKey) : Option.none(),
  }
}

/** The error of a request: the problem as the service returned it. */
const problemOf = ({ body, exitCode, message }: RequestFailed): Answer => {
  if (Predicate.hasProperty(body, "code")) return { isError: true, value: body }
  return fault(exitCode === EXIT_CODES.unavailable ? "Service.Unreachable" : "Service.UnexpectedResponse", message)
}

const REFUSALS: Readonly<Record<Refusal, string>> = {
  UNKNOWN:
    "This confirmation is unknown, was used, or is older than 10 minutes. Call the tool without `confirmation` again.",
  OTHER_ARGUMENTS:
    "The arguments are not those that were shown. Call the tool without `confirmation` to see their effect.",
}

const NEXT =
  "Nothing has been changed. Show this to the user. If the user agrees, call the tool again with the same arguments and this `confirmation`."

/** Makes the function that carries out calls. */
export const makeCall = (confirmations: Confirmations) => {
  const send = Effect.fnUntraced(function* (request: Request) {
    const service = yield* Service
    return yield* service.send(request)
  })

  /** Shows what a change would do. */
  const propose = Effect.fnUntraced(function* (definition: Definition, given: Readonly<Record<string, unknown>>) {
    const request = requestOf(definition, given, {})
    const shown = definition.hasDryRun
      ? { dryRun: yield* send(requestOf(definition, given, { dryRun: true })) }
      : {
          dryRun: null,
          note: "This operation has no dry run: its effect cannot be shown before.",
          request: {
            method: request.method,
            path: request.path,
            ...Option.match(request.body, { onNone: () => ({}), onSome: (body) => ({ body }) }),
          },
        }
    const confirmation = yield* confirmations.add(definition.id, given)
    return answer({ confirmation, next: NEXT, ...shown })
  })

  const carryOut = Effect.fnUntraced(function* (
    definition: Definition,
    given: Readonly<Record<string, unknown>>,
    handle: string,
  ) {
    const refusal = yield* confirmations.take(handle, definition.id, given)
    if (Option.isSome(refusal)) return fault("Confirmation.Refused", REFUSALS[refusal.value])
    // The handle is the key, so a change whose response was lost is executed once.
    const sent = send(requestOf(definition, given, { idempotencyKey: handle }))
    const restore = confirmations.restore(handle, definition.id, given)
    const body = yield* sent.pipe(
      Effect.tapError((error) =>
        error instanceof RequestFailed && error.exitCode === EXIT_CODES.unavailable ? restore : Effect.void,
      ),
      Effect.onInterrupt(() => restore),
    )
    return answer(body ?? { done: true })
  })

  return Effect.fnUntraced(
    function* (definition: Definition, all: Readonly<Record<string, unknown>>) {
      const isChange = !isRead(definition)
      const { confirmation, ...rest } = all
      const given = isChange ? rest : all
      const errors = errorsIn(definition, given)
      if (errors.length > 0) {
        const [first] = errors
        return fault("Tool.InvalidArguments", `${first?.location}: ${first?.message}.`, errors)
      }
      if (!isChange) {
        const idempotencyKey = globalThis.crypto.randomUUID()
        return answer((yield* send(requestOf(definition, given, { idempotencyKey }))) ?? { done: true })
      }
      if (confirmation === undefined) return yield* propose(definition, given)
      return yield* carryOut(definition, given, textOf(confirmation))
    },
    Effect.catchTag("RequestFailed", (error) => Effect.succeed(problemOf(error))),
    Effect.catchTag("CommandFailed", ({ message }) => Effect.succeed(fault("Service.UnexpectedResponse", message))),
  )
}
