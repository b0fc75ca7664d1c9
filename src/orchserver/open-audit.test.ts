import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { requestForPath } from '../apiserver/audit/testing/audited.ts'
import { systemClock } from '../lib/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { type AuditContext, openAuditLog, openServerAudit } from './open-audit.ts'
import { createProcessMetrics } from './system/process-metrics.ts'
import { newFolder } from './testing/new-folder.ts'

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

function scene() {
  const folder = newFolder()
  const policyFile = join(folder, 'policy.yaml')
  const logPath = join(folder, 'audit.log')
  const rules = 'rules: [{level: Metadata}]'
  writeFileSync(policyFile, `apiVersion: audit.orch.io/v1\nkind: Policy\n${rules}\n`)
  const counted: string[] = []
  const ignore = (): void => undefined
  const context: AuditContext = {
    clock: systemClock,
    log: { info: ignore, warn: ignore, error: ignore },
    observer: { recorded: (level) => void counted.push(level), dropped: ignore, failed: ignore },
    onError: ignore,
    stdout: new Writable(),
    userAgent: 'orch-server/1',
  }
  const kept = { logMaxMegabytes: 1, logMaxBackups: 0, logMaxAgeDays: 0 }
  return { settings: { policyFile, logPath, ...kept, webhookConfigFile: '' }, context, counted }
}

test('requests are written as the policy of the file requires', async () => {
  const { settings, context, counted } = scene()
  const audit = await openAuditLog(settings, context)
  const { auditId } = audit.begin(requestForPath('get /metrics'))
  await audit.close()
  const lines = readFileSync(settings.logPath, 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ auditID: auditId, stage: 'RequestReceived', verb: 'get' }),
  ])
  expect(counted).toEqual(['Metadata'])
})

test('without a policy nothing is audited, and no file is made', async () => {
  const { settings, context } = scene()
  const audit = await openAuditLog({ ...settings, policyFile: '' }, context)
  expect(audit.begin(requestForPath('get /metrics')).auditId).toBeUndefined()
  await audit.close()
  expect(existsSync(settings.logPath)).toBe(false)
})

test('a policy that cannot be used is refused before an output is opened', async () => {
  const { settings, context } = scene()
  writeFileSync(settings.policyFile, 'kind: Policy')
  await expect(openAuditLog(settings, context)).rejects.toMatchObject({
    code: 'NP_APISERVER_AUDIT_POLICY',
  })
  expect(existsSync(settings.logPath)).toBe(false)
})
