// Reads the files that a service names in its log: mails, and the password of the first superuser.
// It must not read any other file.
import { readFileSync } from 'node:fs';
import { watch } from '../secret-watch.ts';
import type { Child } from './child.ts';

/** Returns every mail that the service saved as a file so far, oldest first. */
export const mailsOf = (child: Child): string[] =>
  [...child.out().matchAll(/^\{.*"file":"([^"]+\.eml)".*\}$/gm)].map(([, file = '']) =>
    readFileSync(file, 'utf8'),
  );

/** Returns the passwords of the first superuser that the log refers to: one, unless the service misbehaves. */
export const passwordsOf = (child: Child): string[] =>
  [...child.out().matchAll(/The password of the first superuser is in (\S+?)\. /g)].map(([, file = '']) => {
    const password = readFileSync(file, 'utf8').trimEnd();
    watch.note(password, 'password of the first superuser');
    return password;
  });
