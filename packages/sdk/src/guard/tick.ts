type Waiting<Answer> = {
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
};

/** Browsers and some edge runtimes lack it. */
const immediate: unknown = Reflect.get(globalThis, 'setImmediate');

const unanswered = (): Error => new Error('a question got no answer');

/** Runs a function after everything that is ready to run now, so that requests which arrive together are seen together. */
const afterTick: (run: () => void) => void =
  typeof immediate === 'function' ? (run) => immediate(run) : (run) => setTimeout(run, 0);

/**
 * Returns a function that collects the questions of one tick and calls `answerAll` once with the distinct ones, to get a
 * promise for each. Only questions that were not sent yet are joined: an answer under way may be older than the question.
 * Asks each question by itself if `sharesWork` is false.
 */
export function oncePerTick<Question, Answer>(
  keyOf: (question: Question) => string,
  answerAll: (questions: readonly Question[]) => readonly Promise<Answer>[],
  sharesWork: boolean,
): (question: Question) => Promise<Answer> {
  if (!sharesWork) return async (question) => answerAll([question])[0] ?? Promise.reject(unanswered());
  let questions = new Map<string, { question: Question; waiting: Waiting<Answer>[] }>();

  function flush(): void {
    const all = [...questions.values()];
    questions = new Map();
    const answers = answerAll(all.map(({ question }) => question));
    for (const [index, { waiting }] of all.entries()) {
      const answer = answers[index] ?? Promise.reject(unanswered());
      for (const { resolve, reject } of waiting) answer.then(resolve, reject);
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      if (questions.size === 0) afterTick(flush);
      const key = keyOf(question);
      const entry = questions.get(key) ?? { question, waiting: [] };
      entry.waiting.push({ resolve, reject });
      questions.set(key, entry);
    });
}
