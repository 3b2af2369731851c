/** Problems of the event log. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class EventNotFound extends Problem<EventNotFound>()("Event.NotFound", 404, "Event not found") {}

export class EventCheckpointInconsistent extends Problem<EventCheckpointInconsistent>()(
  "EventCheckpoint.Inconsistent",
  409,
  "The event log does not follow from its newest checkpoint",
) {}
