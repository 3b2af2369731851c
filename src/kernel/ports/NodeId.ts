/** The name of this process among the nodes on one database: a new one at every start. */
import { Context } from "effect"
import { randomUUID } from "node:crypto"

/** The id of this node. */
export const NodeId = Context.Reference<string>("keyshelf.reference/kernel/NodeId", {
  defaultValue: () => randomUUID(),
})

/** How a node names itself to the database, so that its connections can be told from those of others. */
export const applicationNameOf = (nodeId: string): string => `keyshelf ${nodeId}`
