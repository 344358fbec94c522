# The plant store: production dependencies and sources, which Node 24 runs as they are.
#
#   docker build --tag plantstore .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges --volume plants:/data \
#     --env JWKS_URL=... --env JWT_ISSUER=... --env JWT_AUDIENCE=... --publish 8080:8080 plantstore

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package's own script runs. The optional packages are a Node, which the image has.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

# The console, which takes packages to build that the service does not need.
FROM node:24-slim AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY gen gen
COPY tsconfig.json ./
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
COPY src src
# All that the service writes: the embedded store and its own keys. A check of the log needs /tmp as well.
RUN install --directory --owner=node --group=node --mode=700 /data
VOLUME /data
# production: no development mode, so it starts only with an issuer of tokens. A container is reached from outside of it, by probes
# and Prometheus on the admin port too: publish that port to nobody else.
ENV NODE_ENV=production HOST=0.0.0.0 ADMIN_HOST=0.0.0.0 DATA_DIR=/data
# The user node, by number, so that an orchestrator can see that it is not root.
USER 1000:1000
EXPOSE 8080 50051 9464
# Whether it has to be restarted. Whether it should get requests is /readyz, which fails while the store is away: a restart would not help.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT || 9464}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# Node itself, since npm passes no signal on.
CMD ["node", "bin/plantstore.js", "serve"]
