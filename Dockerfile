# syntax=docker/dockerfile:1

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# With optional dependencies: what Vite builds by is one, a binary for each platform.
RUN npm ci --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
COPY web web
RUN npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No development dependencies, and no embedded PostgreSQL: a container has a database of its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
# What sources of kind git need; and as the first process one that ends those whose parent has gone, such as Git's when a fetch is cut off.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git openssh-client tini \
 && rm -rf /var/lib/apt/lists/*
# As `npm run release` prints them: docker build --build-arg VERSION=… --build-arg COMMIT=… --build-arg BUILD_DATE=… .
ARG VERSION=unknown
ARG COMMIT=unknown
ARG BUILD_DATE=unknown
LABEL org.opencontainers.image.title="Registry Server" \
      org.opencontainers.image.description="A registry server for MCP servers and skills: several sources, named views, access decided by claims." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${BUILD_DATE}" \
      org.opencontainers.image.base.name="docker.io/library/node:24-bookworm-slim"
ENV NODE_ENV=production REGISTRY_COMMIT=${COMMIT} REGISTRY_BUILD_DATE=${BUILD_DATE}
# glibc gives blocks of this size back to the system at once when they are freed. Unless it is told, it raises the size to that of the
# largest block that was freed: those of pages then leave holes that nothing else fits in.
ENV MALLOC_MMAP_THRESHOLD_=131072
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE deploy/health-check.mjs ./
# By number, so that Kubernetes sees that it is not root. Sources of kind git work below /tmp: where the file system is read-only,
# something writable has to be mounted there.
USER 1000:1000
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "health-check.mjs"]
ENTRYPOINT ["tini", "--", "node", "dist/main.js"]
CMD ["serve", "--config", "/etc/registry/registry.yaml"]
