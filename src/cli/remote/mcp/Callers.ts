/** Which operations a kind of caller can never call, whatever its scopes are. */
import { HttpApi } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { CoreApi } from "../../../api/CoreApi.ts"
import { AdminsOnly, annotationOf, OpenToLicenseKeys } from "../../../kernel/contract/Endpoint.ts"
import type { Definition } from "./Definitions.ts"

/** The caller of the tools, as `GET /me` describes it. */
export interface ToolCaller {
  readonly kind: string
  readonly role?: string | null
}

const keyOf = (method: string, path: string): string =>
  `${method} ${path.replace(/^\/api/, "").replaceAll(/:(\w+)/g, "{$1}")}`

/** The operations that this kind of caller may call, if it has their scopes. */
export const definitionsFor = (
  definitions: ReadonlyArray<Definition>,
  { kind, role }: ToolCaller,
): ReadonlyArray<Definition> => {
  const denied = new Set<string>()
  HttpApi.reflect(CoreApi as unknown as HttpApi.HttpApi<string, HttpApiGroup.Top>, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const isDenied =
        kind === "INSTANCE"
          ? annotationOf(endpoint, OpenToLicenseKeys) === undefined
          : kind === "PERSON" && role !== "ADMIN" && annotationOf(endpoint, AdminsOnly) === true
      if (isDenied) denied.add(keyOf(endpoint.method, endpoint.path))
    },
  })
  return definitions.filter(({ method, path }) => !denied.has(keyOf(method, path)))
}
