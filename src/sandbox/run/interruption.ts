import type { SandboxOptions } from './arguments.ts'

/**
 * The exit code after a signal. A screen is there to be left; a tour that was
 * not finished has proved nothing.
 */
export function codeOfInterruption({ once }: SandboxOptions): number {
  return once ? 130 : 0
}
