/**
 * Lets callers omit the headers and the query of an operation if all of their properties are optional, as
 * `idempotency-key` and `dryRun` are. Effect's client requires the properties `headers` and `query` of every operation
 * that declares some.
 */
import type { Effect } from "effect"
import type { HttpApiClient, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

type Mode = HttpApiEndpoint.ClientResponseMode

type RequestOf<E extends HttpApiEndpoint.ConstraintRequest, M extends Mode> = HttpApiEndpoint.ClientRequest<
  E["~Params"],
  E["~Query"],
  E["~Payload"],
  E["~Headers"],
  M
>

type WithoutRequired<Part extends string, Request> = Request extends { readonly [_ in Part]: infer Members }
  ? Partial<Members> extends Members
    ? Omit<Request, Part> & { readonly [_ in Part]?: Members }
    : Request
  : Request

type EasyRequestOf<E extends HttpApiEndpoint.ConstraintRequest, M extends Mode> = WithoutRequired<
  "query",
  WithoutRequired<"headers", RequestOf<E, M>>
>

/** The answer to a dry run: a request with `query: { dryRun: "true" }`. */
interface DryRun {
  readonly dryRun: true
}

type ReturnOf<E extends HttpApiEndpoint.ConstraintRequest, M extends Mode> = HttpApiClient.Client.MethodReturn<
  E,
  never,
  never,
  M,
  never
>

type RealReturn<Return> =
  Return extends Effect.Effect<infer A, infer Failure, infer R> ? Effect.Effect<Exclude<A, DryRun>, Failure, R> : Return

type DryReturn<Return> =
  Return extends Effect.Effect<infer A, infer Failure, infer R> ? Effect.Effect<Extract<A, DryRun>, Failure, R> : Return

interface Method<E extends HttpApiEndpoint.ConstraintRequest> {
  <M extends Mode = "decoded-only">(
    request: EasyRequestOf<E, M> & { readonly query: { readonly dryRun: "true" } },
  ): DryReturn<ReturnOf<E, M>>
  <M extends Mode = "decoded-only">(request: EasyRequestOf<E, M>): RealReturn<ReturnOf<E, M>>
}

type Methods<Endpoints> =
  Endpoints extends Readonly<Record<string, HttpApiEndpoint.ConstraintRequest>>
    ? { readonly [Name in keyof Endpoints]: Method<Endpoints[Name]> }
    : never

/** A client of these groups: an object for each group, with a method for each endpoint. */
export type ClientOf<Groups extends HttpApiGroup.Constraint> = {
  readonly [Group in Groups as HttpApiGroup.Identifier<Group>]: Methods<Group["endpoints"]>
}

type AnyMethod = (request: unknown) => unknown

/** The client whose methods fill in headers and queries that are omitted. */
export const withOptionalParts = <Groups extends HttpApiGroup.Constraint>(client: object): ClientOf<Groups> =>
  Object.fromEntries(
    Object.entries(client as Readonly<Record<string, Readonly<Record<string, AnyMethod>>>>).map(([group, methods]) => [
      group,
      Object.fromEntries(
        Object.entries(methods).map(([name, method]) => [
          name,
          (request: object | undefined) => method({ headers: {}, query: {}, ...request }),
        ]),
      ),
    ]),
  ) as ClientOf<Groups>
