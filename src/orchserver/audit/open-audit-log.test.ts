import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { requestForPath } from '../../apiserver/audit/testing/audited.ts'
import { systemClock } from '../../lib/clock.ts'
import { newFolder } from '../testing/new-folder.ts'
import { type AuditContext, openAuditLog } from './open-audit-log.ts'

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
