import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiClient } from '../../../src/client/http/api-client.ts'
import { MANY, SERVICES, SLICES } from '../../../src/dns/testing/golden-cluster.ts'
import { goldenQuestions } from '../../../src/dns/testing/golden-questions.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type JsonObject, stringAt } from '../../../src/lib/json.ts'
import { freePort } from '../../../src/lib/testing/free-port.ts'
import { type DigProgram, dig, digEach, type PrintedAnswer } from '../../support/dns/dig.ts'
import { type OrchDnsProcess, startOrchDns } from '../../support/dns/orch-dns-process.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'

/**
 * The whole table of golden questions, with dig and kdig, over UDP and TCP: of orch-dns beside an API server, and of
 * the API server itself.
 */
let held: AsyncDisposableStack
let server: OrchServerProcess
let own: number
let dns: OrchDnsProcess

beforeAll(async () => {
  held = new AsyncDisposableStack()
  own = await freePort()
  const shared = '--dns-server-address=127.0.0.1'
  server = held.use(
    await startOrchServer({
      flags: [
        '--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112',
        `--dns-address=127.0.0.1:${own}`,
        shared,
      ],
    }),
  )
  await makeObjects(server)
  const flags = [`--dns-address=127.0.0.1:${await freePort()}`, '--status-address=', shared]
  dns = held.use(await startOrchDns({ kubeconfig: server.kubeconfig, flags }))
})
afterAll(() => held.disposeAsync())

async function makeObjects({ connection }: OrchServerProcess): Promise<void> {
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  const make = async (path: string, object: unknown): Promise<void> => {
    const made = await client.create(path, object)
    if (!made.ok) throw new Error(`${path}: ${made.failure.message}`)
  }
  for (const name of ['shop', 'test']) await make('/api/v1/namespaces', { metadata: { name } })
  const folder = (object: unknown) =>
    `namespaces/${stringAt(object as JsonObject, 'metadata', 'namespace')}`
  for (const service of SERVICES) await make(`/api/v1/${folder(service)}/services`, service)
  const slices = '/apis/discovery.k8s.io/v1'
  for (const slice of SLICES) await make(`${slices}/${folder(slice)}/endpointslices`, slice)
  await client.close()
}

const WAYS: readonly [string, DigProgram, readonly string[]][] = [
  ['dig over UDP', 'dig', ['+notcp']],
  ['dig over TCP', 'dig', ['+tcp']],
  ['kdig over UDP', 'kdig', ['+notcp']],
  ['kdig over TCP', 'kdig', ['+tcp']],
]

describe.each(WAYS)('%s', (_, program, options) => {
  let answers: readonly PrintedAnswer[] = []
  beforeAll(async () => {
    answers = await digEach(program, dns.port, goldenQuestions(), ...options)
  })

  test.each(goldenQuestions().map((question, index) => ({ ...question, index })))(
    '$type $name',
    ({ type: _type, name: _name, index, ...expected }) => {
      const { flags, ...printed } = answers[index]!
      expect(printed).toEqual(expected)
      if (expected.status !== 'REFUSED') expect(flags).toContain('aa')
    },
  )
})

test('the API server answers as orch-dns does', async () => {
  const answers = await digEach('dig', own, goldenQuestions())
  for (const [index, { type, name, ...expected }] of goldenQuestions().entries()) {
    const { flags: _, ...printed } = answers[index]!
    expect({ type, name, ...printed }).toEqual({ type, name, ...expected })
  }
})

test.each<DigProgram>(['dig', 'kdig'])(
  '%s comes back over TCP for the 200 endpoints that a datagram cannot hold',
  async (program) => {
    const question = { type: 'A', name: 'many.shop.svc.cluster.local' }
    const cut = await dig(program, dns.port, question, '+ignore')
    expect(cut.flags).toContain('tc')
    expect(cut.answers.length).toBeGreaterThan(20)
    const whole = await dig(program, dns.port, question)
    expect(new Set(whole.answers).size).toBe(MANY)
    expect(whole.flags).not.toContain('tc')
  },
)
