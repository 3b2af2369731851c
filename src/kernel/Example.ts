/** Examples of request bodies in the OpenAPI documents; a test decodes each by its own schema. */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"

/** The example body of an endpoint, as a caller would send it. */
export class ExampleBody extends Context.Service<ExampleBody, object>()("keyshelf/kernel/ExampleBody") {}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, object>> }
}

const withExample = (operation: Operation, example: object): Operation =>
  operation.requestBody === undefined
    ? operation
    : {
        ...operation,
        requestBody: {
          ...operation.requestBody,
          content: Object.fromEntries(
            Object.entries(operation.requestBody.content).map(([type, content]) => [type, { ...content, example }]),
          ),
        },
      }

/** Shows the body in the documents: `.annotateMerge(exampleBody({ name: "Search", version: "1.2.0" }))`. */
export const exampleBody = (example: object) =>
  Context.make(ExampleBody, example).pipe(
    Context.merge(OpenApi.annotations({ transform: (operation) => withExample(operation, example) })),
  )
