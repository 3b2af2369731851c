/** Examples of request bodies in the OpenAPI documents. A test decodes each one by its schema. */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"

/** The example body of an endpoint, as a client sends it. */
export class ExampleBody extends Context.Service<ExampleBody, object>()("keyshelf/kernel/ExampleBody") {}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, object>> }
}

type ByMediaType = Readonly<Record<string, object>>

const withExample = (operation: Operation, example: object, byMediaType: ByMediaType): Operation =>
  operation.requestBody === undefined
    ? operation
    : {
        ...operation,
        requestBody: {
          ...operation.requestBody,
          content: Object.fromEntries(
            Object.entries(operation.requestBody.content).map(([type, content]) => [
              type,
              { ...content, example: byMediaType[type] ?? example },
            ]),
          ),
        },
      }

/**
 * Adds an example body to the documents: `.annotateMerge(exampleBody({ name: "Search", version: "1.2.0" }))`. A media
 * type with a different shape gets its own example in `byMediaType`.
 */
export const exampleBody = (example: object, byMediaType: ByMediaType = {}) =>
  Context.make(ExampleBody, example).pipe(
    Context.merge(OpenApi.annotations({ transform: (operation) => withExample(operation, example, byMediaType) })),
  )
