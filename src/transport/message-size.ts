/**
 * Most bytes of a request's message, on every door: a body over HTTP/1.1, a message of gRPC once it is unpacked. A plant at its limits
 * has 25 KiB of JSON with everything escaped, and 9 KiB in protobuf; what is larger, up to here, is told which field is wrong.
 */
export const MAX_MESSAGE = 64 * 1024;
