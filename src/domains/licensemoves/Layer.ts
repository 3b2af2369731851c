/** The layer of license migrations. */
import { Layer } from "effect"
import { MigrationImpacts } from "./Impact.ts"
import { MigrationsRepo } from "./Repo.ts"
import { MigrationRunner } from "./Runner.ts"
import { LicenseMigrations } from "./Service.ts"

/** The services of this domain. `app/Services.ts` provides their repositories. */
export const layer = Layer.merge(LicenseMigrations.layer, MigrationRunner.layer).pipe(
  Layer.provideMerge(MigrationImpacts.layer),
)

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = MigrationsRepo.layer
