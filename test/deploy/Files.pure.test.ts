import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { documents, root, text } from "./manifests.ts"
import type { Json } from "./manifests.ts"

/** The value of a quantity of Kubernetes, such as `250m` or `768Mi`. */
const valueOf = (quantity: string | undefined): number => {
  const [, amount, unit = ""] = /^(\d+)(m|Mi)?$/.exec(String(quantity)) ?? []
  return Number(amount) * (unit === "m" ? 0.001 : unit === "Mi" ? 2 ** 20 : 1)
}

describe("the compose file", () => {
  const compose = documents("deploy/compose.yaml")[0] as Json
  const services = compose["services"] as Json

  it("starts PostgreSQL, migrates once, and runs two processes behind nginx", () => {
    assert.sameMembers(Object.keys(services), ["postgres", "migrate", "keyshelf", "nginx"])
    assert.strictEqual(Number(services["keyshelf"]?.["deploy"]?.["replicas"]), 2)
    assert.strictEqual(JSON.stringify(services["migrate"]?.["command"]), '["migrate"]')
    const waits = services["keyshelf"]?.["depends_on"]
    assert.strictEqual(String(waits?.["migrate"]?.["condition"]), "service_completed_successfully")
    assert.strictEqual(String(waits?.["postgres"]?.["condition"]), "service_healthy")
    assert.strictEqual(String(services["nginx"]?.["depends_on"]?.["keyshelf"]?.["condition"]), "service_healthy")
    assert.include(JSON.stringify(services["keyshelf"]?.["healthcheck"]?.["test"]), "/health/ready")
  })

  it("publishes only nginx, and only on the loopback interface", () => {
    const published = Object.entries(services).filter(([, service]) => "ports" in service)
    assert.deepStrictEqual(
      published.map(([name]) => name),
      ["nginx"],
    )
    assert.match(String(services["nginx"]?.["ports"]?.[0]), /^127\.0\.0\.1:/)
  })

  it("mounts only files that exist", () => {
    for (const service of Object.values(services)) {
      for (const volume of (service["volumes"] ?? []) as ReadonlyArray<unknown>) {
        const source = String(volume).split(":")[0] ?? ""
        if (source.startsWith(".")) assert.isTrue(existsSync(join(root, "deploy", source)), source)
      }
    }
  })

  it("contains no secrets: each comes from the environment file, and the example lists it without a value", () => {
    const example = text("deploy/.env.example")
    const used = [...text("deploy/compose.yaml").matchAll(/\$\{(\w+)(:[?-])?/g)]
    for (const [, name] of used) assert.match(example, new RegExp(`^${name}=`, "m"))
    for (const name of ["POSTGRES_PASSWORD", "SERVICE_SECRET_KEY"]) {
      assert.match(example, new RegExp(`^${name}=$`, "m"))
      assert.isTrue(
        used.filter((match) => match[1] === name).every((match) => match[2] === ":?"),
        `${name} must be required`,
      )
    }
    for (const line of text("deploy/compose.yaml").split("\n")) {
      if (/PASSWORD: |SECRET_KEY: |CREDENTIAL: /.test(line)) assert.include(line, "${")
    }
  })
})

describe("the Kubernetes manifests", () => {
  const folder = "deploy/kubernetes"
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith(".yaml"))
  const all = files.flatMap((file) => documents(join(folder, file)))
  const ofKind = (kind: string) => all.filter((document) => String(document["kind"]) === kind)
  const deployment = ofKind("Deployment")[0] as Json
  const pods = [deployment, ofKind("Job")[0] as Json].map(
    (document) => document["spec"]?.["template"]?.["spec"] as Json,
  )

  it("have a version, a kind and a name", () => {
    for (const document of all) {
      assert.isString(document["apiVersion"])
      assert.isString(document["kind"])
      if (String(document["kind"]) !== "Kustomization") assert.isString(document["metadata"]?.["name"])
    }
    assert.includeMembers(
      all.map((document) => String(document["kind"])),
      "Namespace Secret ConfigMap Job Deployment PodDisruptionBudget Service Ingress NetworkPolicy".split(" "),
    )
  })

  it("are all in the kustomization, except the example secret", () => {
    const resources = ofKind("Kustomization")[0]?.["resources"] as unknown as ReadonlyArray<string>
    assert.sameMembers(
      [...resources, "kustomization.yaml", "secret.example.yaml"],
      files.filter((file) => statSync(join(root, folder, file)).isFile()),
    )
  })

  it("replace processes one by one, starting the new one first, and migrate in a separate job", () => {
    const rolling = deployment["spec"]?.["strategy"]?.["rollingUpdate"]
    assert.strictEqual(Number(rolling?.["maxUnavailable"]), 0)
    assert.strictEqual(Number(deployment["spec"]?.["replicas"]), 2)
    assert.strictEqual(JSON.stringify(pods[1]?.["containers"]?.[0]?.["args"]), '["migrate"]')
    const grace = Number(pods[0]?.["terminationGracePeriodSeconds"])
    assert.isAbove(grace, 5 + 10, "the pause and ten seconds for running requests must fit")
  })

  it("probe liveness without the database and readiness with it, on ports of the container", () => {
    const container = pods[0]?.["containers"]?.[0] as Json
    const ports = (container["ports"] as unknown as ReadonlyArray<{ name: string }>).map(({ name }) => name)
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

  it("run unprivileged, with limits, on a read-only root file system", () => {
    for (const pod of pods) {
      assert.strictEqual(String(pod["securityContext"]?.["runAsNonRoot"]), "true")
      const container = pod["containers"]?.[0] as Json
      assert.strictEqual(String(container["securityContext"]?.["readOnlyRootFilesystem"]), "true")
      assert.strictEqual(String(container["securityContext"]?.["allowPrivilegeEscalation"]), "false")
      assert.strictEqual(JSON.stringify(container["securityContext"]?.["capabilities"]), '{"drop":["ALL"]}')
      assert.strictEqual(String(pod["securityContext"]?.["seccompProfile"]?.["type"]), "RuntimeDefault")
      assert.strictEqual(String(pod["automountServiceAccountToken"]), "false")
      assert.notMatch(JSON.stringify(pod), /"privileged"|"host(Network|PID|IPC|Path|Port)"/)
      const { limits, requests } = (container["resources"] ?? {}) as unknown as Record<string, Record<string, string>>
      for (const amount of ["cpu", "memory"]) {
        assert.isAbove(valueOf(limits?.[amount]), valueOf(requests?.[amount]), amount)
        assert.isAbove(valueOf(requests?.[amount]), 0, amount)
      }
    }
  })

  it("select the pods of the deployment, and expose only the core listener", () => {
    const labels = deployment["spec"]?.["template"]?.["metadata"]?.["labels"] as unknown
    const selectors = [
      deployment["spec"]?.["selector"]?.["matchLabels"],
      ofKind("PodDisruptionBudget")[0]?.["spec"]?.["selector"]?.["matchLabels"],
      ofKind("NetworkPolicy")[0]?.["spec"]?.["podSelector"]?.["matchLabels"],
      ...ofKind("Service").map((service) => service["spec"]?.["selector"]),
    ]
    for (const selector of selectors) assert.deepStrictEqual(selector, labels)
    const backend = ofKind("Ingress")[0]?.["spec"]?.["rules"]?.[0]?.["http"]?.["paths"]?.[0]?.["backend"]?.["service"]
    assert.strictEqual(String(backend?.["name"]), "keyshelf")
    const ports = ofKind("Service").find((service) => String(service["metadata"]?.["name"]) === "keyshelf")
    assert.deepStrictEqual(
      (ports?.["spec"]?.["ports"] ?? []).map((port) => String(port["name"])),
      ["core"],
    )
  })

  it("contain no secrets", () => {
    for (const [name, value] of Object.entries(ofKind("Secret")[0]?.["stringData"] ?? {})) {
      const filled = String(value)
      assert.isTrue(filled === "" || filled.includes("USER:PASSWORD@HOST"), name)
    }
  })
})
