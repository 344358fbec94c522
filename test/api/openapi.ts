export type Json = Record<string, unknown>;

export interface Reference {
  readonly $ref: string;
}

/** An answer that the document promises. */
export interface Answer {
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

/** A method of a path. */
export interface Operation {
  readonly tags: readonly string[];
  readonly parameters: readonly (Reference | { readonly name: string; readonly in: string; readonly schema: Json })[];
  readonly responses: Record<string, Answer | Reference>;
}

/** What tests read of the document at `/openapi.json`. */
export interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Json;
    readonly headers: Record<string, { readonly schema: Json }>;
    readonly responses: Record<string, Answer>;
  };
}
