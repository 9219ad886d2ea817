// The second factors of the signed-in user. Each change needs a fresh proof: see `auth.stepUp`.
import type { Factors, TotpEnrolment } from '../api.ts';
import type { CallOptions } from '../calls/operations.ts';
import type { AuthCalls, FactorsChange } from './auth-calls.ts';
import type { Ceremonies, OwnPasskeys } from './ceremonies.ts';

export type OwnFactorCalls = {
  get(options?: CallOptions): Promise<Factors>;
  /** Begins to set up an authenticator app. `uri` is for a QR code, `secret` for people who type it. Nothing changes yet. */
  setUpApp(options?: CallOptions): Promise<TotpEnrolment>;
  /** Ends the set-up with a code of the app. The first factor ends all other sessions and returns `recovery_codes`, once. */
  confirmApp(totp: string, options?: CallOptions): Promise<FactorsChange>;
  removeApp(options?: CallOptions): Promise<FactorsChange>;
  /** The passkeys and security keys. Throws a TypeError if the client has no option `passkeys`. */
  passkeys(): OwnPasskeys;
  /** Replaces the recovery codes. The former ones end. */
  newRecoveryCodes(options?: CallOptions): Promise<string[]>;
};

export const createFactors = (calls: AuthCalls, ceremonies: () => Ceremonies): OwnFactorCalls => ({
  get: (options) => calls.run('GET /api/v1/auth/factors', options),
  setUpApp: (options) => calls.run('POST /api/v1/auth/factors/totp', options),
  confirmApp: (totp, options) =>
    calls.renew('POST /api/v1/auth/factors/totp/confirm', { ...options, body: { totp } }),
  removeApp: (options) => calls.renew('DELETE /api/v1/auth/factors/totp', options),
  passkeys: () => ceremonies().own(calls),
  newRecoveryCodes: async (options) =>
    (await calls.run('POST /api/v1/auth/factors/recovery-codes', options)).recovery_codes,
});
