/** Problems of the live stream. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class FollowEventsTooManyStreams extends Problem<FollowEventsTooManyStreams>()(
  "FollowEvents.TooManyStreams",
  429,
  "The organization has too many open streams",
) {}

export class FollowEventsNodeFull extends Problem<FollowEventsNodeFull>()(
  "FollowEvents.NodeFull",
  503,
  "This node has too many open streams",
) {}
