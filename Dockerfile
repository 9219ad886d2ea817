# Builds the image of Castellan: `docker build -t castellan .` (docs/operate/install.md).
# Node comes from the lock file, as in every other installation: the base image brings only the C library.
ARG BUILDER=docker.io/library/node:24-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12:nonroot

FROM ${BUILDER} AS pack
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && npm run pack -- --to=/pack

FROM ${BUILDER} AS install
COPY deploy/container/install.sh /
COPY --from=pack /pack /pack
RUN /install.sh /pack/castellan-*.tgz /opt/castellan && mkdir -m 0700 /data

FROM ${BASE}
LABEL org.opencontainers.image.title="Castellan" \
      org.opencontainers.image.description="Self-hosted accounts, sessions and role-based access control" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=install /opt/castellan /opt/castellan
COPY --from=install --chown=65532:65532 /data /data
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000 DATA_DIR=/data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8000
# Liveness, because Swarm restarts what is unhealthy: an instance that waits for its database must not be restarted.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/opt/castellan/node_modules/.bin/node", "--disable-sigusr1", "-e", "const { PORT, TLS_CERT_FILE } = process.env; require(TLS_CERT_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: PORT, path: '/health/live', rejectUnauthorized: false }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# Process 1 is the service itself: it receives SIGTERM, and is the parent of every process that it starts.
ENTRYPOINT ["/opt/castellan/node_modules/.bin/node", "--disable-sigusr1", "--max-semi-space-size=8", "/opt/castellan/packages/cli/castellan.mjs"]
CMD ["serve"]
