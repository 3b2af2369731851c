/** Problems of streams of changes. */
import { Problem } from "../../../kernel/contract/Problem.ts"

export class FollowChangesTooManyStreams extends Problem<FollowChangesTooManyStreams>()(
  "FollowChanges.TooManyStreams",
  429,
  "The organization follows changes with too many streams",
) {}

export class FollowChangesNodeFull extends Problem<FollowChangesNodeFull>()(
  "FollowChanges.NodeFull",
  503,
  "This node has too many streams of changes",
) {}
