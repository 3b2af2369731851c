/** Identifies this process among the nodes on one database. Every start creates a new id. */
import { Context } from "effect"
import { randomUUID } from "node:crypto"

/** The id of this node. */
export const NodeId = Context.Reference<string>("keyshelf.reference/kernel/NodeId", {
  defaultValue: () => randomUUID(),
})

/** The `application_name` of a node's connections, which distinguishes them from those of other nodes. */
export const applicationNameOf = (nodeId: string): string => `keyshelf ${nodeId}`
