import { CastellanError } from '@castellan/sdk';
import type { FormEvent, ReactNode } from 'react';

export type Failure = { message: string; reasons: readonly string[] };

/** Returns what to show to people: the message of the service, with every wrong field and every broken password rule. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CastellanError)
    return {
      message: error.message,
      reasons: [...error.fields.map(({ message }) => message), ...error.reasons],
    };
  return {
    message: error instanceof Error ? error.message : 'Something went wrong. Try again.',
    reasons: [],
  };
}

/** Returns a submit handler that empties the form, or shows why the action failed. */
export const submit =
  (action: (values: Record<string, string>) => Promise<void>, show: (failure?: Failure) => void) =>
  async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
    show(undefined);
    try {
      await action(values);
      form.reset();
    } catch (error) {
      show(failureOf(error));
    }
  };

/** The fields of a form, with what was wrong above them. */
export function Fields({ failure, children }: { failure: Failure | undefined; children?: ReactNode }) {
  return (
    <>
      {failure && (
        <div role="alert">
          <p>{failure.message}</p>
          <ul>
            {failure.reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </div>
      )}
      {children}
    </>
  );
}

export function Field(props: { label: string; name: string; type?: string; autoComplete: string }) {
  const { label, ...input } = props;
  return (
    <label>
      {label}
      <input required {...input} />
    </label>
  );
}
