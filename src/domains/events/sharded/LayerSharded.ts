/** The repositories of the event stream on Citus. */
import { Layer } from "effect"
import * as Outbox from "./OutboxSharded.ts"
import * as Events from "./RepoSharded.ts"

export const repositories = Layer.merge(Events.layer, Outbox.layer)
