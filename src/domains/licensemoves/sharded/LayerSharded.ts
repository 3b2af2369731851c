/** The repositories of license migrations on Citus. */
import * as Migrations from "./RepoSharded.ts"

export const repositories = Migrations.layer
