# syntax=docker/dockerfile:1

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# Includes optional dependencies: Vite's platform binary is one.
RUN npm ci --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
COPY web web
# The image needs neither source maps nor type declarations, here nor of dependencies.
RUN npm run build && find dist \( -name '*.map' -o -name '*.d.ts' \) -delete

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Neither development dependencies nor the embedded PostgreSQL: containers use an external database.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
 && find node_modules \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.[cm]ts' \) -delete

FROM debian:bookworm-slim
# Git sources need git and ssh, and ssh a user with a name. tini reaps orphaned processes, such as Git's after an aborted fetch.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git openssh-client tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home registry
# Without npm and headers, which nothing uses at run time.
COPY --from=build /usr/local/bin/node /usr/local/bin/node
# `npm run release` prints the values: docker build --build-arg VERSION=… --build-arg COMMIT=… --build-arg BUILD_DATE=… .
ARG VERSION=unknown
ARG COMMIT=unknown
ARG BUILD_DATE=unknown
LABEL org.opencontainers.image.title="Registry Server" \
      org.opencontainers.image.description="A registry server for MCP servers, skills and plugins: several sources, named views, access decided by claims." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${BUILD_DATE}" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"
ENV NODE_ENV=production REGISTRY_COMMIT=${COMMIT} REGISTRY_BUILD_DATE=${BUILD_DATE}
# glibc returns freed blocks of at least this size to the system. Without a fixed value it raises the threshold to the largest freed
# block, and large pages then fragment the heap.
ENV MALLOC_MMAP_THRESHOLD_=131072
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE deploy/health-check.mjs ./
# Numeric, so that Kubernetes can verify that it is not root. With a read-only file system, mount a writable /tmp for Git sources.
USER 1000:1000
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "health-check.mjs"]
# A smaller young generation than Node.js 24 would use: docs/decisions/013-runtime-tuning.md.
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=8", "dist/main.js"]
CMD ["serve", "--config", "/etc/registry/registry.yaml"]
