// Says what a test needs that this machine does not have.

/** Returns the reason to skip a test, or undefined. In CI, nothing is skipped: the test runs and fails. */
export const missingPackages = (isThere: boolean, packages: string): string | undefined =>
  isThere || process.env.CI ? undefined : `apt-get install ${packages}`;
