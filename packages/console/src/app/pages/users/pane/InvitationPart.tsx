// The invitation of a user who has yet to accept it: when it was sent, when its link ends, and the acts on it.
import type { InvitationState, User } from '@castellan/sdk';
import { IconMail, IconMailX } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { Moment } from '../../../components/text/time.tsx';
import { t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import type { Act } from '../dialogs/ActDialog.tsx';
import type { UserRules } from '../rules.ts';

type Props = {
  user: User;
  /** Null until it is read. */
  invitation: InvitationState | null;
  rules: UserRules;
  onAct: (act: Act) => void;
};

export function InvitationPart({ user, invitation, rules, onAct }: Props): ReactElement {
  const icon = { size: 16, 'aria-hidden': true };
  const { sent_at: sentAt = null, expires_at: expiresAt = null } = invitation ?? {};
  const hasEnded = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  return (
    <section className="pane-section" aria-labelledby="user-invitation">
      <h3 id="user-invitation" className="section-title">
        {t.users.invitation.title}
      </h3>
      <p className="muted">{hasEnded ? t.users.invitation.ended : t.users.invitation.waiting}</p>
      <dl className="facts">
        <div>
          <dt>{t.users.invitation.sent}</dt>
          <dd>{sentAt === null ? t.users.invitation.notSent : <Moment at={sentAt} />}</dd>
        </div>
        {expiresAt !== null && (
          <div>
            <dt>{hasEnded ? t.users.invitation.expired : t.users.invitation.expires}</dt>
            <dd>
              <Moment at={expiresAt} />
            </dd>
          </div>
        )}
      </dl>
      <div className="account-acts">
        <ActionButton
          reason={rules.edit ?? (user.is_active ? null : t.users.rules.inactive)}
          icon={<IconMail {...icon} />}
          onClick={() => onAct('inviteAgain')}
        >
          {t.users.acts.inviteAgain}
        </ActionButton>
        <ActionButton
          reason={rules.remove}
          icon={<IconMailX {...icon} />}
          isDangerous
          onClick={() => onAct('withdraw')}
        >
          {t.users.acts.withdraw}
        </ActionButton>
      </div>
    </section>
  );
}
