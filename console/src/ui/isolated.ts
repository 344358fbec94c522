/** May be of another direction than the sentence, or change its direction. */
const FOREIGN = /[\u0590-\uffff]/;

/** The marks that set a direction for what follows (UAX #9): embeddings, overrides and isolates. */
const MARKS = /[\u202a-\u202e\u2066-\u2069]/g;

/** A text of a user for a sentence: shown by itself, so that it changes the direction of nothing around it. */
export const isolated = (text: string): string =>
  FOREIGN.test(text) ? `\u2068${text.replaceAll(MARKS, '')}\u2069` : text;
