/** The layer of the event stream. */
import { Layer } from "effect"
import { EventOrdering } from "./EventOrdering.ts"
import { ChangeStreams } from "./changes/Service.ts"
import { ChangesRepo } from "./changes/Repo.ts"
import { LiveEvents } from "./LiveEvents.ts"
import { Outbox } from "./Outbox.ts"
import { EventLog } from "./log/EventLog.ts"
import { EventLeaves } from "./log/Leaves.ts"
import { EventsRepo } from "./Repo.ts"
import { Events } from "./Service.ts"
import { EventSubscribers } from "./StreamSubscribers.ts"

/** The services of this domain. `app/Services.ts` provides their repositories. */
export const layer = Layer.mergeAll(Events.layer, LiveEvents.layer, EventLog.layer, EventLeaves.layer).pipe(
  Layer.provideMerge(EventSubscribers.layer),
  Layer.provideMerge(EventOrdering.layer),
)

/** Streams of changes. A later domain provides what they need to know of its records. */
export const changes = ChangeStreams.layer.pipe(Layer.provide(ChangesRepo.layer))

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = Layer.merge(EventsRepo.layer, Outbox.layer)
