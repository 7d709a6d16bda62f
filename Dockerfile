# The service as one image: `docker build -t countersign .`, or compose.yaml. docs/operations.md says how it was tried.
# Three stages: everything that a build needs, what runs, and the two put together.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --include=optional --ignore-scripts
COPY . .
RUN npm run build

FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY .ci/production.mjs .ci/step.mjs .ci/
RUN npm ci --omit=dev --include=optional --ignore-scripts \
  && node .ci/production.mjs providers && node .ci/production.mjs prune
# Patched (.ci/patches).
COPY --from=build /app/node_modules/postgres node_modules/postgres
COPY --from=build /app/node_modules/@digitalbazaar/bbs-signatures node_modules/@digitalbazaar/bbs-signatures

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production NEXT_TELEMETRY_DISABLED=1 DATA_DIR=/data PORT=3000
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/package.json /app/next.config.ts ./
COPY --from=build /app/dist dist
COPY --from=build /app/.next .next
COPY --from=build /app/public public
COPY --from=build /app/drizzle drizzle
COPY --from=build /app/lib/api/http/security-headers.ts lib/api/http/security-headers.ts
COPY --from=build /app/lib/api/schemas/page-headers.ts lib/api/schemas/page-headers.ts
RUN rm -rf .next/cache && mkdir /data && chown 1000:1000 /data && chmod 700 /data
# The image's user `node`, by number, as Kubernetes wants it.
USER 1000:1000
VOLUME /data
EXPOSE 3000
# Runs node, not npm: the server itself gets the signal that stops it.
CMD ["node", "dist/server.mjs"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/v1/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
