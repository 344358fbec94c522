const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Whether a value is a `traceparent` of version 00 (W3C Trace Context, section 3.2): 55 characters with a trace id and
 * a span id, neither of them all zeros.
 */
export const isTraceparent = (value: unknown): value is string => typeof value === 'string' && TRACEPARENT.test(value);
