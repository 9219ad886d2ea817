// What is wrong with a backup, as its readers say it.

/** The file is no backup, is damaged, or was made by a newer version. Nothing can be restored from it. */
export class BackupError extends Error {
  override name = 'BackupError';
}

export const damaged = (how: string): BackupError =>
  new BackupError(`The backup is damaged: ${how}. Use another one.`);

export const cutOff = (): BackupError =>
  new BackupError('The backup is incomplete: its end is missing. Use another one.');
