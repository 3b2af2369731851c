/**
 * Lets callers omit the headers of an operation if all of them are optional, as `idempotency-key` is. Effect's client requires the
 * property `headers` of every operation that declares some.
 */
import type { HttpApiClient, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

type Mode = HttpApiEndpoint.ClientResponseMode

type RequestOf<E extends HttpApiEndpoint.ConstraintRequest, M extends Mode> = HttpApiEndpoint.ClientRequest<
  E["~Params"],
  E["~Query"],
  E["~Payload"],
  E["~Headers"],
  M
>

type WithoutRequiredHeaders<Request> = Request extends { readonly headers: infer Headers }
  ? Partial<Headers> extends Headers
    ? Omit<Request, "headers"> & { readonly headers?: Headers }
    : Request
  : Request

type Method<E extends HttpApiEndpoint.ConstraintRequest> = <M extends Mode = "decoded-only">(
  request: WithoutRequiredHeaders<RequestOf<E, M>>,
) => HttpApiClient.Client.MethodReturn<E, never, never, M, never>

type Methods<Endpoints> =
  Endpoints extends Readonly<Record<string, HttpApiEndpoint.ConstraintRequest>>
    ? { readonly [Name in keyof Endpoints]: Method<Endpoints[Name]> }
    : never

/** A client of these groups: an object for each group, with a method for each endpoint. */
export type ClientOf<Groups extends HttpApiGroup.Constraint> = {
  readonly [Group in Groups as HttpApiGroup.Identifier<Group>]: Methods<Group["endpoints"]>
}

type AnyMethod = (request: unknown) => unknown

/** The client whose methods fill in headers that are omitted. */
export const withOptionalHeaders = <Groups extends HttpApiGroup.Constraint>(client: object): ClientOf<Groups> =>
  Object.fromEntries(
    Object.entries(client as Readonly<Record<string, Readonly<Record<string, AnyMethod>>>>).map(([group, methods]) => [
      group,
      Object.fromEntries(
        Object.entries(methods).map(([name, method]) => [
          name,
          (request: object | undefined) => method({ headers: {}, ...request }),
        ]),
      ),
    ]),
  ) as ClientOf<Groups>
