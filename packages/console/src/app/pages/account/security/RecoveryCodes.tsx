// How many recovery codes are left, and new ones.
import type { RecoveryCodesState } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { later } from '../../../text.ts';
import { Factor } from './Factor.tsx';
import type { ShowCodes } from './show-codes.ts';

/** From so few left on, the page asks for new ones. */
const FEW = 3;

type Props = { codes: RecoveryCodesState; onCodes: ShowCodes };

export function RecoveryCodes({ codes, onCodes }: Props): ReactElement {
  const texts = later.secondFactors.codes;
  const [isAsking, setAsking] = useState(false);
  const make = useWrite(
    () => call('POST /api/v1/auth/factors/recovery-codes', {}),
    ({ data }) => {
      setAsking(false);
      onCodes(data.recovery_codes);
    },
  );
  return (
    <Factor
      title={texts.title}
      actions={
        <Button
          size="xs"
          variant="default"
          onClick={() => setAsking(true)}
          aria-label={`${texts.title}: ${texts.make}`}
        >
          {texts.make}
        </Button>
      }
    >
      <p>
        {codes.left <= FEW ? (
          <>
            <Tag tone="warn">{texts.left(codes.left)}</Tag> {texts.few}
          </>
        ) : (
          texts.left(codes.left)
        )}
      </p>
      <p className="muted">{texts.help}</p>
      {isAsking && (
        <ConfirmDialog
          title={texts.makeTitle}
          confirmLabel={texts.make}
          isPending={make.isPending}
          error={make.error}
          onConfirm={() => make.run(undefined)}
          onClose={() => setAsking(false)}
        >
          <p>{texts.makeText}</p>
        </ConfirmDialog>
      )}
    </Factor>
  );
}
