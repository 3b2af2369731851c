/** The layer of the event stream. */
import { Layer } from "effect"
import { EventOrdering } from "./EventOrdering.ts"
import { LiveEvents } from "./LiveEvents.ts"
import { Outbox } from "./Outbox.ts"
import { EventLog } from "./log/EventLog.ts"
import { EventsRepo } from "./Repo.ts"
import { Events } from "./Service.ts"
import { EventSubscribers } from "./StreamSubscribers.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(Events.layer, LiveEvents.layer, EventLog.layer).pipe(
  Layer.provideMerge(EventSubscribers.layer),
  Layer.provideMerge(EventOrdering.layer),
  Layer.provideMerge(Layer.merge(EventsRepo.layer, Outbox.layer)),
)
