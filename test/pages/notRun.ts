/** The blocks of commands that the tests of the pages do not run. They have the tag `console`; `begins` is their first line. */
interface NotRun {
  readonly page: string
  readonly begins: string
  readonly reason: string
}

const INSTALLS = "It installs packages from a registry. The tests run in such a checkout already."
const DEMO = "It uses the default ports. The tests of the demo run it on free ones."
const SERVES = "It does not end: it serves until it is stopped. Tests of start, image and gateways cover it."
const SERVES_TRY = "It does not end. test/cli/Try.process.test.ts runs it."
const RELEASED =
  "It needs the files of a release. test/release/Release.process.test.ts builds, installs and starts them."
const SIGNED = "It needs a signed release. test/release/Signing.process.test.ts runs it on one."
const SERVER =
  "It needs a PostgreSQL server and its client programs. test/deploy/Backup.process.test.ts runs these scripts."

export const NOT_RUN: ReadonlyArray<NotRun> = [
  {
    page: "README.md",
    begins: "npx keyshelf try                                                                     # try it",
    reason: RELEASED,
  },
  { page: "README.md", begins: "sha256sum --check --ignore-missing SHA256SUMS", reason: SIGNED },
  { page: "README.md", begins: "npm ci && npm start", reason: INSTALLS },
  { page: "README.md", begins: "npm ci && npm test", reason: INSTALLS },
  { page: "README.md", begins: "KEYSHELF_PLATFORM_CREDENTIAL=ksm_... npm run demo", reason: DEMO },
  { page: "README.md", begins: "KEYSHELF_PLATFORM_CREDENTIAL=ksm_... npm run demo -- --keep", reason: DEMO },
  {
    page: "docs/audit.md",
    begins: "keyshelf audit restart --organization acme",
    reason: "It ends the log of the examples. test/audit/Restart.process.test.ts runs it.",
  },
  {
    page: "docs/client.md",
    begins: "npm ci --prefix clients/typescript && npm pack ./clients/typescript",
    reason: "It installs packages from a registry. test/client/Package.process.test.ts does the same.",
  },
  {
    page: "docs/event-bridge.md",
    begins: "export KEYSHELF_URL=https://keyshelf.example.com KEYSHELF_TOKEN=ksh_...",
    reason: "It does not end, and needs NATS. test/cli/remote/Bridge.process.test.ts runs it.",
  },
  {
    page: "docs/feature-flags.md",
    begins:
      'openfeature pull --provider-url https://keyshelf.example.com/api --auth-token "$KEYSHELF_TOKEN" --no-prompt',
    reason: "It needs the OpenFeature CLI, which is no package of npm.",
  },
  {
    page: "docs/gateways.md",
    begins: "cp deploy/nginx/keyshelf.conf deploy/nginx/upstreams.conf /etc/nginx/conf.d/",
    reason: "It changes the nginx of the machine. The tests of the gateways run this configuration.",
  },
  {
    page: "docs/gateways.md",
    begins: "KEYSHELF_GATEWAY=api.example.com KEYSHELF_CORE=127.0.0.1:8080 KEYSHELF_INTERNAL=127.0.0.1:8082 \\",
    reason: SERVES,
  },
  {
    page: "docs/moving-organizations.md",
    begins: "keyshelf organization export --organization acme --file acme.keyshelf.gz     # at the source",
    reason: "It needs two installations. test/maintenance/OrganizationMove.process.test.ts runs these commands.",
  },
  { page: "docs/operating.md", begins: "npm ci && npm start", reason: INSTALLS },
  { page: "docs/operating.md", begins: "npx keyshelf try", reason: SERVES_TRY },
  {
    page: "docs/operating.md",
    begins: "sudo apt install ./keyshelf_<version>_amd64.deb postgresql",
    reason: RELEASED,
  },
  {
    page: "docs/operating.md",
    begins: "tar -xzf keyshelf-<version>-linux-x64.tar.gz && cd keyshelf-<version>",
    reason: RELEASED,
  },
  {
    page: "docs/operating.md",
    begins:
      "skopeo copy --all --preserve-digests oci-archive:keyshelf-<version>-image.tar docker://registry.example/keyshelf:<version>",
    reason: RELEASED,
  },
  {
    page: "docs/operating.md",
    begins: "tar -xzf keyshelf-compose-<version>.tar.gz && cd keyshelf-compose-<version>",
    reason: RELEASED,
  },
  { page: "docs/operating.md", begins: "kubectl create namespace keyshelf", reason: RELEASED },
  { page: "docs/operating.md", begins: "export SERVICE_DATABASE_URL=postgres://...", reason: SERVER },
  { page: "docs/operating.md", begins: "createdb keyshelf_restored", reason: SERVER },
  {
    page: "docs/scaling.md",
    begins: "SERVICE_DATABASE_URL=postgres://keyshelf:...@pgbouncer:6432/keyshelf",
    reason: "These are settings of a process, not commands.",
  },
  {
    page: "docs/upgrading.md",
    begins: "keyshelf upgrade plan",
    reason: "It needs a server and a backup. test/cli/upgrade/Upgrade.process.test.ts runs these commands.",
  },
  {
    page: "docs/verifying.md",
    begins: "sha256sum --check --ignore-missing SHA256SUMS",
    reason: SIGNED,
  },
  {
    page: "docs/verifying.md",
    begins: "openssl pkeyutl -verify -pubin -inkey keyshelf.pub.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig",
    reason: SIGNED,
  },
  {
    page: "docs/verifying.md",
    begins: "npm ci && npm run release:fetch && npm run release -- --out /tmp/keyshelf",
    reason: "It builds a release. test/release/Release.process.test.ts does the same.",
  },
  {
    page: "docs/maintainers/fault-tests.md",
    begins: "npm run faults                                   # all faults; takes half an hour",
    reason: "It takes half an hour. The suite runs a part of the faults.",
  },
  {
    page: "docs/sdk-go.md",
    begins: "go mod edit -require=keyshelf.example/keyshelf@v0.1.0 -replace=keyshelf.example/keyshelf=./keyshelf",
    reason: "It changes a module of yours. test/clients/Products.process.test.ts installs the client into one.",
  },
  {
    page: "docs/sdk-python.md",
    begins: "pip install ./clients/python",
    reason:
      "It installs into the Python of the machine. test/clients/Products.process.test.ts installs it into a folder.",
  },
  {
    page: "docs/sdk-typescript.md",
    begins: `post /entitlements '{"name": "Single sign-on", "slug": "sso", "type": "BOOLEAN"}'`,
    reason:
      "It changes the license of the examples of all pages. The products of test/clients run on the same entitlements.",
  },
  {
    page: "docs/sdk-typescript.md",
    begins: "npm ci --prefix clients/typescript && npm pack ./clients/typescript",
    reason:
      "It installs packages from a registry. test/clients/Products.process.test.ts installs the client into a project.",
  },
]
