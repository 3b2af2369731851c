/** The APIs as their documents show them: what the definitions generate, and what they cannot say. */
import { OpenApi } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { withAnswers } from "./Answers.ts"
import { limits } from "./Limits.ts"
import { mapOperations } from "./Operations.ts"
import { scopes } from "./Scopes.ts"

/** The API with its scopes, its whole-number limits and the answers that every operation can give in its document. */
export const documented = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
): HttpApi.HttpApi<Id, Groups> => {
  const secured = scopes(api)
  return api.annotate(OpenApi.Transform, (document) =>
    withAnswers(mapOperations(document, (operation, at) => limits(secured(operation, at), at))),
  )
}
