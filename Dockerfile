# The plant store: production dependencies and sources, which Node 24 runs as they are.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM node:24-slim
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY gen gen
COPY src src
# What the service writes: the embedded store, or the development key.
RUN install --directory --owner=node --group=node --mode=700 /data
ENV DATA_DIR=/data
VOLUME /data
USER node
EXPOSE 8080 50051 9464
# Node itself, since npm passes no signal on.
CMD ["node", "bin/plantstore.js", "serve"]
