// The face of the module: what the command line and the restore of a database use.
export { type Ended, type RestoreChoices, settleRestored } from './after-restore.ts';
export { isEmptyDatabase } from './catalog-store.ts';
export { type BackupContents, checkedParts, verifyBackup } from './check.ts';
export { BackupError } from './faults.ts';
export { type Header, packed } from './format.ts';
export { type Loaded, loadTables } from './load.ts';
export { type BackupResult, backupFrames, type Progress } from './write.ts';
