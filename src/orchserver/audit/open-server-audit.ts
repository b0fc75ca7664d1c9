import type { AuditLog } from '../../apiserver/audit/audit-log.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { ProcessMetrics } from '../metrics/process-metrics.ts'
import { createFailureLog } from '../system/failure-log.ts'
import { type AuditObserver, type AuditSettings, openAuditLog } from './open-audit-log.ts'

export interface ServerAuditContext {
  readonly clock: Clock
  readonly log: Logger
  /** The version of this program, for the User-Agent. */
  readonly version: string
  readonly processMetrics: AuditMetrics
}

type AuditMetrics = Pick<ProcessMetrics, 'auditEvents' | 'auditDropped' | 'auditFailures'>

/**
 * The audit log of this process. Its events are counted in the metrics. Close it after the server.
 * @throws what `openAuditLog` throws
 */
export function openServerAudit(
  settings: AuditSettings,
  { clock, log, version, processMetrics }: ServerAuditContext,
): Promise<AuditLog> {
  return openAuditLog(settings, {
    clock,
    log,
    observer: countingObserver(processMetrics),
    onError: createFailureLog({ clock, log }, () => ({
      level: 'error',
      message: 'the audit log failed because of a bug',
    })),
    stdout: process.stdout,
    userAgent: `orch-server/${version} audit`,
  })
}

function countingObserver({
  auditEvents,
  auditDropped,
  auditFailures,
}: AuditMetrics): AuditObserver {
  return {
    recorded: (level) => auditEvents.inc({ level }),
    dropped: (output, events) => auditDropped.inc({ output }, events),
    failed: (output) => auditFailures.inc({ output }),
  }
}
