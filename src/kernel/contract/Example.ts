/** Examples of request bodies in the OpenAPI documents; a test decodes each by its own schema. */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"

/** The example body of an endpoint, as a caller would send it. */
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
 * Shows the body in the documents: `.annotateMerge(exampleBody({ name: "Search", version: "1.2.0" }))`. Where one media
 * type carries another shape, its example is named besides.
 */
export const exampleBody = (example: object, byMediaType: ByMediaType = {}) =>
  Context.make(ExampleBody, example).pipe(
    Context.merge(OpenApi.annotations({ transform: (operation) => withExample(operation, example, byMediaType) })),
  )
