/** Uses what the test files of a run share (`browserSetup.ts`). */
import { Effect } from "effect"
import { inject } from "vitest"
import type { Installation } from "../console/Installation.ts"

export interface Shared {
  /** The address of the browser. */
  readonly browser: string
  /** The service whose console is tested. */
  readonly installation: Installation
}

/** Returns how to use something shared. The first call of a run starts it. */
export const startShared = <Name extends keyof Shared>(name: Name): Effect.Effect<Shared[Name]> =>
  Effect.promise(async () => {
    const response = await fetch(`${inject("sharedUrl")}/${name}`)
    if (response.status !== 200) throw new Error(`The ${name} was not started: ${await response.text()}`)
    return (await response.json()) as Shared[Name]
  })
