// What every page of people who are not signed in is made of: frame, notice, fields, button.
import type { PasswordRule } from '@castellan/sdk';
import {
  type FormEvent,
  type InputHTMLAttributes,
  type ReactElement,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { formatIn } from '../common/format.ts';
import { language, languages, switchLanguage } from '../common/language.ts';
import { PasswordChecklist } from '../common/PasswordChecklist.tsx';
import { addressOf, logoWidth, pageSettings } from '../common/page-settings.ts';
import { client, fieldMessage, reasonsOf, sentenceOf } from './client.ts';
import { t } from './text.ts';
import type { Work } from './work.ts';

export type NoticeContent = {
  kind: 'good' | 'error';
  text: string;
  list?: readonly string[];
  requestId?: string | null;
  /** Leaves the focus where it is: in a field that the notice describes. */
  isQuiet?: boolean;
};

/** The id of the line that says what happened. Fields that it is about are described by it. */
export const STATUS_ID = 'status';

/** Returns the notice of a failure; null without one. Broken rules of a password are listed. */
export function noticeOf(error: unknown, rules: readonly PasswordRule[] = []): NoticeContent | null {
  if (!error) return null;
  const list = reasonsOf(error).map((reason) => {
    const rule = rules.find(({ message }) => message === reason);
    return rule ? t.checklist.rule(rule) : reason;
  });
  return { kind: 'error', text: sentenceOf(error), list };
}

type FrameProps = {
  title: string;
  notice?: NoticeContent | null;
  /** The heading takes the focus when it changes, so that screen readers and keyboards begin there. */
  step?: string | undefined;
  children?: ReactNode;
};

/** The operator's brand, the heading, what happened, the content, and the languages. */
export function Frame({ title, notice = null, step, children }: FrameProps): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${pageSettings.serviceName}`;
  }, [title]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a notice that comes with a step has the focus
  useEffect(() => {
    // Not from a field in which somebody types already.
    if (step !== undefined && !notice && !document.activeElement?.matches('input')) heading.current?.focus();
  }, [step]);
  return (
    <>
      <main>
        <p className="brand">
          {pageSettings.hasLogo ? (
            <img src={addressOf('/brand/logo')} alt="" width={logoWidth(36)} height={36} />
          ) : (
            <Shield />
          )}
          <span data-raw>{pageSettings.serviceName}</span>
        </p>
        <h1 tabIndex={-1} ref={heading}>
          {title}
        </h1>
        <div role="status" id={STATUS_ID}>
          {notice && <Notice {...notice} />}
        </div>
        {children}
      </main>
      <Languages />
    </>
  );
}

const Shield = (): ReactElement => (
  <svg viewBox="0 0 28 28" width={32} height={32} aria-hidden="true">
    <rect width="28" height="28" rx="7" fill="var(--accent)" />
    <path fill="var(--accent-contrast)" d="M14 5l7 2.6v5.6c0 4.6-2.9 7.9-7 9.8-4.1-1.9-7-5.2-7-9.8V7.6z" />
  </svg>
);

/** Takes the focus, so that screen readers read it and keyboards go on from it. */
function Notice({ kind, text, list = [], isQuiet = false }: NoticeContent): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const content = [kind, text, ...list].join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: another notice takes the focus again
  useEffect(() => {
    if (!isQuiet) box.current?.focus();
  }, [content, isQuiet]);
  return (
    <div className={`notice ${kind}`} tabIndex={-1} ref={box}>
      <p>{text}</p>
      {list.length > 0 && (
        <ul>
          {list.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Languages(): ReactElement {
  return (
    <footer>
      <nav aria-label={t.languages}>
        {languages.map(({ tag, name }) => (
          <button
            key={tag}
            type="button"
            lang={tag}
            aria-current={tag === language ? 'true' : undefined}
            onClick={() => switchLanguage(tag)}
          >
            {name}
          </button>
        ))}
      </nav>
    </footer>
  );
}

type FieldProps = InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  error?: string | null;
  input?: RefObject<HTMLInputElement | null>;
};

export function Field({ label, error = null, input: ref, ...input }: FieldProps): ReactElement {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        ref={ref}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        {...input}
      />
      {error && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type EmailProps = {
  value: string;
  onChange: (email: string) => void;
  error?: unknown;
  /** Where the field is what people come for. */
  hasFocus?: boolean;
  /** Lets the browser suggest passkeys, too. */
  hasPasskeys?: boolean;
};

export const EmailField = ({
  value,
  onChange,
  error,
  hasFocus = false,
  hasPasskeys = false,
}: EmailProps): ReactElement => (
  <Field
    label={t.email}
    name="email"
    type="email"
    autoComplete={hasPasskeys ? 'username webauthn' : 'username'}
    inputMode="email"
    autoFocus={hasFocus}
    required
    maxLength={254}
    value={value}
    error={fieldMessage(error, 'email')}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);

/** Names the account of a mailed link, also to password managers. */
export const AccountField = ({ email }: { email: string }): ReactElement => (
  <Field label={t.email} name="email" type="email" autoComplete="username" readOnly value={email} />
);

type PasswordProps = {
  label: string;
  value: string;
  onChange: (password: string) => void;
  autoComplete: 'current-password' | 'new-password';
  /** Of a new password. */
  rules?: readonly PasswordRule[];
  /** The last failure; its broken rules are marked until the password changes. */
  error?: unknown;
};

/** A password that can be shown. With `rules`, each is marked while one types. */
export function PasswordField({ label, value, error, rules = [], ...props }: PasswordProps): ReactElement {
  const id = useId();
  const [isShown, setShown] = useState(false);
  const refused = useRefused(error, value);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <span className="password">
        <input
          id={id}
          name="password"
          type={isShown ? 'text' : 'password'}
          autoComplete={props.autoComplete}
          autoCapitalize="none"
          spellCheck={false}
          required
          value={value}
          aria-invalid={refused.length > 0 ? true : undefined}
          aria-describedby={rules.length > 0 ? `${id}-rules` : undefined}
          onChange={(event) => props.onChange(event.currentTarget.value)}
        />
        <button
          type="button"
          className="reveal"
          aria-pressed={isShown}
          aria-label={t.checklist.show}
          onClick={() => setShown(!isShown)}
        >
          <Eye isOpen={isShown} />
        </button>
      </span>
      <PasswordChecklist
        id={`${id}-rules`}
        rules={rules}
        password={value}
        refused={refused}
        texts={t.checklist}
      />
    </div>
  );
}

/** Returns the sentences of the last refusal while the password is still the refused one. */
function useRefused(error: unknown, password: string): readonly string[] {
  const [refusal, setRefusal] = useState<{ error: unknown; password: string } | null>(null);
  if (error && refusal?.error !== error) setRefusal({ error, password });
  return refusal && refusal.error === error && refusal.password === password ? reasonsOf(error) : [];
}

const Eye = ({ isOpen }: { isOpen: boolean }): ReactElement => (
  <svg viewBox="0 0 24 24" width={20} height={20} aria-hidden="true">
    <g fill="none" stroke="currentColor" strokeWidth={1.8} strokeLinecap="round">
      <path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z" />
      <circle cx="12" cy="12" r="3" />
      {isOpen && <path d="M4 4l16 16" />}
    </g>
  </svg>
);

/** Returns the rules of the service for new passwords; none until they are known, and none if they cannot be read. */
export function usePasswordRules(isNeeded = true): readonly PasswordRule[] {
  const [rules, setRules] = useState<readonly PasswordRule[]>([]);
  useEffect(() => {
    if (!isNeeded) return;
    const abort = new AbortController();
    // Without the rules, the service still tells which of them a password breaks.
    client.auth.passwordPolicy({ signal: abort.signal }).then(
      (policy) => setRules(policy.rules),
      () => undefined,
    );
    return () => abort.abort();
  }, [isNeeded]);
  return rules;
}

type FormProps = {
  work: Work;
  submit: string;
  /** What the button says while the work goes on. */
  working?: string;
  /** What it says until another attempt makes sense. */
  waiting?: (wait: string) => string;
  isSecondary?: boolean;
  children?: ReactNode;
};

/** The button says how long to wait where the service asks for it, and what is going on. */
export function Form({
  work,
  submit,
  working = t.working,
  waiting = t.waiting,
  isSecondary = false,
  children,
}: FormProps): ReactElement {
  const { isPending, wait } = work;
  const form = useRef<HTMLFormElement>(null);
  const onSubmit = (event: FormEvent): void => work.onSubmit(event);
  return (
    <form ref={form} onSubmit={onSubmit}>
      {children}
      <button
        type="submit"
        className={isSecondary ? 'secondary' : undefined}
        aria-disabled={isPending || wait > 0 ? true : undefined}
      >
        {isPending ? working : wait > 0 ? waiting(formatIn(wait)) : submit}
      </button>
    </form>
  );
}

/** What is left to do after a page has done its work: sign in, or go to the operator's app. */
export const Onward = ({ signIn = true }: { signIn?: boolean }): ReactElement => (
  <p className="onward">
    {signIn && (
      <a className="button" href={addressOf('/login')}>
        {t.toSignIn}
      </a>
    )}
    {pageSettings.appUrl && (
      <a className={signIn ? 'button secondary' : 'button'} href={pageSettings.appUrl}>
        {t.continue}
      </a>
    )}
  </p>
);
