/** Tests of the console in the browser and on the installation that all test files share. */
import { describe, layer } from "@effect/vitest"
import type { Vitest } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Extent } from "../../src/demo/Furnish.ts"
import * as Browser from "../support/Browser.ts"
import { startShared } from "../support/shared.ts"
import { World } from "./World.ts"

const worldOf = (extent: Extent | undefined) =>
  Layer.unwrap(
    Effect.map(Effect.all([startShared("installation"), Browser.shared]), ([installation, browser]) =>
      World.layer(installation, browser, extent),
    ),
  )

/** Describes a part of the console with a new organization. Without a browser, the tests are skipped. */
export const describeConsole = (
  name: string,
  tests: (it: Vitest.MethodsNonLive<World>) => void,
  extent?: Extent,
): void => {
  describe.skipIf(Browser.whyNoBrowser !== undefined)(Browser.inBrowser(name), () =>
    layer(worldOf(extent), { excludeTestServices: true, timeout: "2 minutes" })(tests),
  )
}
