import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditLog } from '../../../src/apiserver/audit/audit-log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { openAuditLog } from '../../../src/orchserver/open-audit.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'

const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - level: Metadata
`

export interface FileAudit {
  readonly log: AuditLog
  /** The number of events so far that the log could not accept. */
  readonly droppedEvents: () => number
}

/** Records both stages of every request, at the level Metadata, in a file of this folder. */
export async function openFileAudit(folder: string): Promise<FileAudit> {
  const policyFile = join(folder, 'policy.yaml')
  await writeFile(policyFile, POLICY)
  const outputs = {
    policyFile,
    logPath: join(folder, 'audit.log'),
    webhookConfigFile: '',
    logMaxMegabytes: 100,
    logMaxBackups: 1,
    logMaxAgeDays: 0,
  }
  let dropped = 0
  const log = await openAuditLog(outputs, {
    clock: systemClock,
    stdout: process.stdout,
    userAgent: 'bench',
    log: await createLogger({ verbosity: 0, pretty: false, stream: process.stderr }),
    observer: {
      recorded: () => undefined,
      dropped: (_output, events) => {
        dropped += events
      },
      failed: () => undefined,
    },
    onError: (error) => process.stderr.write(`bench: audit: ${String(error)}\n`),
  })
  return { log, droppedEvents: () => dropped }
}
