/** The port by which usage asks whether a site brings more. The domain `offline` provides it. */
import { Context } from "effect"
import type { Effect } from "effect"

/** The uploads of sites without a connection. */
export class SiteUploads extends Context.Service<
  SiteUploads,
  {
    /**
     * Whether a site may still bring usage from before an instant: by an offline bundle that began before it, with five minutes for
     * the site's clock.
     */
    readonly areAwaited: (until: Date, at: Date) => Effect.Effect<boolean>
  }
>()("keyshelf/usage/SiteUploads") {}
