/** Tests stored settings with the vendor's cheapest call. The result contains no secrets. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { adapters } from "../adapters/BuiltInConnectors.ts"
import { ConnectorSettings } from "./ConnectorSettings.ts"
import { TestConnectorNotSupported } from "../Errors.ts"
import type { ConnectorNotFound, ConnectorSettingsNotFound } from "../Errors.ts"
import type { TestResult } from "../Model.ts"
import { secretsOf } from "./Redaction.ts"
import { ConnectorRegistry } from "../ConnectorRegistry.ts"
import { sanitize } from "./TextSanitizer.ts"

/** Tests stored settings against the third-party system. */
export class ConnectorVerification extends Context.Service<
  ConnectorVerification,
  {
    /** Tries the stored settings at the provider. A test that fails is a result, not an error. */
    readonly test: (
      name: string,
    ) => Effect.Effect<TestResult, ConnectorNotFound | TestConnectorNotSupported | ConnectorSettingsNotFound, Caller>
  }
>()("keyshelf/connectors/ConnectorVerification") {
  static readonly layer = Layer.suspend(() => Layer.effect(ConnectorVerification, make))
}

const make = Effect.gen(function* () {
  const settings = yield* ConnectorSettings
  const registry = yield* ConnectorRegistry
  const http = yield* OutboundHttp

  const test = Effect.fn("ConnectorVerification.test")(function* (name: string) {
    const { organizationId } = yield* Caller
    yield* registry.get(name)
    const adapter = adapters.find((candidate) => candidate.name === name)
    if (adapter === undefined) {
      return yield* new TestConnectorNotSupported({
        detail: `The connector "${name}" cannot be tested, because only its schema is registered. Only built-in connectors have a test.`,
      })
    }
    const stored = yield* settings.reveal(organizationId, name)
    const verdict = yield* adapter
      .verify(stored.settings, http, yield* now)
      .pipe(
        Effect.catchTag("OutboundError", ({ message }) =>
          Effect.succeed({ succeeded: false, message, secrets: [] as ReadonlyArray<string> }),
        ),
      )
    const secrets = [...secretsOf(stored.at, stored.settings), ...(verdict.secrets ?? [])]
    return {
      status: verdict.succeeded ? "succeeded" : "failed",
      message: sanitize(verdict.message, secrets),
      checkedAt: yield* now,
    } satisfies TestResult
  })

  return { test }
})
