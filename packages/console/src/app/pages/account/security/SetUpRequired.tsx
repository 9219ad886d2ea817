// Shows instead of the account while the service demands a second factor before everything else.
import { type ReactElement, useSyncExternalStore } from 'react';
import { pageSettings } from '../../../../common/page-settings.ts';
import { factorRequirement } from '../../../data/requirement.ts';
import { later } from '../../../text.ts';
import { RequiredFactors } from './Security.tsx';
import type { ShowCodes } from './show-codes.ts';

export function SetUpRequired({ onCodes }: { onCodes: ShowCodes }): ReactElement {
  const texts = later.secondFactors.required;
  const missing = useSyncExternalStore(factorRequirement.subscribe, factorRequirement.current);
  const isPasskey = missing?.isPasskey ?? false;
  const text = isPasskey ? texts.textPasskey : texts.text;
  return (
    <section className="panel must-change" aria-labelledby="must-set-up">
      <h2 className="section-title" id="must-set-up">
        {texts.title}
      </h2>
      <p>{text(pageSettings.serviceName)}</p>
      <RequiredFactors isPasskey={isPasskey} onCodes={onCodes} />
    </section>
  );
}
