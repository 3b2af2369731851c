/** The layer of license migrations. */
import { Layer } from "effect"
import { MigrationImpact } from "./Impact.ts"
import { MigrationsRepo } from "./Repo.ts"
import { MigrationRunner } from "./Runner.ts"
import { LicenseMigrations } from "./Service.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.merge(LicenseMigrations.layer, MigrationRunner.layer).pipe(
  Layer.provideMerge(MigrationImpact.layer),
  Layer.provideMerge(MigrationsRepo.layer),
)
