import { expect, test } from 'vitest'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import { createAttacker } from '../support/hostile/attacker.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const SERVICES = '/api/v1/namespaces/default/services'

/** The results of many requests at once, sent to several servers in turn. */
async function race(servers: readonly OrchServerProcess[], spec: object): Promise<number[]> {
  const clients = await Promise.all(servers.map(createAttacker))
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const body = JSON.stringify({ metadata: { generateName: 'racer-' }, spec })
      return clients[index % clients.length]!.call('POST', SERVICES, { body })
    }),
  )
  return answers.map(({ status }) => status).toSorted((a, b) => a - b)
}

const RACES = [
  { type: 'NodePort', ports: [{ port: 80, nodePort: 30_123 }] },
  { clusterIP: '10.96.9.9', ports: [{ port: 80 }] },
]
const ONE_WINS = [201, ...Array.from({ length: 19 }, () => 422)]

test('of 20 writers one wins', async () => {
  await using server = await startOrchServer()
  for (const spec of RACES) expect(await race([server], spec)).toEqual(ONE_WINS)
})

test.runIf(hasEtcd())('of 20 writers on two servers with one etcd one wins', async () => {
  await using etcd = await startEtcd()
  const flags = [`--etcd-servers=${etcd.endpoint}`]
  await using one = await startOrchServer({ flags })
  await using other = await startOrchServer({ flags })
  for (const spec of RACES) expect(await race([one, other], spec)).toEqual(ONE_WINS)
})
