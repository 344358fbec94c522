/**
 * Most bytes of a request's message on every transport: an HTTP/1.1 body, or a gRPC message after decompression. A
 * plant at its limits has 25 KiB of JSON with everything escaped, and 9 KiB in protobuf. Up to this size, a message
 * that is too long gets an error that names the field.
 */
export const MAX_MESSAGE = 64 * 1024;
