import { getSystemErrorName } from 'node:util'

/** `EADDRINUSE` */
export function errnoName(errno: number): string {
  return errno > 0 ? getSystemErrorName(-errno) : 'unknown error'
}
