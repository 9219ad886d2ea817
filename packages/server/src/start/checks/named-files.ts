// Opens the files that settings name, as a start does, and closes them again: `castellan check-config` reports what is wrong with them.
// It must not keep anything open, nor show what a file contains.
import { checkBreachFile } from '../../modules/passwords/breach-file.ts';
import { SettingsError } from '../../platform/config/config.ts';
import { pairWarnings, readPair, type TlsFiles } from '../../platform/http/server/tls.ts';
import { errorMessage } from '../../platform/unknown-values.ts';

type Named = { tls: TlsFiles | null; passwordBreachFile: string | undefined };

/**
 * Checks the pair of TLS_CERT_FILE and TLS_KEY_FILE, and PASSWORD_BREACH_FILE. Returns warnings. Throws a SettingsError that lists every
 * problem with which the service would not start.
 */
export async function checkNamedFiles({ tls, passwordBreachFile }: Named): Promise<string[]> {
  const problems: string[] = [];
  const attempt = async <T>(check: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await check();
    } catch (error) {
      problems.push(...(error instanceof SettingsError ? error.problems : [errorMessage(error)]));
      return undefined;
    }
  };
  const warnings = tls && (await attempt(() => pairWarnings(tls, readPair(tls), new Date())));
  if (passwordBreachFile !== undefined) await attempt(() => checkBreachFile(passwordBreachFile));
  if (problems.length > 0) throw new SettingsError(problems);
  return warnings ?? [];
}
