/** docs/scaling.md: an installation grows from one server to Citus by moving its organizations. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isOnCitus } from "../support/Cluster.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { questions } from "./answers.ts"
import { crowdedOrganization } from "./crowded.ts"
import { moving, oneServer, sameKind } from "./installations.ts"

allowInventedEvents()

const why = isOnCitus ? undefined : "TEST_CITUS_URL is not set"

layer(TestService.separate, { excludeTestServices: true })("an organization on Citus", (it) => {
  it.effect.skipIf(why !== undefined)(
    withReason("moves to one server and back to another cluster, and answers the same in each place", why),
    () =>
      Effect.gen(function* () {
        const cluster = yield* TestService
        const { atSource, file } = yield* moving
        const [server, otherCluster] = [yield* oneServer, yield* sameKind]
        const organization = yield* crowdedOrganization
        // Positions and hashes are assigned before the requests stop.
        yield* cluster.core("GET", "/events/checkpoint", { token: organization.token })
        const answersOf = yield* questions(cluster, organization)
        const before = yield* answersOf(cluster)
        const files = [file, `${file}.back`]
        for (const [at, step] of [
          [atSource, `export --organization ${organization.slug} --file ${files[0]} --watch 1s`],
          [server.command, `import --file ${files[0]}`],
          [server.command, `export --organization ${organization.slug} --file ${files[1]} --watch 1s`],
          [otherCluster.command, `import --file ${files[1]}`],
          [server.command, `compare --file ${files[1]}`],
          [atSource, `compare --file ${files[0]}`],
        ] as const) {
          const { code, stderr } = yield* at(step)
          assert.strictEqual(code, 0, `${step}: ${stderr}`)
        }
        assert.deepStrictEqual(yield* answersOf(server.service), before)
        assert.deepStrictEqual(yield* answersOf(otherCluster.service), before)
        const usage = `/instances/${organization.fixture.instance}/entitlements/api-calls/usage`
        for (const { service } of [server, otherCluster]) {
          const reported = yield* service.core("POST", usage, { token: organization.token, body: { value: 1 } })
          assert.strictEqual(reported.status, 200, reported.text)
        }
      }).pipe(Effect.scoped),
    240_000,
  )
})
