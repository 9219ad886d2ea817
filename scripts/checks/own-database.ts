// Gives a check a separate empty database, and drops it afterwards.
// It must not touch another database of the server.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { chosenServer, holdServer } from '../test/server.ts';

/** Runs `work` with the URL of a new database on the server that the arguments choose: see `chosenServer`. */
export async function onOwnDatabase<T>(
  args: readonly string[],
  prefix: string,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const server = await holdServer(chosenServer(args));
  const admin = new pg.Client(server.adminUrl);
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  try {
    await admin.connect();
    await admin.query(`create database ${name}`);
    const url = new URL(server.adminUrl);
    url.pathname = `/${name}`;
    try {
      return await work(url.href);
    } finally {
      await admin.query(`drop database ${name} with (force)`);
    }
  } finally {
    await admin.end();
    await server.release();
  }
}
