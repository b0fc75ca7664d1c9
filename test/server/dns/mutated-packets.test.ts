import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { framed } from '../../../src/dns/server/tcp-server.ts'
import { goldenQuestions } from '../../../src/dns/testing/golden-questions.ts'
import { mutated, seededBelow } from '../../../src/dns/testing/mutate.ts'
import { packetText } from '../../../src/dns/testing/packet-text.ts'
import { lookUp, question } from '../../../src/dns/testing/query-server.ts'
import { freePort } from '../../../src/lib/testing/free-port.ts'
import { type OrchDnsProcess, startOrchDns } from '../../support/dns/orch-dns-process.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const DATAGRAMS = 1_000_000
/** Sent before the test awaits that the server has read them: what fits into its receive buffer. */
const BATCH = 100
const STREAMS = 2_000
const GOOD = 'kubernetes.default.svc.cluster.local'
/** For the caches that a server fills once; a leak of a few bytes for each message would exceed it. */
const GROWTH_MIB = 40

let held: AsyncDisposableStack
let dns: OrchDnsProcess
beforeAll(async () => {
  held = new AsyncDisposableStack()
  const server = held.use(await startOrchServer())
  const flags = [`--dns-address=127.0.0.1:${await freePort()}`, '--status-address=']
  dns = held.use(await startOrchDns({ kubeconfig: server.kubeconfig, flags }))
})
afterAll(() => held.disposeAsync())

const VALID = goldenQuestions()
  .filter(({ type }) => type !== 'HTTPS')
  .map(({ type, name }) => question(type, name))

/** MiB of the server, resident. */
function memory(): number {
  const status = readFileSync(`/proc/${dns.child.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024
}

async function expectGood(): Promise<void> {
  const { status, answers } = packetText(await lookUp(dns, 'A', GOOD))
  expect([status, answers]).toEqual(['NOERROR', [`${GOOD} A 10.96.0.1`]])
}

test('1,000,000 mutated datagrams: it answers on, and keeps nothing of them', async () => {
  const below = seededBelow(2_181)
  const socket = createSocket('udp4')
  socket.on('message', () => undefined)
  await expectGood()
  let before = 0
  for (let sent = 0; sent < DATAGRAMS; sent += BATCH) {
    for (let count = 0; count < BATCH; count += 1) {
      const message = mutated(VALID[below(VALID.length)]!, below)
      socket.send(message, dns.port, '127.0.0.1')
    }
    await expectGood()
    if (sent === DATAGRAMS / 10) before = memory()
  }
  socket.close()
  expect(dns.child.exitCode).toBeNull()
  expect(memory() - before).toBeLessThan(GROWTH_MIB)
})

test('mutated streams of TCP end or are answered, and no connection is left', async () => {
  const below = seededBelow(7_766)
  for (let count = 0; count < STREAMS; count += 1) {
    const messages = Array.from({ length: 1 + below(5) }, () => VALID[below(VALID.length)]!)
    const bytes = mutated(Buffer.concat(messages.map(framed)), below)
    const socket = connect(dns.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    const closed = once(socket, 'close')
    socket.end(bytes)
    await closed
  }
  await expectGood()
})
