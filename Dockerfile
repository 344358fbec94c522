# The plant store: production dependencies and sources. Node 24 runs the sources without a build.
#
#   docker build --tag plantstore .
#   docker run --init --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges --volume plants:/data \
#     --env JWKS_URL=... --env JWT_ISSUER=... --env JWT_AUDIENCE=... --publish 8080:8080 plantstore

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No script of a package runs. The optional packages contain a Node, and the image already has one.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

# The console. Its build needs packages that the service does not.
FROM node:24-slim AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY gen gen
COPY tsconfig.json ./
COPY client client
COPY src/tlog src/tlog
COPY console console
RUN npm run console

FROM node:24-slim
LABEL org.opencontainers.image.title="Plant Store" \
      org.opencontainers.image.description="An event-sourced plant store: REST, Connect and gRPC over one tamper-evident log" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=console /app/console/dist console/dist
COPY package.json LICENSE ./
COPY bin bin
COPY gen gen
COPY docs/configuration.md docs/configuration.md
COPY src src
# The service writes only here: the embedded store and its own keys. A verification of the log also writes to /tmp.
RUN install --directory --owner=node --group=node --mode=700 /data
VOLUME /data
# production: no development mode, so the service starts only with an issuer of tokens. It listens on all addresses, because
# callers, probes and Prometheus are outside the container. Publish the admin port to probes and Prometheus only.
ENV NODE_ENV=production HOST=0.0.0.0 ADMIN_HOST=0.0.0.0 DATA_DIR=/data
# glibc gives memory back that is free: after a peak, some 200 MiB less.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
# The user node, as a number, so that an orchestrator can see that it is not root.
USER 1000:1000
EXPOSE 8080 50051 9464
# Asks whether the container has to be restarted. /readyz says whether it is ready for requests; it fails while the store is
# unreachable, and a restart would not help.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT || 9464}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# Runs node itself, because npm does not pass on signals.
CMD ["node", "bin/plantstore.js", "serve"]
