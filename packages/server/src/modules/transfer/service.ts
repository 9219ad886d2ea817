// Imports and exports users, roles and role groups, for the command line. No request can reach this code.
export { type ExportKind, exportRecords } from './export.ts';
export { pbkdf2Hash } from './hash-spellings.ts';
export { importRecords } from './record-import.ts';
export { importUsers } from './user-import.ts';
export { userRowFields } from './user-rows.ts';
export type { SourceRow, Verdict } from './verdict.ts';
