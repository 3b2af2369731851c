/** A part of the role `sweeper`: runs license migrations within a second of their time. */
import { Effect, Layer } from "effect"
import { workInBackground } from "../../kernel/concurrency/BackgroundWork.ts"
import { MigrationRunner } from "./Runner.ts"

/** Runs until the process ends. `GET /health/ready` reports the last batch. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(MigrationRunner, ({ step }) =>
    workInBackground({ name: "licenseMigrations", failure: "The last batch of a license migration failed", step }),
  ),
)
