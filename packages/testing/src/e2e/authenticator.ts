// An authenticator that Chromium emulates (the WebAuthn domain of its DevTools protocol). Browser, pages and service
// do what they do with a real one. It must not be used at other origins than those of localhost: browsers have no passkeys there.
import type { CDPSession, Page } from 'playwright-core';

const credentialsOf = async (cdp: CDPSession, authenticatorId: string) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

type Credential = Awaited<ReturnType<typeof credentialsOf>>[number];

/** `device`: discoverable, and verifies its user. `key`: neither, as the keys that came before passkeys. */
const kinds = {
  device: {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  },
  key: { protocol: 'u2f', transport: 'usb' },
} as const;

export type Authenticator = {
  credentials(): Promise<Credential[]>;
  /** Takes credentials of another authenticator. */
  take(credentials: readonly Credential[]): Promise<void>;
  /** Whether the person touches it when they are asked to. At first, they do. */
  touch(isTouched: boolean): Promise<void>;
  /** Whether it recognizes the person. At first, it does. */
  recognize(isRecognized: boolean): Promise<void>;
  /** Sets the counter of its credentials, as a copy of it would have it. */
  count(signCount: number): Promise<void>;
};

/** Gives the tab an authenticator. */
export async function plugIn(page: Page, kind: keyof typeof kinds = 'device'): Promise<Authenticator> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...kinds[kind], automaticPresenceSimulation: true },
  });
  const credentials = () => credentialsOf(cdp, authenticatorId);
  return {
    credentials,
    touch: async (enabled) => {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
    },
    recognize: async (isUserVerified) => {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    take: async (others) => {
      for (const credential of others)
        await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
    count: async (signCount) => {
      for (const credential of await credentials()) {
        const { credentialId } = credential;
        await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
        await cdp.send('WebAuthn.addCredential', {
          authenticatorId,
          credential: { ...credential, signCount },
        });
      }
    },
  };
}
