// Counts the checks of second factors in this process, for the metrics. It must not name an account.
import type { FactorMethod } from '@castellan/contract/authentication';

export type CheckResult = 'accepted' | 'wrong' | 'used' | 'locked';

export type FactorChecks = {
  count(method: FactorMethod, result: CheckResult): void;
  all(): { method: FactorMethod; result: CheckResult; checks: number }[];
};

export function createFactorChecks(): FactorChecks {
  const counts = new Map<FactorMethod, Map<CheckResult, number>>();
  return {
    count(method, result) {
      const ofMethod = counts.get(method) ?? new Map<CheckResult, number>();
      ofMethod.set(result, (ofMethod.get(result) ?? 0) + 1);
      counts.set(method, ofMethod);
    },
    all: () =>
      [...counts].flatMap(([method, ofMethod]) =>
        [...ofMethod].map(([result, checks]) => ({ method, result, checks })),
      ),
  };
}
