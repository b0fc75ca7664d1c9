import { AuditLog } from '../../apiserver/audit/audit-log.ts'
import type { Level } from '../../apiserver/audit/audit-policy.ts'
import { readAuditPolicy } from '../../apiserver/audit/read-policy.ts'
import type { SinkObserver } from '../../apiserver/audit/sinks/buffered-sink.ts'
import type { Clock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type AuditOutputs, type AuditProcess, openAuditSinks } from './open-sinks.ts'

export interface AuditSettings extends AuditOutputs {
  /** Empty: nothing is audited, and no output is opened. */
  readonly policyFile: string
}

/** Counts events, and those that are lost or fail. */
export interface AuditObserver extends SinkObserver {
  /** An event was made. */
  recorded(level: Level): void
}

export interface AuditContext extends AuditProcess {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly observer: AuditObserver
  readonly onError: (error: unknown) => void
}

/**
 * The audit log of a server, ready for its first request. Close it after the last listener.
 * @throws NP_APISERVER_AUDIT_POLICY, and what `openAuditSinks` throws
 */
export async function openAuditLog(
  settings: AuditSettings,
  { clock, log, observer, onError, ...process }: AuditContext,
): Promise<AuditLog> {
  const { policyFile } = settings
  const failures = new FailureLog({ clock, log })
  const context = { clock, random: systemRandom, observer, failures }
  const isOn = policyFile !== ''
  const policy = isOn ? await readAuditPolicy(policyFile) : { rules: [] }
  const sinks = isOn ? await openAuditSinks(settings, context, process) : []
  const onEvent = (level: Level): void => observer.recorded(level)
  return new AuditLog({ policy, sinks, clock, random: systemRandom, onEvent, onError })
}
