// Counts the checks of second factors in this process, for the metrics. It must not name an account.
import { type FactorMethod, factorMethods } from '@castellan/contract/authentication';

const results = ['accepted', 'wrong', 'used', 'locked'] as const;
export type CheckResult = (typeof results)[number];

export type FactorChecks = {
  count(method: FactorMethod, result: CheckResult): void;
  /** Every method and result, from 0 on, so that a rate sees the first check. */
  all(): { method: FactorMethod; result: CheckResult; checks: number }[];
};

export function createFactorChecks(): FactorChecks {
  const counts = factorMethods.flatMap((method) => results.map((result) => ({ method, result, checks: 0 })));
  return {
    count(method, result) {
      const counted = counts.find((one) => one.method === method && one.result === result);
      if (counted) counted.checks += 1;
    },
    all: () => counts,
  };
}
