/** The layer of the event stream. */
import { Layer } from "effect"
import { EventOrdering } from "./EventOrdering.ts"
import { LiveEvents } from "./LiveEvents.ts"
import { Outbox } from "./Outbox.ts"
import { EventsRepo } from "./Repo.ts"
import { EventRetention } from "./Retention.ts"
import { Events } from "./Service.ts"
import { EventSubscribers } from "./StreamSubscribers.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(Events.layer, LiveEvents.layer, EventRetention.layer).pipe(
  Layer.provideMerge(EventSubscribers.layer),
  Layer.provideMerge(EventOrdering.layer),
  Layer.provideMerge(Layer.merge(EventsRepo.layer, Outbox.layer)),
)
