// The factors of accounts: their state, their codes, and the sign-ins that wait for one.
// It starts no session: modules/auth does.
export { clearCodeFailures } from './attempts-store.ts';
export { createFactorChecks, type FactorChecks } from './checks.ts';
export {
  type CodeDeps,
  judgeCode,
  type PreparedCode,
  prepareRecoveryCode,
  resultOf,
  totpCodeIn,
  type Verdict,
} from './codes.ts';
export {
  type FreshnessDeps,
  requireContext,
  requireFresh,
  stepUpRequired,
} from './freshness.ts';
export { methodsOf } from './methods.ts';
export {
  judgePasskey,
  type PasskeyDeps,
  type PasskeyVerdict,
  type PreparedPasskey,
  preparePasskey,
} from './passkeys/proofs.ts';
export { askablePasskeys, type PasskeyRequest, passkeyRequest } from './passkeys/requests.ts';
export {
  countPasskeys,
  deletePasskey,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  renamePasskey,
  useChallenge,
} from './passkeys/store.ts';
export {
  completePending,
  deleteExpiredPending,
  endPendingOf,
  failPending,
  findPending,
  hashOf,
  holdProviderOf,
  openPending,
  readPending,
  takeTry,
} from './pending-store.ts';
export { findShownFactors, type PresentationDeps, passkeyOf } from './presentation.ts';
export {
  beginRecovery,
  deleteAllFactors,
  endRecovery,
  isRecoveryPending,
  openClosedApp,
  type Removed,
} from './reset-store.ts';
export {
  areFactorsInUse,
  beginEnrolment,
  countEnrolmentFailure,
  deleteExpiredProofs,
  deleteRecoveryCodes,
  deleteTotp,
  endEnrolment,
  type FactorFacts,
  findFactorFacts,
  hasFactor,
  hasFactorOf,
  readEnrolment,
  replaceRecoveryCodes,
  saveTotp,
} from './store.ts';
export { strongestFactor } from './strength.ts';
export { createTotpVault, type TotpVault } from './totp-vault.ts';
