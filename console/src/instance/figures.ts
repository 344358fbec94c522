// The figures of an instance as text for people.

/** A whole number. */
export const integer = (value: number): string => Math.round(value).toLocaleString('en');

/** A number for each second. */
export const rate = (value: number): string => `${value < 10 ? Number(value.toFixed(1)) : integer(value)}/s`;
/** A share of 1. */
export const percent = (value: number): string => `${Math.round(value * 100)} %`;
const KIB = 1024;
/** A number of bytes. */
export const size = (bytes: number): string =>
  bytes < KIB * KIB ? `${integer(bytes / KIB)} KiB` : `${integer(bytes / KIB / KIB)} MiB`;

/** The time since a start, in seconds. */
export function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 1 ? 'less than a minute' : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
