/** Problems of license migrations. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class LicenseMigrationNotFound extends Problem<LicenseMigrationNotFound>()(
  "LicenseMigration.NotFound",
  404,
  "License migration not found",
) {}

export class MigrateLicenseArchived extends Problem<MigrateLicenseArchived>()(
  "MigrateLicense.LicenseArchived",
  409,
  "The license version is archived",
) {}

export class CancelMigrationNotScheduled extends Problem<CancelMigrationNotScheduled>()(
  "CancelMigration.NotScheduled",
  409,
  "The migration has started or ended",
) {}

export class RevertMigrationNotDone extends Problem<RevertMigrationNotDone>()(
  "RevertMigration.NotDone",
  409,
  "The migration is not done",
) {}

export class RevertMigrationTooLate extends Problem<RevertMigrationTooLate>()(
  "RevertMigration.TooLate",
  409,
  "The migration finished too long ago",
) {}
