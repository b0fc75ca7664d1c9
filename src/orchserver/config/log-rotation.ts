import type { AuditConfiguration } from './configuration.ts'

/** How the file of the audit log is rotated. */
export type LogRotation = Pick<
  AuditConfiguration,
  'logMaxMegabytes' | 'logMaxBackups' | 'logMaxAgeDays'
>

/** Uses at most 1.1 GB of disk. */
export const DEFAULT_ROTATION: LogRotation = {
  logMaxMegabytes: 100,
  logMaxBackups: 10,
  logMaxAgeDays: 0,
}

/** Whether the rotation differs from the default. */
export function isRotationSet(rotation: LogRotation): boolean {
  const names = ['logMaxMegabytes', 'logMaxBackups', 'logMaxAgeDays'] as const
  return names.some((name) => rotation[name] !== DEFAULT_ROTATION[name])
}
