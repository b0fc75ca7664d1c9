import { describe, expect, it } from 'vitest'
import { Caller } from '../../support/consistency/caller.ts'
import { type ContendedReply, contend, type SendAs } from '../../support/contention/scenario.ts'
import { SCENARIOS } from '../../support/contention/scenarios.ts'
import { startEtcd } from '../../support/etcd/etcd-process.ts'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'

const CLIENTS = 64
const FINE = { refused: [], lost: [] }

describe('64 clients write one object without a condition: none is refused, nothing is lost', () => {
  it('on the embedded store', async ({ annotate }) => {
    await using server = await startOrchServer()
    await expectNoRefusal([server], annotate)
  })

  it.runIf(hasEtcd())('on etcd', async ({ annotate }) => {
    await using etcd = await startEtcd()
    await using server = await startOrchServer({ flags: [`--etcd-servers=${etcd.endpoint}`] })
    await expectNoRefusal([server], annotate)
  })

  it.runIf(hasEtcd())('through two servers with one etcd', async ({ annotate }) => {
    await using etcd = await startEtcd()
    const flags = [`--etcd-servers=${etcd.endpoint}`]
    await using one = await startOrchServer({ flags })
    await using other = await startOrchServer({ flags })
    await expectNoRefusal([one, other], annotate)
  })
})

/** Clients stay with one server each, and are dealt out evenly. */
async function expectNoRefusal(
  servers: readonly OrchServerProcess[],
  annotate: (text: string) => Promise<unknown>,
): Promise<void> {
  await using held = new AsyncDisposableStack()
  const callers = Array.from({ length: CLIENTS }, (_, client) =>
    held.use(new Caller(servers, client)),
  )
  const send: SendAs = async (client, request): Promise<ContendedReply> => {
    const answer = await callers[client]!.send(request)
    if (typeof answer === 'string') throw new Error(`client ${client}: ${answer}`)
    return answer
  }
  for (const scenario of SCENARIOS) {
    const began = performance.now()
    const result = await contend(scenario, CLIENTS, send)
    const ms = Math.round(performance.now() - began)
    await annotate(`${scenario.name}: ${result.answers} answers in ${ms} ms`)
    expect.soft(result, scenario.name).toMatchObject(FINE)
  }
}
