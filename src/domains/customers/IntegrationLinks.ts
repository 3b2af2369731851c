/** The port by which customers and instances are created together with integration records. The domain `integrations` provides it. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { ConnectorNotActive } from "../connectors/Errors.ts"
import type { Caller } from "../../kernel/contract/Caller.ts"
import type { ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import type { CreateIntegrationExternalIdTaken } from "./Errors.ts"
import type { NewIntegrations } from "./Model.ts"

/** Why integration records cannot be created. */
type LinkError = ValidationFailed | ConnectorNotActive | CreateIntegrationExternalIdTaken

/** Stores the records of the new resource, within the transaction that creates it. */
export type Link = (resource: { readonly id: string }) => Effect.Effect<void, LinkError, Transaction>

/** Creates customers and instances together with integration records. */
export class IntegrationLinks extends Context.Service<
  IntegrationLinks,
  {
    /** Runs a creation that calls the link; the link is `undefined` without records. All commit or none. */
    readonly creating: <A, E, R>(
      kind: "CUSTOMER" | "INSTANCE",
      integrations: NewIntegrations,
      create: (link: Link | undefined) => Effect.Effect<A, E, R>,
    ) => Effect.Effect<A, E | LinkError, R | Caller>
  }
>()("keyshelf/customers/IntegrationLinks") {}
