import type { Vitest } from "@effect/vitest"
import type { World } from "../World.ts"

/** Adds tests to the one description that has the service and the browser. */
export type Suite = (it: Vitest.MethodsNonLive<World>) => void
