import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Lab } from '../../support/lab/lab.ts'
import { type LabProcess, startProcess } from '../../support/lab/process.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { writeMonitoringUser } from '../../support/prometheus/monitoring-user.ts'

const CONFIG = new URL('../../../config/prometheus', import.meta.url).pathname
const CA = '/var/lib/orch-server/pki/ca.crt'
const CERT = '/etc/prometheus/orch-server.crt'
const KEY = '/etc/prometheus/orch-server.key'
const ADDRESS = '127.0.0.1:9090'

const lab = useLab({ api: 'orch-server' })
let prometheus: LabProcess

beforeAll(async () => {
  prometheus = startProcess(lab().node.namespace, [
    'prometheus',
    `--config.file=${await scratchConfiguration(lab())}`,
    `--storage.tsdb.path=${join(lab().folder, 'prometheus-data')}`,
    `--web.listen-address=${ADDRESS}`,
  ])
  await prometheus.said('Server is ready to receive web requests')
})

afterAll(async () => {
  prometheus.signal('SIGKILL')
  await prometheus.ended
})

/** The committed files; only the paths of certificates are the lab's, and the interval shorter. */
async function scratchConfiguration({ folder }: Lab): Promise<string> {
  const copy = join(folder, 'prometheus')
  mkdirSync(copy)
  cpSync(CONFIG, copy, { recursive: true })
  const file = join(copy, 'prometheus.yaml')
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(CA)
  const { ca_file, cert_file, key_file } = await writeMonitoringUser(
    join(folder, 'orch-server/pki'),
    copy,
  )
  const ours = text.replace(CA, ca_file).replace(CERT, cert_file).replace(KEY, key_file)
  writeFileSync(file, ours.replaceAll('15s', '1s'))
  return file
}

/** What Prometheus returns for an instant query: label values of `label`, with the sample. */
async function query(expression: string, label: string): Promise<Record<string, string>> {
  const url = `http://${ADDRESS}/api/v1/query?query=${encodeURIComponent(expression)}`
  const { body } = await lab().node.agent.call('http', { url })
  const answer = JSON.parse(body) as {
    data: { result: { metric: Record<string, string>; value: [number, string] }[] }
  }
  return Object.fromEntries(
    answer.data.result.map(({ metric, value }) => [metric[label] ?? '', value[1]]),
  )
}

test('a real Prometheus scrapes both programs with the committed configuration', async () => {
  const both = { 'node-proxy': '1', 'orch-server': '1' }
  await expect.poll(() => query('up', 'job')).toEqual(both)
  expect(await query('nodeproxy_mode_info', 'mode')).toEqual({ iptables: '1' })
  expect(Object.keys(await query('sum by (job) (apiserver_request_total)', 'job'))).toEqual([
    'orch-server',
  ])
})

test('it loads every alert, and an alert fires for a daemon that is gone', async () => {
  const { body } = await lab().node.agent.call('http', { url: `http://${ADDRESS}/api/v1/rules` })
  const { data } = JSON.parse(body) as { data: { groups: { name: string }[] } }
  expect(data.groups.map(({ name }) => name).toSorted()).toEqual([
    'api-requests',
    'dns-questions',
    'error-budget-alerts',
    'error-budgets',
    'error-budgets-long',
    'node-proxy',
    'orch-dns',
    'orch-server',
    'programming-latency',
  ])
  expect(body).not.toContain('"health":"err"')
  lab().daemon.signal('SIGTERM')
  const pending = () => query('ALERTS{alertname="NodeProxyDown"}', 'job')
  await expect.poll(pending).toEqual({ 'node-proxy': '1' })
})
