# syntax=docker/dockerfile:1
# The service without an embedded database. It needs SERVICE_DATABASE_URL and SERVICE_SECRET_KEY.
#
#   docker build -t keyshelf:0.1.0 .
#   docker run --rm --read-only --tmpfs /tmp -p 8080:8080 -e SERVICE_DATABASE_URL -e SERVICE_SECRET_KEY keyshelf:0.1.0

# The version that package.json pins, and the digest of its multi-platform index, so that every build starts from the same bytes. For
# a newer version, read its digest with `docker buildx imagetools inspect node:<version>-bookworm-slim`.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim@sha256:662933cf47f013bc8e4beb31a6116448427a82057ba7c42c97e4c5ba766504c2

FROM ${NODE_IMAGE} AS bundle
WORKDIR /app
COPY package.json package-lock.json ./
# Packages must not run install scripts.
RUN npm ci --ignore-scripts
COPY bin ./bin
COPY src ./src
# The command line and the clients decide by the same rules.
COPY clients ./clients
COPY migrations ./migrations
COPY console ./console
RUN node bin/bundle.mjs
RUN node bin/console.mjs && test -f dist/console/index.html

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Keyshelf" \
      org.opencontainers.image.description="Open, self-hosted licensing and entitlement service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
WORKDIR /app
# The image contains the bundle and the built console only: no packages, no sources.
COPY --from=bundle /app/dist/server ./dist/server
COPY --from=bundle /app/dist/console ./dist/console
COPY package.json LICENSE README.md ./
COPY bin ./bin
COPY openapi ./openapi
COPY docs ./docs
# Stores compiled code in the image: starts are faster, and the root filesystem can be read-only.
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/.compile-cache \
    SERVICE_HOST=0.0.0.0 \
    SERVICE_LOG_FORMAT=json
RUN node bin/keyshelf.mjs --help > /dev/null
# The user "node" of the base image. Kubernetes' runAsNonRoot requires a numeric id.
USER 1000:1000
# core, platform, internal. Publish only the core; the other two are for the operator and for gateways.
EXPOSE 8080 8081 8082
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SERVICE_INTERNAL_PORT || 8082}/health/ready`).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
# Node.js is process 1, so that it receives SIGTERM. npm would not forward the signal.
ENTRYPOINT ["node", "bin/keyshelf.mjs"]
CMD ["serve"]
