import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { startEtcd } from '../../test/support/etcd/etcd-process.ts'
import { hasEtcd } from '../../test/support/etcd/has-etcd.ts'
import { loadKubeconfig } from '../client/kubeconfig.ts'
import { systemClock } from '../lib/clock.ts'
import { newFolder } from './fixtures.ts'

const PROGRAM = fileURLToPath(new URL('../../bin/orch-server', import.meta.url))
const PATH = '/api/v1/namespaces/default/services'
const SERVICE = { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } }

/** A server on a data directory, as soon as it says that it is ready. */
async function start(dataDir: string, ...flags: readonly string[]) {
  const args = [`--data-dir=${dataDir}`, '--secure-port=0', ...flags]
  const child = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const path = await kubeconfigOf(child)
  const { origin, tls } = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  const ca = (await tls!.material()).ca!
  const call = (method: string, url: string, body?: unknown) =>
    ask(method, origin + url, { ca, body })
  return { child, path, call }
}

async function kubeconfigOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const record = JSON.parse(line) as { msg: string; kubeconfig: string }
    if (record.msg === 'orch-server is ready') return record.kubeconfig
  }
  throw new Error('the server ended before it was ready')
}

async function ask(method: string, url: string, { ca, body }: { ca: string; body: unknown }) {
  const headers = { 'content-type': 'application/json' }
  const sent = request(url, { method, headers, ca, agent: false })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode, body: await json(answer) }
}

it('keeps over HTTPS what it acknowledged, also when it is killed, and closes its store', async () => {
  const dataDir = join(newFolder(), 'data')
  const first = await start(dataDir)
  expect(first.path).toBe(join(dataDir, 'admin.kubeconfig'))
  const made = await first.call('POST', PATH, SERVICE)
  expect(made.status).toBe(201)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')

  const second = await start(dataDir)
  const found = await second.call('GET', `${PATH}/web`)
  expect(found).toEqual({ status: 200, body: made.body })
  second.child.kill('SIGTERM')
  expect(await once(second.child, 'exit')).toEqual([0, null])
  expect(readdirSync(dataDir)).not.toContain('store.sqlite-wal')
})

it.runIf(hasEtcd())('shares it with another server on one etcd', async () => {
  await using etcd = await startEtcd()
  const folder = newFolder()
  const flags = [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/orch']
  const servers = await Promise.all(['a', 'b'].map((name) => start(join(folder, name), ...flags)))
  const made = await servers[0]!.call('POST', PATH, SERVICE)
  const found = await servers[1]!.call('GET', `${PATH}/web`)
  expect(found).toEqual({ status: 200, body: made.body })
})
