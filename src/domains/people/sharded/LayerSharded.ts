/** The repositories of people on Citus. */
import * as People from "./RepoSharded.ts"

export const repositories = People.layer
