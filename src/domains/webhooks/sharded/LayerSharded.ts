/** The repositories of webhooks on Citus. */
import { Layer } from "effect"
import * as Attempts from "./AttemptsRepoSharded.ts"
import * as Backlog from "./BacklogRepoSharded.ts"
import * as Endpoints from "./EndpointsRepoSharded.ts"
import * as History from "./HistoryRepoSharded.ts"

export const repositories = Layer.mergeAll(Attempts.layer, Backlog.layer, Endpoints.layer, History.layer)
