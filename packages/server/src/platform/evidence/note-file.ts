// Reads files of signed notes, one after the other with empty lines between them. A note that was cut off is skipped.
// It must not judge signatures.
import { type Checkpoint, NoteFormatError, readCheckpoint, readNote } from './signed-note.ts';

const SIGNATURE = '— ';

/** Yields the notes in order, each as `signNote` wrote it. Their texts must have no empty line, as those of checkpoints have none. */
export function* notesIn(text: string): Generator<string, void> {
  let lines: string[] = [];
  let isSigned = false;
  for (const line of text.split('\n')) {
    const isSignature = line.startsWith(SIGNATURE);
    if (isSigned && !isSignature) {
      yield `${lines.join('\n')}\n`;
      lines = [];
      isSigned = false;
    }
    // An empty line ends the text. Without a signature after it, the note was cut off.
    if (!isSignature && lines.at(-1) === '') lines = [];
    if (lines.length === 0 && (line === '' || isSignature)) continue;
    isSigned ||= isSignature && lines.at(-1) === '';
    lines.push(line);
  }
}

/** Returns the checkpoints in the text with their notes, in order. What is none is left out. */
export function* checkpointsIn(text: string): Generator<Checkpoint & { note: string }, void> {
  for (const note of notesIn(text)) {
    try {
      yield { ...readCheckpoint(readNote(note).text), note };
    } catch (error) {
      if (!(error instanceof NoteFormatError)) throw error;
    }
  }
}
