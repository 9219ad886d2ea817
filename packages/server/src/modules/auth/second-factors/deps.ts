// What the operations of second factors need.
import type { CodeDeps, FreshnessDeps } from '../../factors/service.ts';
import type { LoginDeps } from '../login.ts';

export type SecondFactorDeps = LoginDeps &
  CodeDeps &
  FreshnessDeps & {
    settings: {
      serviceName: string;
      /** Whether passkeys sign in without the password. */
      passkeySignIn: boolean;
      /** What can be set up. What is set up already is asked for whatever it says. */
      secondFactors: readonly ('totp' | 'passkey')[];
    };
  };
