#!/bin/sh
# Makes the secrets of compose.yaml in ./secrets. Keeps those that exist: a new SECRET_KEY would end every session.
set -eu
umask 077
mkdir -p secrets
is_missing() { [ ! -s "secrets/$1" ]; }

if is_missing secret-key; then openssl rand -base64 48 > secrets/secret-key; fi
if is_missing first-superuser-password; then openssl rand -base64 18 > secrets/first-superuser-password; fi
if is_missing postgres-password; then openssl rand -hex 24 > secrets/postgres-password; fi
password=$(cat secrets/postgres-password)
if is_missing database-url; then echo "postgres://castellan:$password@postgres:5432/castellan" > secrets/database-url; fi
# Readable in the containers, whose users are others. On this machine the folder keeps everybody else out.
chmod 0444 secrets/*
echo "Sign in as admin@example.com with the password in secrets/first-superuser-password."
