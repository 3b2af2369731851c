/** The built-in connectors, newest first. */
import type { Adapter } from "./Adapter.ts"
import { hubSpot } from "./HubSpot.ts"
import { salesforce } from "./Salesforce.ts"
import { stripe } from "./Stripe.ts"

export const adapters: ReadonlyArray<Adapter> = [salesforce, hubSpot, stripe]
