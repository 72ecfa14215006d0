# All roles in one image; the command is the role (`docker run hookbay --help`).
# It needs no root, no capability and no writable file system.
#
#   docker build -t hookbay --build-arg VERSION=1.2.3 --build-arg REVISION=$(git rev-parse HEAD) .

FROM node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# What types, source maps and documents weigh is for people; a server reads none of them.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -iname 'readme*' -o -iname 'changelog*' \) -delete

FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY migrations migrations
COPY src src
RUN npm run build

FROM node:26-bookworm-slim
LABEL org.opencontainers.image.title="Hookbay" \
      org.opencontainers.image.description="Self-hosted webhook capture and inspection: a receipt means the capture is kept" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="node:26-bookworm-slim"
# It makes the image no smaller, but nothing here installs packages, and scanners find old ones in npm.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn*
ENV NODE_ENV=production
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
# By number: a kubelet cannot tell whether a name is root. The files are root's, so that no process can change them.
USER 65532:65532
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "dist/src/main.js", "healthcheck"]
# Node is process 1 and handles SIGTERM itself. More room for young objects: they are collected less often.
ENTRYPOINT ["node", "--max-semi-space-size=32", "dist/src/main.js"]
CMD ["api"]
# Last, so that a new version rebuilds nothing else.
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.version="$VERSION" org.opencontainers.image.revision="$REVISION"
