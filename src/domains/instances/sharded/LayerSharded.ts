/** The repositories of instances on Citus. */
import * as Instances from "./RepoSharded.ts"

export const repositories = Instances.layer
