import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { isReachable } from "../../src/infra/outbound/GlobalAddresses.ts"
import { objectsIn, RENDERED } from "./manifests.ts"

const Labels = Schema.Struct({ matchLabels: Schema.Record(Schema.String, Schema.String) })
const Peer = Schema.Struct({
  namespaceSelector: Schema.optionalKey(Labels),
  podSelector: Schema.optionalKey(Labels),
  ipBlock: Schema.optionalKey(
    Schema.Struct({ cidr: Schema.String, except: Schema.optionalKey(Schema.Array(Schema.String)) }),
  ),
})
const Port = Schema.Struct({
  port: Schema.Union([Schema.Number, Schema.String]),
  endPort: Schema.optionalKey(Schema.Number),
  protocol: Schema.optionalKey(Schema.Literals(["TCP", "UDP"])),
})
const Policy = Schema.Struct({
  apiVersion: Schema.Literal("networking.k8s.io/v1"),
  kind: Schema.Literal("NetworkPolicy"),
  metadata: Schema.Struct({
    name: Schema.String,
    labels: Schema.Record(Schema.String, Schema.String),
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
  spec: Schema.Struct({
    podSelector: Labels,
    policyTypes: Schema.Array(Schema.String),
    ingress: Schema.optionalKey(
      Schema.Array(Schema.Struct({ from: Schema.optionalKey(Schema.Array(Peer)), ports: Schema.Array(Port) })),
    ),
    egress: Schema.Array(Schema.Struct({ to: Schema.Array(Peer), ports: Schema.Array(Port) })),
  }),
})
type Policy = typeof Policy.Type

// A property that the schema does not know would be a rule that these tests do not check.
const { named } = objectsIn(RENDERED)
const policies = ["keyshelf", "keyshelf-migrate"].map((name) =>
  Schema.decodeUnknownSync(Policy)(named("NetworkPolicy", name), { onExcessProperty: "error" }),
)
const [service, migration] = policies

const contains = (cidr: string, address: string): boolean =>
  Result.match(NetAddress.ipFromString(address), {
    onFailure: () => false,
    onSuccess: (parsed) => IpNetwork.contains(IpNetwork.fromStringUnsafe(cidr), parsed),
  })

/** Whether the policy lets its pods connect to this address and port. */
const mayConnect = (policy: Policy | undefined, address: string, port: number, protocol = "TCP"): boolean =>
  policy?.spec.egress.some(
    ({ ports, to }) =>
      ports.some(
        (rule) =>
          (rule.protocol ?? "TCP") === protocol &&
          Number(rule.port) <= port &&
          port <= (rule.endPort ?? Number(rule.port)),
      ) &&
      to.some(
        ({ ipBlock }) =>
          ipBlock !== undefined &&
          contains(ipBlock.cidr, address) &&
          ipBlock.except?.some((network) => contains(network, address)) !== true,
      ),
  ) ?? false

const AZURE_HOST = "168.63.129.16"
const PUBLIC = ["1.1.1.1", "8.8.8.8", "168.63.129.15", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1"]
const METADATA = ["169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", AZURE_HOST, "fd00:ec2::254"]
const PRIVATE = ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"]

describe("the network policies", () => {
  it("select the pods of the deployment and of the migration job, for both directions", () => {
    const labels = [named("Deployment", "keyshelf"), named("Job", "keyshelf-migrate")].map((document) =>
      JSON.stringify(document["spec"]?.["template"]?.["metadata"]?.["labels"]),
    )
    assert.deepStrictEqual(
      policies.map(({ spec }) => JSON.stringify(spec.podSelector.matchLabels)),
      labels,
    )
    for (const { spec } of policies) assert.sameMembers([...spec.policyTypes], ["Ingress", "Egress"])
    assert.isUndefined(migration?.spec.ingress)
  })

  it("open the platform and the internal listener only to labelled namespaces, and the latter to the chart's test", () => {
    const rules = service?.spec.ingress ?? []
    assert.deepStrictEqual(
      rules.map(({ from, ports }) => [
        ports.map(({ port }) => port),
        from?.map(({ namespaceSelector, podSelector }) => (namespaceSelector ?? podSelector)?.matchLabels),
      ]),
      [
        [["core"], undefined],
        [["platform"], [{ "keyshelf.example/operator": "true" }]],
        [
          ["internal"],
          [
            { "app.kubernetes.io/name": "keyshelf-test", "app.kubernetes.io/instance": "keyshelf" },
            { "keyshelf.example/internal": "true" },
          ],
        ],
      ],
    )
  })

  it("allow exactly the public addresses that the service itself calls, and none of a metadata service", () => {
    for (const address of PUBLIC) {
      for (const port of [443, 8443, 9000]) assert.isTrue(mayConnect(service, address, port), `${address}:${port}`)
    }
    for (const address of [...METADATA, ...PRIVATE, "127.0.0.1", "::1", "fe80::1", "fd00::1"]) {
      for (const port of [80, 443, 8443]) assert.isFalse(mayConnect(service, address, port), `${address}:${port}`)
    }
    const edges = (service?.spec.egress ?? [])
      .flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock?.except ?? []))
      .map(IpNetwork.fromStringUnsafe)
      .flatMap((network) => [IpNetwork.firstAddress(network), IpNetwork.lastAddress(network)])
      .map((address) => NetAddress.formatIp(address))
    assert.isAbove(edges.length, 30)
    const sampled = Array.from({ length: 256 * 32 }, (_, index) => `${index >> 5}.${(index & 31) * 8}.1.1`)
    for (const address of [...edges, ...sampled].filter((each) => each !== AZURE_HOST)) {
      assert.strictEqual(mayConnect(service, address, 443), isReachable(address, []), address)
    }
  })

  it("allow DNS, PostgreSQL in private networks or labelled namespaces, and nothing else there", () => {
    for (const policy of policies) {
      const namespaces = policy.spec.egress.flatMap(({ ports, to }) =>
        to.flatMap(({ namespaceSelector }) =>
          namespaceSelector === undefined
            ? []
            : [[namespaceSelector.matchLabels, ports.map(({ port, protocol }) => `${port} ${protocol ?? "TCP"}`)]],
        ),
      )
      assert.deepStrictEqual(namespaces, [
        [{ "kubernetes.io/metadata.name": "kube-system" }, ["53 UDP", "53 TCP"]],
        [{ "keyshelf.example/database": "true" }, ["5432 TCP"]],
      ])
      for (const address of PRIVATE) {
        assert.isTrue(mayConnect(policy, address, 5432), address)
        for (const port of [22, 53, 443, 6379, 10_250]) {
          assert.isFalse(mayConnect(policy, address, port), `${address}:${port}`)
        }
      }
    }
    for (const address of [...PUBLIC, ...METADATA]) assert.isFalse(mayConnect(migration, address, 443), address)
  })

  it("allow no public port below 1024 but that of https", () => {
    for (const port of [22, 23, 25, 53, 80, 110, 445, 993]) assert.isFalse(mayConnect(service, "8.8.8.8", port))
    assert.isFalse(mayConnect(service, "8.8.8.8", 53, "UDP"))
  })
})
