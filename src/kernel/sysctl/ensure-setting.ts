import type { Logger } from '../../telemetry/logger.ts'
import type { Sysctl } from './sysctl.ts'

/** What `ensureSetting` works with. */
export interface EnsureParts {
  readonly sysctl: Sysctl
  readonly log: Logger
  /** For the log. */
  readonly why?: string
}

/** Writes a kernel setting if its value differs; if it cannot be written, a warning is logged. */
export function ensureSetting(
  path: string,
  value: string,
  { sysctl, log, why }: EnsureParts,
): void {
  const facts = { sysctl: path, value, ...(why !== undefined && { why }) }
  try {
    if (sysctl.ensure(path, value)) log.info(facts, 'set a kernel setting')
  } catch (error) {
    log.warn({ err: error, ...facts }, 'changing a kernel setting failed; it stays as it was')
  }
}
