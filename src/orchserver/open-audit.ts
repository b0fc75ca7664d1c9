import type { Writable } from 'node:stream'
import { AuditLog } from '../apiserver/audit/audit-log.ts'
import type { Level } from '../apiserver/audit/audit-policy.ts'
import { readAuditPolicy } from '../apiserver/audit/read-policy.ts'
import type {
  AuditSink,
  SinkContext,
  SinkObserver,
} from '../apiserver/audit/sinks/buffered-sink.ts'
import { openFileSink, streamSink } from '../apiserver/audit/sinks/file-sink.ts'
import { type PostEvents, webhookSink } from '../apiserver/audit/sinks/webhook-sink.ts'
import type { Connection } from '../client/connection/connection.ts'
import { loadKubeconfig } from '../client/connection/kubeconfig.ts'
import { noObserver } from '../client/http/client-observer.ts'
import { createTransport } from '../client/http/transport.ts'
import type { Clock } from '../lib/clock.ts'
import { NodeProxyError } from '../lib/error.ts'
import { systemRandom } from '../lib/random.ts'
import { FailureLog } from '../telemetry/failure-log.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createFailureLog } from './system/failure-log.ts'
import type { ProcessMetrics } from './system/process-metrics.ts'

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

const MAX_ANSWER = 64 << 10

const MIB = 2 ** 20

/** The outputs of audit events; an empty path disables an output. */
export interface AuditOutputs {
  /** A file, or `-`: standard output. */
  readonly logPath: string
  /** Size in MiB at which the file is rotated. */
  readonly logMaxMegabytes: number
  /** Number of rotated files that are kept; 0: all. */
  readonly logMaxBackups: number
  /** Days for which rotated files are kept; 0: for ever. */
  readonly logMaxAgeDays: number
  /** A kubeconfig that names the server to which events are posted. */
  readonly webhookConfigFile: string
}

export interface AuditProcess {
  readonly stdout: Writable
  readonly userAgent: string
}

/**
 * Opens the outputs that audit events are written to.
 * @throws NP_APISERVER_AUDIT_FILE, NP_CLIENT_KUBECONFIG and other codes of kubeconfigs
 */
export async function openAuditSinks(
  outputs: AuditOutputs,
  context: SinkContext,
  process: AuditProcess,
): Promise<readonly AuditSink[]> {
  const log = outputs.logPath === '' ? [] : [await openLog(outputs, context, process)]
  const webhook =
    outputs.webhookConfigFile === '' ? [] : [await openWebhook(outputs, context, process)]
  return [...log, ...webhook]
}

async function openLog(
  { logPath, logMaxMegabytes, logMaxBackups, logMaxAgeDays }: AuditOutputs,
  context: SinkContext,
  { stdout }: AuditProcess,
): Promise<AuditSink> {
  if (logPath === '-') return streamSink(context, stdout)
  const kept = { maxBackups: logMaxBackups, maxAgeDays: logMaxAgeDays }
  return openFileSink(context, { path: logPath, maxBytes: logMaxMegabytes * MIB, ...kept })
}

async function openWebhook(
  { webhookConfigFile }: AuditOutputs,
  context: SinkContext,
  { userAgent }: AuditProcess,
): Promise<AuditSink> {
  const { clock } = context
  const connection = await loadKubeconfig({ path: webhookConfigFile, master: undefined, clock })
  const poster = createEventsPoster(connection, userAgent, clock)
  const sink = webhookSink(context, poster.post)
  return {
    write: (line) => sink.write(line),
    async close() {
      await sink.close()
      await poster.close()
    },
  }
}

interface EventsPoster {
  readonly post: PostEvents
  close(): Promise<void>
}

/** Posts audit events to the server of a kubeconfig, at the path of its URL. Follows no redirect. */
export function createEventsPoster(
  connection: Connection,
  userAgent: string,
  clock: Clock,
): EventsPoster {
  const transport = createTransport({ connection, userAgent, clock, observer: noObserver })
  const path = connection.basePath === '' ? '/' : ''
  return {
    async post(body, signal) {
      const contentType = 'application/json'
      const sent = await transport.send({ method: 'POST', path, body, contentType, signal })
      if (!sent.ok) throw new NodeProxyError(sent.failure.errorCode, sent.failure.message)
      // The status code decides, even if the body of the response never arrives.
      await sent.value.body.dump({ limit: MAX_ANSWER }).catch(() => undefined)
      return sent.value.status
    },
    close: () => transport.close(),
  }
}
