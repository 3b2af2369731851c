import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import { parse } from "effect/encoding/Yaml"
import { ConfigProvider, Effect } from "effect"
import * as SettingsCheck from "../../src/cli/doctor/SettingsCheck.ts"
import { objectsIn, RENDERED, RENDERED_ALL, text } from "./manifests.ts"
import type { Json } from "./manifests.ts"

/** The value of a quantity of Kubernetes, such as `250m` or `768Mi`. */
const valueOf = (quantity: string | undefined): number => {
  const [, amount, unit = ""] = /^(\d+)(m|Mi)?$/.exec(String(quantity)) ?? []
  return Number(amount) * (unit === "m" ? 0.001 : unit === "Mi" ? 2 ** 20 : 1)
}

const podOf = (document: Json): Json => (document["spec"]?.["template"]?.["spec"] ?? document["spec"]) as Json
const containerOf = (document: Json): Json => podOf(document)["containers"]?.[0] as Json
const annotationsOf = (document: Json) =>
  (document["metadata"]?.["annotations"] ?? {}) as unknown as Readonly<Record<string, string>>

describe.each([
  { title: "the chart with its default values", file: RENDERED, name: "keyshelf" },
  { title: "the chart with everything on", file: RENDERED_ALL, name: "acme-keyshelf" },
])("$title", ({ file, name }) => {
  const { all, named, ofKind } = objectsIn(file)
  const deployment = named("Deployment", name)
  const job = named("Job", `${name}-migrate`)
  const pods = [deployment, job, named("Pod", `${name}-ready`)]
  const [operator, core] = [named("Service", `${name}-operator`), named("Service", name)]

  it("has a version, a kind and a name of each object, and no namespace", () => {
    for (const document of all) {
      assert.isString(document["apiVersion"])
      assert.isString(document["kind"])
      assert.isTrue(String(document["metadata"]?.["name"]).startsWith(name))
      assert.isUndefined(document["metadata"]?.["namespace"], "Helm sets that of the release")
    }
  })

  it("replaces pods one by one, starting the new one first", () => {
    const rolling = deployment["spec"]?.["strategy"]?.["rollingUpdate"]
    assert.strictEqual(Number(rolling?.["maxUnavailable"]), 0)
    const grace = Number(podOf(deployment)["terminationGracePeriodSeconds"])
    assert.isAbove(grace, 5 + 10, "the pause and ten seconds for running requests must fit")
  })

  it("migrates in a hook that needs nothing of what Helm installs after it, and has all settings of the pods", () => {
    assert.strictEqual(JSON.stringify(containerOf(job)["args"]), '["migrate"]')
    assert.strictEqual(annotationsOf(job)["helm.sh/hook"], "pre-install,pre-upgrade")
    assert.strictEqual(annotationsOf(job)["helm.sh/hook-delete-policy"], "before-hook-creation")
    const secrets = JSON.stringify(containerOf(deployment)["envFrom"]?.[1])
    assert.strictEqual(JSON.stringify(containerOf(job)["envFrom"]), `[${secrets}]`)
    const settings = (containerOf(job)["env"] ?? []).map((one) => [String(one["name"]), String(one["value"])])
    assert.deepStrictEqual(Object.fromEntries(settings), named("ConfigMap", name)["data"])
    const policy = named("NetworkPolicy", `${name}-migrate`)
    assert.strictEqual(annotationsOf(policy)["helm.sh/hook"], annotationsOf(job)["helm.sh/hook"])
    assert.isBelow(Number(annotationsOf(policy)["helm.sh/hook-weight"]), 0, "the policy is there before the job")
  })

  it("probes liveness without the database and readiness with it, on ports of the container", () => {
    const container = containerOf(deployment)
    const ports = (container["ports"] as unknown as ReadonlyArray<{ name: string }>).map((port) => port.name)
    for (const [probe, path] of [
      ["livenessProbe", "/health/live"],
      ["startupProbe", "/health/live"],
      ["readinessProbe", "/health/ready"],
    ] as const) {
      assert.strictEqual(String(container[probe]?.["httpGet"]?.["path"]), path)
      assert.include(ports, String(container[probe]?.["httpGet"]?.["port"]))
    }
    for (const service of ofKind("Service")) {
      for (const port of service["spec"]?.["ports"] ?? []) assert.include(ports, String(port["targetPort"]))
    }
  })

  it("is tested by a pod that asks the internal listener whether it can serve", () => {
    const [, , test] = pods
    assert.strictEqual(annotationsOf(test as Json)["helm.sh/hook"], "test")
    const url = String(containerOf(test as Json)["env"]?.[0]?.["value"])
    const port = (operator["spec"]?.["ports"] ?? []).find((one) => String(one["name"]) === "internal")?.["port"]
    assert.strictEqual(url, `http://${name}-operator:${String(port)}/health/ready`)
    const allowed = JSON.stringify(named("NetworkPolicy", name)["spec"]?.["ingress"])
    assert.include(allowed, JSON.stringify({ matchLabels: labelsBySelector(test as Json) }))
  })

  it("runs unprivileged, with limits, on a read-only root file system, with the image of the release", () => {
    for (const document of pods) {
      const [pod, container] = [podOf(document), containerOf(document)]
      assert.strictEqual(String(pod["securityContext"]?.["runAsNonRoot"]), "true")
      assert.strictEqual(String(container["securityContext"]?.["readOnlyRootFilesystem"]), "true")
      assert.strictEqual(String(container["securityContext"]?.["allowPrivilegeEscalation"]), "false")
      assert.strictEqual(JSON.stringify(container["securityContext"]?.["capabilities"]), '{"drop":["ALL"]}')
      assert.strictEqual(String(pod["securityContext"]?.["seccompProfile"]?.["type"]), "RuntimeDefault")
      assert.strictEqual(String(pod["automountServiceAccountToken"]), "false")
      // Otherwise a service named service-... would be settings that the service does not know.
      assert.strictEqual(String(pod["enableServiceLinks"]), "false")
      assert.notMatch(JSON.stringify(pod), /"privileged"|"host(Network|PID|IPC|Path|Port)"/)
      const { limits, requests } = (container["resources"] ?? {}) as unknown as Record<string, Record<string, string>>
      for (const amount of ["cpu", "memory"]) {
        assert.isAbove(valueOf(limits?.[amount]), valueOf(requests?.[amount]), amount)
        assert.isAbove(valueOf(requests?.[amount]), 0, amount)
      }
    }
    assert.lengthOf([...new Set(pods.map((document) => String(containerOf(document)["image"])))], 1)
  })

  it("keeps compiled code in the one volume that a container can write", () => {
    const container = containerOf(deployment)
    const folder = (container["env"] ?? []).find((one) => String(one["name"]) === "NODE_COMPILE_CACHE")?.["value"]
    const mounts = (container["volumeMounts"] ?? []).map((mount) => String(mount["mountPath"]))
    assert.deepStrictEqual(mounts, ["/tmp"])
    assert.match(String(folder), /^\/tmp\//)
    assert.isAbove(valueOf(String(podOf(deployment)["volumes"]?.[0]?.["emptyDir"]?.["sizeLimit"])), 32 * 2 ** 20)
  })

  it("selects the pods of the deployment, and exposes only the core listener", () => {
    const labels = deployment["spec"]?.["template"]?.["metadata"]?.["labels"] as unknown
    const selectors = [
      deployment["spec"]?.["selector"]?.["matchLabels"],
      named("NetworkPolicy", name)["spec"]?.["podSelector"]?.["matchLabels"],
      ...ofKind("PodDisruptionBudget").map((budget) => budget["spec"]?.["selector"]?.["matchLabels"]),
      ...ofKind("Service").map((service) => service["spec"]?.["selector"]),
    ]
    for (const selector of selectors) assert.deepStrictEqual(selector, labels)
    assert.deepStrictEqual(
      (core["spec"]?.["ports"] ?? []).map((port) => String(port["name"])),
      ["core"],
    )
    for (const ingress of ofKind("Ingress")) {
      const backend = ingress["spec"]?.["rules"]?.[0]?.["http"]?.["paths"]?.[0]?.["backend"]?.["service"]
      assert.strictEqual(JSON.stringify(backend), JSON.stringify({ name, port: { name: "core" } }))
    }
    for (const monitor of ofKind("ServiceMonitor")) {
      const wanted = monitor["spec"]?.["selector"]?.["matchLabels"] as unknown as Record<string, string>
      const found = operator["metadata"]?.["labels"] as unknown as Record<string, string>
      assert.deepStrictEqual(
        Object.entries(wanted).filter(([key, value]) => found[key] !== value),
        [],
      )
    }
  })
})

const labelsBySelector = (document: Json): unknown =>
  Object.fromEntries(
    Object.entries(document["metadata"]?.["labels"] ?? {}).filter(([key]) => /\/(name|instance)$/.test(key)),
  )

describe("what the chart has", () => {
  const kindsIn = (file: string) => objectsIn(file).all.map((document) => String(document["kind"]))

  it("is a budget for several pods and no ingress by default", () => {
    const always = "NetworkPolicy NetworkPolicy ConfigMap Service Service Deployment Pod Job".split(" ")
    assert.sameMembers(kindsIn(RENDERED), [...always, "PodDisruptionBudget"])
    assert.sameMembers(kindsIn(RENDERED_ALL), [...always, "Ingress", "ServiceMonitor"])
  })

  it("is no secret", () => {
    for (const file of [RENDERED, RENDERED_ALL]) assert.notInclude(kindsIn(file), "Secret")
    assert.notMatch(text("deploy/chart/values.yaml"), /postgres:\/\/|ksm_/)
  })
})

describe("the schema of the values", () => {
  const schema: { properties: Record<string, { properties?: object }> } = JSON.parse(
    text("deploy/chart/values.schema.json"),
  )
  const defaults = parse(text("deploy/chart/values.yaml")) as Record<string, object>
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema)
  const accepts = (values: object): boolean => validate({ ...defaults, ...values })

  it("accepts the default values and those that turn on everything, and describes each", () => {
    assert.isTrue(accepts({}), JSON.stringify(validate.errors))
    const all = parse(text("test/deploy/render/values-all.yaml")) as Record<string, object>
    const { SERVICE_DATABASE_POOL_SIZE: _removed, ...settings } = all["settings"] as Record<string, unknown>
    assert.isTrue(accepts({ ...all, settings }), JSON.stringify(validate.errors))
    assert.sameMembers(Object.keys(schema.properties), [...Object.keys(defaults), "global"])
    for (const [name, { properties }] of Object.entries(schema.properties)) {
      if (properties !== undefined) assert.sameMembers(Object.keys(properties), Object.keys(defaults[name] ?? {}), name)
    }
  })

  it.each([
    ["an unknown value", { replica: 2 }],
    ["an unknown value of a part", { ingress: { enable: true } }],
    ["no pod", { replicas: 0 }],
    ["a tag for a digest", { image: { repository: "registry.example/keyshelf", digest: "1.0.0" } }],
    ["a setting that is no text", { settings: { SERVICE_DATABASE_POOL_SIZE: 8 } }],
    ["a misspelled prefix", { settings: { SERVER_LOG_LEVEL: "Debug" } }],
    ["a peer that would mean everyone", { networkPolicy: { operator: [{}] } }],
  ])("rejects %s", (_what, values) => assert.isFalse(accepts(values)))

  it.effect("accepts each setting except ports, addresses and secrets", () =>
    Effect.gen(function* () {
      const { names } = yield* SettingsCheck.readSettings(ConfigProvider.fromEnvRecord({}))
      const rejected = names.filter((name) => !accepts({ settings: { [name]: "x" } }))
      const addresses = names.filter((name) => /_(PORT|HOST)$/.test(name))
      assert.sameMembers(rejected, [
        ...addresses,
        "SERVICE_DATABASE_URL",
        "SERVICE_DATABASE_LISTEN_URL",
        "SERVICE_SECRET_KEY",
        "SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL",
        "SERVICE_REDIS_URL",
        "SERVICE_SVIX_TOKEN",
      ])
    }),
  )
})
