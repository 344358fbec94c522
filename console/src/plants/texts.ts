/**
 * The texts of a plant, for its form, columns and facts. Each is a member of the messages and of the client's Plant.
 */
export const TEXTS = [
  { name: 'name', title: 'Name' },
  { name: 'tag', title: 'Tag' },
] as const;

type TextName = (typeof TEXTS)[number]['name'];

/** The texts of a plant, those that are set. */
export type Texts = { readonly [Name in TextName]?: string | undefined };

/** The set texts of a value that has more, with their titles, in the order of columns. */
export const setTexts = (plant: Texts): { name: TextName; title: string; text: string }[] =>
  TEXTS.flatMap(({ name, title }) => {
    const text = plant[name];
    return text === undefined ? [] : [{ name, title, text }];
  });

/** The texts of a value that has more, by name. What is unset is no member. */
export const textsIn = <Value extends Texts>(plant: Value): Pick<Value, keyof Value & TextName> =>
  Object.fromEntries(setTexts(plant).map(({ name, text }) => [name, text])) as Pick<Value, keyof Value & TextName>;

/** What the form of a new plant has in each text: `''` where the plant has none. */
export const draftTexts = (plant: Texts): { readonly [Name in TextName]: string } =>
  Object.fromEntries(TEXTS.map(({ name }) => [name, plant[name] ?? ''])) as { readonly [Name in TextName]: string };
