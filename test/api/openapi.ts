export type Json = Record<string, unknown>;

export interface Reference {
  readonly $ref: string;
}

/** An answer that the document promises. */
export interface Answer {
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

/** What tests read of the document at `/openapi.json`. */
export interface Document {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Answer | Reference> }>>;
  readonly components: {
    readonly schemas: Json;
    readonly headers: Record<string, { readonly schema: Json }>;
    readonly responses: Record<string, Answer>;
  };
}
