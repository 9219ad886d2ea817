/** The database cannot be used as it is, and a retry cannot help: the operator must act on the message. */
export class UnfitDatabaseError extends Error {
  override name = 'UnfitDatabaseError';
}
