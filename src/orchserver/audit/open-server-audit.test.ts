import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requestForPath } from '../../apiserver/audit/testing/audited.ts'
import { systemClock } from '../../lib/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createProcessMetrics } from '../metrics/process-metrics.ts'
import { newFolder } from '../testing/new-folder.ts'
import { openServerAudit } from './open-server-audit.ts'

test('metrics count events, failed attempts and losses, by level and by output', async () => {
  const folder = newFolder()
  const [policyFile, webhookConfigFile] = [join(folder, 'policy'), join(folder, 'webhook')]
  const rule = '{level: Metadata, omitStages: [ResponseComplete]}'
  writeFileSync(policyFile, `apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [${rule}]\n`)
  const nowhere = { name: 'c', cluster: { server: 'http://127.0.0.1:1' } }
  const context = { name: 'c', context: { cluster: 'c' } }
  const config = { 'current-context': 'c', contexts: [context], clusters: [nowhere] }
  writeFileSync(webhookConfigFile, JSON.stringify(config))
  const processMetrics = createProcessMetrics()
  const records: string[] = []
  const stream = { write: (line: string) => void records.push(line) }
  const log = await createLogger({ verbosity: 0, pretty: false, stream })
  const audit = await openServerAudit(
    {
      policyFile,
      webhookConfigFile,
      logPath: join(folder, 'audit.log'),
      logMaxMegabytes: 1,
      logMaxBackups: 0,
      logMaxAgeDays: 0,
    },
    { clock: systemClock, log, version: '1', processMetrics },
  )
  audit.begin(requestForPath('get /a'))
  audit.begin(requestForPath('get /b'))
  await audit.close()
  const lines = (await processMetrics.text()).split('\n').filter((line) => /^\w+_audit_/.test(line))
  expect(lines).toEqual([
    'orchserver_audit_events_total{level="Metadata"} 2',
    'orchserver_audit_events_dropped_total{output="webhook"} 2',
    'orchserver_audit_delivery_failures_total{output="webhook"} 1',
  ])
  expect(records.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'audit events could not be delivered',
    'audit events are lost: too many were waiting, or the receiver did not accept them',
  ])
})
