// The personal access tokens of a user, below their sessions. Ends one: nobody but the user can make one.
import type { User } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { TokenList } from '../../../components/personal-tokens/TokenList.tsx';
import { call, reading } from '../../../data/api.ts';
import { later } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';

type Props = {
  user: User;
  /** Why the person may not act on this user; null if they may. */
  reason: string | null;
};

export function TokensPart({ user, reason }: Props): ReactElement {
  const texts = later.personalTokens;
  const query = useQuery(reading('GET /api/v1/users/{user_id}/tokens', { path: { user_id: user.id } }));
  const tokens = query.data?.data;
  return (
    <section className="pane-section" aria-labelledby="user-tokens">
      <h3 id="user-tokens" className="section-title">
        {texts.title}
      </h3>
      <ReadErrors of={[query]} />
      {!tokens && !query.error && <LoadingLines />}
      {tokens && <p className="muted">{tokens.length === 0 ? texts.ofUser.empty : texts.ofUser.text}</p>}
      {tokens && tokens.length > 0 && (
        <TokenList
          tokens={tokens}
          end={({ id }) =>
            call('DELETE /api/v1/users/{user_id}/tokens/{token_id}', {
              path: { user_id: user.id, token_id: id },
            })
          }
          endButton={(_token, ask) => (
            <ActionButton reason={reason} isDangerous onClick={ask}>
              {texts.end}
            </ActionButton>
          )}
        />
      )}
    </section>
  );
}
