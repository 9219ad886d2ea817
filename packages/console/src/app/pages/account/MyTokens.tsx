// The personal access tokens of the signed-in person: make one, which is shown once, and end one.
import type { NewPersonalToken } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { TokenList } from '../../components/personal-tokens/TokenList.tsx';
import { NewSecretDialog } from '../../components/secrets/NewSecretDialog.tsx';
import { SecretDialog } from '../../components/secrets/SecretDialog.tsx';
import { call, reading } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';

export function MyTokens({ titleId }: { titleId: string }): ReactElement {
  const texts = later.personalTokens;
  const { user } = useMe();
  const query = useQuery(reading('GET /api/v1/users/me/tokens', {}));
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<NewPersonalToken | null>(null);
  const tokens = query.data?.data;
  return (
    <>
      <h2 className="section-title" id={titleId}>
        {texts.title}
      </h2>
      {tokens && <p className="muted">{tokens.length === 0 ? texts.empty : texts.text}</p>}
      <ReadErrors of={[query]} />
      {!tokens && !query.error && <LoadingLines />}
      {tokens && tokens.length > 0 && (
        <TokenList
          tokens={tokens}
          end={({ id }) => call('DELETE /api/v1/users/me/tokens/{token_id}', { path: { token_id: id } })}
          endButton={({ name }, ask) => (
            <Button variant="default" size="xs" aria-label={texts.endOf(name)} onClick={ask}>
              {texts.end}
            </Button>
          )}
        />
      )}
      <div>
        <Button variant="default" onClick={() => setCreating(true)}>
          {texts.create}
        </Button>
      </div>
      {isCreating && (
        <NewSecretDialog
          texts={{
            create: texts.create,
            name: t.serviceAccounts.keys.name,
            nameHelp: texts.nameHelp,
            expires: texts.expires,
            expiresHelp: texts.expiresHelp,
          }}
          proposedEnd={inDays(PROPOSED_DAYS)}
          narrowing={{ texts: texts.narrowing, permissions: user.permissions }}
          make={({ expires_at = '', ...body }) =>
            call('POST /api/v1/users/me/tokens', { body: { ...body, expires_at } })
          }
          onClose={() => setCreating(false)}
          onMade={(token) => {
            setCreating(false);
            setMade(token);
          }}
        />
      )}
      {made && (
        <SecretDialog
          secret={made.token}
          name={made.name}
          texts={texts.secret}
          onClose={() => setMade(null)}
        />
      )}
    </>
  );
}

/** The end that the dialog proposes, in days from now. */
const PROPOSED_DAYS = 30;

const inDays = (days: number): string => {
  const end = new Date();
  end.setUTCDate(end.getUTCDate() + days);
  end.setUTCSeconds(0, 0);
  return end.toISOString();
};
