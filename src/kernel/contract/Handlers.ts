/** Builds the handlers of an API group. */
import { Context, Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { compileBodies } from "./CompiledBodies.ts"

/**
 * `HttpApiBuilder.group` whose handlers resolve services once, when they are built. A request's context contains only
 * the group's middleware: otherwise every request copies the whole context.
 */
export const handlersOf: typeof HttpApiBuilder.group = (api, name, build) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const around = yield* Effect.context()
      const scope = yield* Effect.scope
      const group = api.groups[name] as HttpApiGroup.Top
      compileBodies(group)
      const keys = Object.values(group.endpoints).flatMap(({ middlewares }) =>
        Array.from(middlewares, ({ key }) => key),
      )
      const perRequest = new Map(keys.map((key): [string, unknown] => [key, around.mapUnsafe.get(key)]))
      const routes = HttpApiBuilder.group(api, name, (handlers) => {
        const built: unknown = build(handlers)
        return (Effect.isEffect(built) ? Effect.provideContext(built, around) : built) as ReturnType<typeof build>
      })
      return yield* Effect.updateContext(Layer.buildWithScope(routes, scope), () => Context.makeUnsafe(perRequest))
    }),
  ) as never
